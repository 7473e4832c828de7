"""The directional criterion on rated pairs, with the prior of mixed effects for item offsets.

D_uij = r_ui − r_uj has the mean v_i − v_j and the covariance 2 Σ_e; v_i ~ N(0, Σ_b), with Σ_e and
Σ_b of the mixed effects, which settle the scale that directions leave open. All that is learned is
v, started at b: L-BFGS maximises

    Σ ln ∫_ξ^∞ p(γ d_uij) dγ  −  ½ Σ_i v_iᵀ Σ_b⁻¹ v_i

over pairs drawn once, each rating with so many others of its user, that count as one together. The
student family has 2 Σ_e (η − 2)/η as its scale, so that its covariance is the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dmrank.directional.batches import evaluate
from dmrank.directional.families import Family, Gaussian, Student
from dmrank.training.data import TrainingData
from dmrank.training.effects.em import Effects

Floats = NDArray[np.float64]
MARGINS = (0.0, 0.2)
DEGREES_OF_FREEDOM = (3.0, 5.0, 10.0, 30.0)
PARTNERS = 2
STEPS = 60
#: Pairs that are evaluated at once.
BLOCK = 1 << 17


class Drawn(NamedTuple):
    """Pairs of items that one user rated, and the difference of the ratings."""

    first: NDArray[np.integer]
    second: NDArray[np.integer]
    difference: NDArray[np.float32]


def families() -> Iterator[tuple[str, Family, float]]:
    """Return every family with its name and the factor of its scale matrix."""
    for margin in MARGINS:
        yield f"directional, Σ_b, gaussian, ξ = {margin:g}", Gaussian(margin=margin), 1.0
        for eta in DEGREES_OF_FREEDOM:
            name = f"directional, Σ_b, student, η = {eta:g}, ξ = {margin:g}"
            yield name, Student(eta, margin=margin), (eta - 2) / eta


def draw_pairs(data: TrainingData, seed: int = 0) -> Drawn:
    """Give every rating some other ratings of its user."""
    rng = np.random.default_rng(seed)
    counts = np.diff(data.user_ptr)[data.row_users]
    rows = np.repeat(np.flatnonzero(counts > 1), PARTNERS)
    start, size = data.user_ptr[data.row_users[rows]], counts[rows]
    others = start + (rows - start + rng.integers(1, size)) % size
    difference = data.values[rows] - data.values[others]
    useful = (np.nan_to_num(difference) != 0).any(axis=1)
    return Drawn(data.items[rows[useful]], data.items[others[useful]], difference[useful])


def fit_offsets(
    pairs: Drawn, effects: Effects, family: Family, scale: float
) -> tuple[Floats, float]:
    """Return offsets, and the mean log-likelihood of the pairs with them."""
    shape, precision = effects.items.shape, np.linalg.inv(effects.item_prior)
    covariance = np.tile(2 * scale * effects.noise, (min(BLOCK, len(pairs.first)), 1, 1))

    def likelihood(offsets: Floats) -> tuple[float, Floats]:
        total, gradient = 0.0, np.zeros(shape)
        for start in range(0, len(pairs.first), BLOCK):
            first, second, difference = (part[start : start + BLOCK] for part in pairs)
            mean = offsets[first] - offsets[second]
            found = evaluate(difference, mean, covariance[: len(first)], family)
            total += float(found.log_likelihood.sum(dtype=np.float64))
            for k in range(shape[1]):
                by_mean = found.mean_gradient[:, k]
                gradient[:, k] += np.bincount(first, by_mean, minlength=shape[0])
                gradient[:, k] -= np.bincount(second, by_mean, minlength=shape[0])
        return total, gradient

    def objective(flat: Floats) -> tuple[float, Floats]:
        offsets = flat.reshape(shape)
        total, gradient = likelihood(offsets)
        drawn = offsets @ precision
        value = total / PARTNERS - (offsets * drawn).sum() / 2
        # In nats per pair: L-BFGS takes its first step by the size of the gradient.
        n = len(pairs.first)
        return -value / n, -(gradient / PARTNERS - drawn).ravel() / n

    found = optimize.minimize(
        objective, effects.items.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
    )
    offsets = found.x.reshape(shape)
    return offsets, likelihood(offsets)[0] / len(pairs.first)
