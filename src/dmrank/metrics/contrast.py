"""Contrast accuracy: on which of two aspects two items differ more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dmrank.metrics.pair_accuracy import PairAccuracy, pair_accuracy
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

#: Contrasts are differences of differences: what is nearer to 0 than this is rounding.
_ROUNDING = 1e-6


def contrast_accuracy(
    observed: ArrayLike, predicted: ArrayLike, pointer: ArrayLike
) -> PairAccuracy:
    r"""Count how often the predicted contrast of two aspects has the observed sign.

    .. math::
        c_{kl} = (r_{ik} - r_{il}) - (r_{jk} - r_{jl}), \quad k < l

    of two items i and j that a user rated, over all pairs of aspects on which both have ratings.
    An observed contrast of 0 asks for nothing, a predicted one is wrong: a model with one score for
    all aspects gets 0, and noise one half.

    Parameters
    ----------
    observed
        Observed differences r_i − r_j, of shape (pairs, K) with K ≥ 2; NaN where the aspect of
        either item is unknown.
    predicted
        Predicted differences, of the same shape.
    pointer
        The pairs of user u are those from pointer[u] to pointer[u+1].

    Examples
    --------
    The first item is better by 2 on the first aspect and equal on the second; so it is predicted:

    >>> contrast_accuracy([[2.0, 0.0]], [[0.3, 0.1]], pointer=[0, 1]).pooled
    1.0
    """
    differences = np.asarray(observed, dtype=np.float64)
    foretold = np.asarray(predicted, dtype=np.float64)
    if differences.ndim != 2 or differences.shape[1] < 2:
        raise DataError(
            f"differences of shape {differences.shape}: a contrast needs pairs of at least two "
            "aspects"
        )
    one, other = np.triu_indices(differences.shape[1], 1)
    contrasts = differences[:, one] - differences[:, other]
    contrasts[np.abs(contrasts) < _ROUNDING] = 0.0
    return pair_accuracy(contrasts, foretold[:, one] - foretold[:, other], pointer)
