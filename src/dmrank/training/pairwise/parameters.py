"""Parameters before the first iteration, and what they mean after the last."""

from __future__ import annotations

import numpy as np

from dmrank.compiled.transpose import padded
from dmrank.directional.packing import pack
from dmrank.support.arrays import Float32s, Floats
from dmrank.training.data import Parameters
from dmrank.training.pairwise.settings import Covariance


def initial_parameters(
    users: int,
    items: int,
    aspects: int,
    factors: int,
    *,
    covariance: Covariance,
    prior: Floats,
    deviation: float,
    nonnegative: bool,
    offsets: Float32s | None,
    seed: int,
) -> Parameters:
    """Draw small factors and start every Σ at the prior.

    W starts around 1, so that at first all aspects agree on what is better.

    Parameters
    ----------
    users, items, aspects, factors : int
        Sizes.
    covariance : str
        How many covariances there are: one per user and item, one, or none.
    prior : float array, K × K
        Σ_prior.
    deviation : float
        Standard deviation of U and V.
    nonnegative : bool
        Whether factors start (and stay) at or above 0.
    offsets : float32 array, N × K, or None
        Where item offsets start; None for a model without them.
    seed : int
        Seed of the draw.
    """
    rng = np.random.default_rng(seed)

    def drawn(rows: int, centre: float) -> Float32s:
        table = np.zeros((rows, padded(factors)), dtype=np.float32)
        table[:, :factors] = centre + deviation * rng.standard_normal((rows, factors))
        return np.abs(table) if nonnegative else table

    roots = {"personalized": (users, items), "shared": (1, 0), "identity": (0, 0)}[covariance]
    root = pack(np.linalg.cholesky(prior))
    variance = pack(prior)
    starting = np.zeros((0, padded(aspects)), dtype=np.float32)
    if offsets is not None:
        starting = np.zeros((items, padded(aspects)), dtype=np.float32)
        starting[:, :aspects] = offsets
    return Parameters(
        users=drawn(users, 0.0),
        items=drawn(items, 0.0),
        aspects=drawn(aspects, 1.0),
        offsets=starting,
        user_roots=np.tile(root, (roots[0], 1)),
        item_roots=np.tile(root, (roots[1], 1)),
        user_covariances=np.tile(variance, (roots[0], 1)),
        item_covariances=np.tile(variance, (roots[1], 1)),
    )
