"""Pairs whose predicted difference is linear in the factors of one user, or of one item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.answers.fold_in.pairs import Factors, ItemPairs, UserPairs
from dmrank.support.arrays import AnyFloats, Bools, Floats


class LinearPairs(NamedTuple):
    """Pairs whose predicted difference is linear in the factors that are looked for.

    Attributes
    ----------
    design, constant : float arrays, n × K × F and n × K
        J and m of μ = J x + m.
    difference : float array, n × K
        d, 0 where the aspect is dropped.
    kept : bool array, n × K
        Which aspects the pair keeps.
    covariance : float array, n × K × K
        What is known of Σ_uij.
    weight : float array, n
        How much a pair counts.
    """

    design: Floats
    constant: Floats
    difference: Floats
    kept: Bools
    covariance: Floats
    weight: Floats

    def with_more(self, more: LinearPairs) -> LinearPairs:
        """Return these pairs and more."""
        both = zip(self, more, strict=True)
        return LinearPairs(*(np.concatenate(arrays) for arrays in both))


def linear_in_user(pairs: UserPairs, factors: Factors, covariance: Floats) -> LinearPairs:
    """Return μ_k = Σ_f x_f (v_i − v_j)_f w_kf + (the difference of offsets)."""
    i, j = pairs.first, pairs.second
    return LinearPairs(
        design=(factors.items[i] - factors.items[j]).astype(np.float64)[:, None, :]
        * factors.aspects,
        constant=factors.offset_of(i) - factors.offset_of(j),
        difference=pairs.difference,
        kept=pairs.kept,
        covariance=covariance,
        weight=np.ones(len(i)),
    )


def linear_in_item(
    pairs: ItemPairs, factors: Factors, covariance: Floats, offset: Floats | float = 0.0
) -> LinearPairs:
    """Return μ_k = ± (Σ_f x_f u_f w_kf + offset_k − r̂_ujk), by which item is the first."""
    u, j, sign = pairs.users, pairs.others, pairs.sign[:, None]
    W, of_users = factors.aspects.astype(np.float64), factors.users[u].astype(np.float64)
    of_other = (of_users * factors.items[j]) @ W.T + factors.offset_of(j)
    return LinearPairs(
        design=(sign * of_users)[:, None, :] * W,
        constant=sign * (offset - of_other),
        difference=pairs.difference,
        kept=pairs.kept,
        covariance=covariance,
        weight=pairs.weight,
    )


def before_folding(rows: AnyFloats, code: int) -> Floats:
    """Return the factors that an estimate starts from: 0 for what is new."""
    return rows[code].astype(np.float64) if code < len(rows) else np.zeros(rows.shape[1])
