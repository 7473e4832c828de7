"""Factors and covariance of one user or item, with everything else fixed.

The predicted difference of a pair is linear in the factors x of one user (or of one item):
μ = J x + m. For a fixed Σ the log-likelihood of the directions is then concave in the gaussian
family, and a few steps of Newton find its maximum. For fixed factors, Σ_uij = w Σ + (what is
known) has an EM step in closed form, the hidden variable being the part of the difference with
covariance w Σ: with G = ∂/∂Σ_uij, averaged over pairs, and n ratings,

    Σ ← (Ψ + n (Σ + 2w Σ G Σ)) / (ν + K + 1 + n)

which is positive definite and never less likely, in the student family as well: it is a mixture of
gaussians.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dmrank.answers.fold_in.linear import LinearPairs
from dmrank.answers.fold_in.newton import STEPS, Local, newton_maximum
from dmrank.directional.batches import evaluate
from dmrank.directional.families import Family, Student
from dmrank.directional.ray_terms import ray_terms
from dmrank.directional.whitening import whiten
from dmrank.support.arrays import Floats

#: Pairs that factors are estimated from, draw by draw.
_DRAWS_OF_PAIRS, _DRAWS_OF_HARD_PAIRS = (128, 384), (128, 128, 128, 128)
#: Newton steps before the last draw: there is no use in being exact about a few pairs.
_FIRST_STEPS = 2
#: A covariance needs fewer: the prior says most of it.
_EM_PAIRS, _MOST_EM_STEPS = 64, 5


@dataclass(frozen=True)
class OwnCovariance:
    """The covariance that is looked for beside the factors.

    Attributes
    ----------
    start : float array, K × K
        Σ to begin with.
    share : float
        w, its weight in Σ_uij.
    prior_scale, prior_strength : float array, K × K, and float
        Ψ and ν + K + 1.
    ratings : float
        n, the number of ratings that the pairs stand for.
    """

    start: Floats
    share: float
    prior_scale: Floats
    prior_strength: float
    ratings: float


def estimate(
    draw: Callable[[Floats, int], LinearPairs],
    start: Floats,
    family: Family,
    ridge: Floats,
    own: OwnCovariance | None,
    *,
    nonnegative: bool,
    hard_negatives: bool = False,
) -> tuple[Floats, Floats | None]:
    """Return the most likely factors, and the covariance if there is one to be found.

    Parameters
    ----------
    draw : callable
        Gives pairs for factors, on which they may depend (hard negatives), about so many.
    start : float array, F
        Factors to begin with.
    family : Family
        Of the density.
    ridge : float array, F
        Weight of −½x² per pair, for each factor.
    own : OwnCovariance, optional
        What to look for beside the factors.
    nonnegative : bool
        Keep factors at or above 0.
    hard_negatives : bool
        Whether pairs do depend on the factors.
    """
    covariance = None if own is None else own.start

    def fit(pairs: LinearPairs, x: Floats, steps: int) -> Floats:
        nonlocal covariance
        known = _with(pairs, own, covariance)
        x = fit_factors(known, x, family, ridge, nonnegative=nonnegative, steps=steps)
        if own is not None and covariance is own.start:
            covariance = fit_covariance(pairs, x, family, own)
        return x

    return fit_to_drawn(draw, fit, start, hard_negatives=hard_negatives), covariance


def fit_to_drawn(
    draw: Callable[[Floats, int], LinearPairs],
    fit: Callable[[LinearPairs, Floats, int], Floats],
    start: Floats,
    *,
    hard_negatives: bool,
) -> Floats:
    """Fit to a few pairs first, and to more and more then.

    Hard negatives are drawn with better and better factors. The pairs of all draws count
    together: fitted to those of the last draw alone, factors would run from one to the next.

    Parameters
    ----------
    draw : callable
        Draws about so many pairs for factors.
    fit : callable
        Returns better factors, after at most so many steps.
    start : float array
        Factors to begin with.
    hard_negatives : bool
        Whether pairs depend on the factors.
    """
    factors, drawn = start, None
    counts = _DRAWS_OF_HARD_PAIRS if hard_negatives else _DRAWS_OF_PAIRS
    for n, count in enumerate(counts):
        pairs = draw(factors, count)
        drawn = pairs if drawn is None else drawn.with_more(pairs)
        if len(drawn.weight):
            factors = fit(drawn, factors, _FIRST_STEPS if n < len(counts) - 1 else STEPS)
    return factors


def fit_factors(
    pairs: LinearPairs,
    start: Floats,
    family: Family,
    ridge: Floats,
    *,
    nonnegative: bool = False,
    steps: int = STEPS,
) -> Floats:
    """Maximise the weighted mean log-likelihood − ½ Σ ridge x², Σ_uij being all known."""
    columns = np.concatenate(
        [pairs.design, pairs.constant[:, :, None], pairs.difference[:, :, None]], axis=2
    )
    whitened = whiten(pairs.covariance, pairs.kept, columns)
    direction = whitened[:, :, -1]
    length = np.sqrt((direction**2).sum(axis=1))
    unit = direction / length[:, None]
    # μ is split into its part along the ray, ρ√A, and what is off it, of squared length E.
    along = np.einsum("nk,nkf->nf", unit, whitened[:, :, :-1])
    off = whitened[:, :, :-1] - unit[:, :, None] * along[:, None, :]
    # The part off the ray has n·K rows; those of a pair share its weight.
    n, K, F = pairs.design.shape
    off_design, off_constant = off[:, :, :-1].reshape(n * K, F), off[:, :, -1].reshape(n * K)
    along_design, along_constant = along[:, :-1], along[:, -1]
    weight = pairs.weight / pairs.weight.sum()
    aspects = pairs.kept.sum(axis=1)

    def off_curvature(push: Floats) -> Floats:
        return np.asarray(-(off_design.T * push) @ off_design)

    # f_E of the gaussian family is −½ everywhere.
    fixed = None if isinstance(family, Student) else off_curvature(np.repeat(-weight, K))

    def at(x: Floats) -> Local:
        off_ray = off_design @ x + off_constant
        E = np.square(off_ray).reshape(n, K).sum(axis=1)
        rho = (along_design @ x + along_constant) / length
        terms = ray_terms(family, E, length**2, rho, aspects)
        pull = weight * terms.rho / length
        push = np.repeat(2 * weight * terms.E, K)
        stiff = weight * np.maximum(-terms.rho_rho, 0.0) / length**2
        curvature = (along_design.T * stiff) @ along_design
        curvature += off_curvature(push) if fixed is None else fixed
        return Local(
            value=float(weight @ terms.value - ridge @ x**2 / 2),
            gradient=along_design.T @ pull + off_design.T @ (push * off_ray) - ridge * x,
            curvature=curvature + np.diag(ridge + 1e-9),
        )

    return newton_maximum(at, start, nonnegative=nonnegative, steps=steps)


def fit_covariance(
    pairs: LinearPairs, factors: Floats, family: Family, own: OwnCovariance
) -> Floats:
    """Run a few steps of EM for Σ, the factors being known.

    The more ratings there are for each of the prior, the slower EM is: it gets more steps.
    """
    rows = np.linspace(0, len(pairs.weight) - 1, min(_EM_PAIRS, len(pairs.weight))).astype(int)
    some = LinearPairs(*(array[rows] for array in pairs))
    mean = some.design @ factors + some.constant
    difference = np.where(some.kept, some.difference, np.nan)
    covariance = own.start
    for _ in range(min(1 + int(own.ratings / own.prior_strength), _MOST_EM_STEPS)):
        of_pairs = _with(some, own, covariance).covariance
        by_covariance = evaluate(difference, mean, of_pairs, family).covariance_gradient
        G = np.einsum("n,nij->ij", some.weight / some.weight.sum(), by_covariance)
        hidden = covariance + 2 * own.share * covariance @ G @ covariance
        covariance = (own.prior_scale + own.ratings * hidden) / (own.prior_strength + own.ratings)
        covariance = (covariance + covariance.T) / 2
    return covariance


def _with(pairs: LinearPairs, own: OwnCovariance | None, covariance: Floats | None) -> LinearPairs:
    if own is None or covariance is None:
        return pairs
    return pairs._replace(covariance=pairs.covariance + own.share * covariance)
