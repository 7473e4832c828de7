"""What to ask a newcomer: items that many people know, and that tell them apart."""

from __future__ import annotations

import numpy as np
import polars as pl

from dmrank.answers.lists import check_length
from dmrank.answers.similar import ScoreProfiles, score_profiles
from dmrank.data.rows import count_codes
from dmrank.fitted.contract import By, FittedModel
from dmrank.support.arrays import Codes, Floats

#: Items to choose from for each that is asked about: the most rated ones.
_KNOWN_PER_QUESTION = 10


def questions(model: FittedModel, n: int, by: By) -> pl.DataFrame:
    """Choose items to be rated by a newcomer; see `Model.questions`."""
    check_length(n)
    catalogue = model.catalogue
    counts = count_codes(catalogue.seen_items, len(catalogue.items))
    known = np.argsort(-counts, kind="stable")[: _KNOWN_PER_QUESTION * n]
    known = known[counts[known] > 0]
    chosen = known[farthest_first(_directions(score_profiles(model, "items", by), known), n)]
    table = pl.DataFrame([catalogue.items.names(chosen), pl.Series("ratings", counts[chosen])])
    names = catalogue.item_names
    return table if names is None else table.with_columns(names[chosen].alias("item_name"))


def _directions(profiles: ScoreProfiles, codes: Codes) -> Floats:
    """Return the profiles of items with a length of 1, one row each."""
    rows = np.concatenate([profiles.rows(slice(code, code + 1)) for code in codes])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def farthest_first(directions: Floats, n: int) -> list[int]:
    """Choose rows, each as unlike as can be to those before it; the first is the first.

    Unlike is the smallest of the largest cosines with what was chosen.

    Examples
    --------
    >>> farthest_first(np.array([[1.0, 0.0], [0.9, 0.4], [-1.0, 0.0], [0.0, 1.0]]), 3)
    [0, 2, 3]
    """
    chosen = [0]
    nearest = directions @ directions[0]
    while len(chosen) < min(n, len(directions)):
        nearest[chosen] = np.inf
        chosen.append(int(np.argmin(nearest)))
        nearest = np.maximum(nearest, directions @ directions[chosen[-1]])
    return chosen
