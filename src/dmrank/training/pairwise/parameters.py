"""What pairwise training changes: parameters, and AdaGrad's sums beside them."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from dmrank.compiled.transpose import padded
from dmrank.directional.packing import pack
from dmrank.support.arrays import Float32s, Floats

Covariance = Literal["personalized", "shared", "identity"]


class Parameters(NamedTuple):
    """What is learned, all float32, rows padded with zeros to whole quads.

    Padding stays 0 in every update. Matrices L and Σ are packed (see `directional.packing`).

    Attributes
    ----------
    users, items, aspects
        The factors U, V and W, one row per user, item and aspect.
    offsets
        Item offsets b, one column per aspect; no rows if the model has none.
    user_roots, item_roots
        L with Σ = L Lᵀ: a row per user and item (``personalized``), one row and none
        (``shared``), or no rows (``identity``).
    user_covariances, item_covariances
        Σ, kept beside L so that the factor step never rebuilds it.
    """

    users: Float32s
    items: Float32s
    aspects: Float32s
    offsets: Float32s
    user_roots: Float32s
    item_roots: Float32s
    user_covariances: Float32s
    item_covariances: Float32s


class Accumulators(NamedTuple):
    """AdaGrad's sums of squared gradients, shaped like the `Parameters` of the same name."""

    users: Float32s
    items: Float32s
    aspects: Float32s
    offsets: Float32s
    user_roots: Float32s
    item_roots: Float32s


def empty_accumulators(parameters: Parameters) -> Accumulators:
    """Return the sums of squared gradients before the first iteration: zeros."""
    return Accumulators(
        *(np.zeros_like(getattr(parameters, name)) for name in Accumulators._fields)
    )


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

    roots = covariance_rows(covariance, users, items)
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


def covariance_rows(covariance: Covariance, users: int, items: int) -> tuple[int, int]:
    """Return how many covariances there are of users and of items."""
    return {"personalized": (users, items), "shared": (1, 0), "identity": (0, 0)}[covariance]


def start_at_popularity(
    parameters: Parameters, popularity: Float32s, size: float, *, nonnegative: bool
) -> None:
    """Add popularity to the first factor of items, and the same to that of every user.

    Before training, scores are then size² · popularity and noise. Pairs of a rated and a random
    item teach popularity first, and on few ratings whatever else they teach is mostly chance.
    """
    if size > 0 and np.ptp(popularity) > 0:
        # V_i → V_i + c changes no pair.
        lift = popularity.min() if nonnegative else np.float32(0)
        parameters.users[:, 0] += np.float32(size)
        parameters.items[:, 0] += np.float32(size) * (popularity - lift)
