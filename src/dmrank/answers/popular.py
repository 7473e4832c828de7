"""What users get of whom the model knows nothing: the items that others rated, by aspect."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmrank.data.training_scale import to_training_scale
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.scorers import Vectors


def popularity(catalogue: Catalogue) -> NDArray[np.float32]:
    """Return Σ_u r_uik for every item and aspect, on the training scale 1–5.

    An unrated item counts as rated 0 (paper 3), so that this is, but for a constant, the mean
    rating over all users: many ratings count, and good ones count more.
    """
    counts = np.bincount(catalogue.seen_items, minlength=len(catalogue.items)).astype(np.float32)
    evidence = catalogue.evidence
    if evidence is None:
        return np.repeat(counts[:, None], len(catalogue.aspects), axis=1)
    means = np.nan_to_num(to_training_scale(evidence.item_means, catalogue.scale))
    return (evidence.item_counts * means).astype(np.float32)


def popular_vectors(catalogue: Catalogue, weights: NDArray[np.float32]) -> Vectors:
    """Return vectors that rank by popularity, with a single user: anybody."""
    return Vectors(np.ones((1, 1), dtype=np.float32), (popularity(catalogue) @ weights)[:, None])
