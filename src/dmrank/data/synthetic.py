"""Ratings with known truth, drawn from the paper's own generative story.

A user's rating vector of an item is R_ui ~ N((U_u * V_i) Wᵀ + level, λ Σ_u + (1−λ) Σ_i) (paper
3.2.1), with Σ_u and Σ_i drawn from an inverse-Wishart prior, rounded and clipped to the scale
1–5. Which items a user rates depends on popularity and on taste:
P(u rates i) ∝ popularity_i · exp(β · r̂_ui,overall).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dmrank.data.hotel_names import hotel_names
from dmrank.data.ids import Ids
from dmrank.data.ratings import Ratings
from dmrank.support.arrays import Codes, Float32s, Floats, Int32s, Int64s
from dmrank.support.errors import ConfigError
from dmrank.support.seeds import make_rng

#: The aspects of the paper's TripAdvisor ratings.
HOTEL_ASPECTS = (
    "overall",
    "sleep_quality",
    "service",
    "value",
    "rooms",
    "cleanliness",
    "location",
    "checkin",
)
LOW, HIGH = 1.0, 5.0
_CHUNK = 1 << 17
#: Less is nothing in float32; with more, all ratings lie at the ends of the scale.
_LEAST_NOISE, _MOST_STARS = 1e-3, 1e3


@dataclass(frozen=True, eq=False)
class Truth:
    """The parameters that the ratings were drawn from; users and items in the order of their ids.

    Attributes
    ----------
    user_factors, item_factors, aspect_factors : float32 arrays
        U (M × d), V (N × d) and W (K × d).
    level : float32 array, K
        What is added to every mean, so that ratings centre on the upper half of the scale.
    user_covariances, item_covariances : float32 arrays
        Σ_u (M × K × K) and Σ_i (N × K × K).
    user_weight : float
        λ in Σ_ui = λ Σ_u + (1−λ) Σ_i.
    popularity : float64 array, N
        How often an item would be rated if taste did not matter; sums to 1.
    """

    user_factors: Float32s
    item_factors: Float32s
    aspect_factors: Float32s
    level: Float32s
    user_covariances: Float32s
    item_covariances: Float32s
    user_weight: float
    popularity: Floats

    def mean(self, users: Codes, items: Codes) -> Float32s:
        """Return the mean rating vectors of (user, item) pairs, given by codes."""
        joint: Float32s = self.user_factors[users] * self.item_factors[items]
        means: Float32s = joint @ self.aspect_factors.T + self.level
        return means

    def covariance(self, users: Codes, items: Codes) -> Float32s:
        """Return Σ_ui of (user, item) pairs, given by codes."""
        weight = np.float32(self.user_weight)
        mixed: Float32s = (
            weight * self.user_covariances[users] + (1 - weight) * self.item_covariances[items]
        )
        return mixed


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Synthetic ratings and the truth behind them."""

    ratings: Ratings
    truth: Truth


def make_ratings(
    users: int = 2_000,
    items: int = 300,
    ratings: int = 40_000,
    *,
    aspects: Sequence[str] = HOTEL_ASPECTS,
    factors: int = 10,
    taste: float = 1.0,
    missing: float | Sequence[float] = 0.0,
    signal: float = 0.8,
    noise: float = 0.8,
    correlation: float = 0.6,
    concentration: float = 30.0,
    user_weight: float = 0.5,
    least_per_user: int = 1,
    seed: int = 0,
) -> Synthetic:
    """Draw multi-aspect ratings from the paper's model.

    Parameters
    ----------
    users, items, ratings : int
        Sizes; `ratings` counts rating vectors.
    aspects : sequence of str
        Names of the aspects; taste follows `overall` if it is one of them, else the first.
    factors : int
        Dimension d of the latent factors.
    taste : float
        β: how much a user's choice of items follows the predicted overall rating. With 0 it
        follows popularity alone, and then that an item is unrated says nothing about preference.
    missing : float or one per aspect
        Share of aspect ratings that are left out at random; `overall` is always given when one
        number is set for all.
    signal, noise : float
        Standard deviations of the mean ratings and of the noise around them, in stars.
    correlation : float
        How strongly aspects correlate in the prior mean of the covariances, from 0 to 0.69; some
        aspects correlate more than others.
    concentration : float
        Degrees of freedom of the inverse-Wishart prior: the larger, the more alike are users (and
        items) in how their aspects correlate.
    user_weight : float
        λ, the user's share in the covariance of a rating.
    least_per_user : int
        The smallest number of ratings of a user.
    seed : int
        Same seed, same ratings.

    Returns
    -------
    Synthetic
        The ratings, and the truth that they were drawn from.

    Examples
    --------
    >>> synthetic = make_ratings(users=100, items=30, ratings=1_000, seed=1)
    >>> synthetic.ratings
    Ratings(100 users × 30 items × 8 aspects, 1,000 rating vectors)
    >>> synthetic.truth.user_covariances.shape
    (100, 8, 8)
    """
    names = tuple(aspects)
    _check_sizes(users, items, ratings, least_per_user)
    if not names or factors < 1:
        raise ConfigError("aspects and factors must each be at least one")
    if concentration <= len(names) + 1:
        raise ConfigError(
            f"concentration {concentration:g} must be above the number of aspects plus one "
            f"({len(names) + 1})"
        )
    for name, size, least in (("signal", signal, 0), ("noise", noise, _LEAST_NOISE)):
        if not least <= size <= _MOST_STARS:
            raise ConfigError(f"{name}={size:g} must be from {least:g} to {_MOST_STARS:g} stars")
    if not 0 <= correlation <= 0.69:
        raise ConfigError(f"correlation {correlation:g} must be from 0 to 0.69")
    rng = make_rng(seed)
    truth = _draw_truth(
        rng,
        users,
        items,
        len(names),
        factors=factors,
        signal=signal,
        noise=noise,
        correlation=correlation,
        concentration=concentration,
        user_weight=user_weight,
    )
    primary = names.index("overall") if "overall" in names else 0
    user_codes, item_codes = _draw_choices(rng, truth, ratings, taste, primary, least_per_user)
    values = _draw_values(rng, truth, user_codes, item_codes)
    _drop_missing(rng, values, missing, primary)
    item_ids = _numbered("h", items, "item")
    drawn = Ratings.from_codes(
        _numbered("u", users, "user"),
        item_ids,
        user_codes,
        item_codes,
        values,
        aspects=names,
        scale=(LOW, HIGH),
        item_names=hotel_names(items),
    )
    return Synthetic(drawn, truth)


def make_hotels(seed: int = 0) -> Synthetic:
    """Draw the hotel ratings of the demo: 2,000 guests, 300 hotels, 8 aspects, some missing.

    Examples
    --------
    >>> from dmrank import make_hotels
    >>> make_hotels(seed=0).ratings
    Ratings(2,000 users × 300 items × 8 aspects, 60,000 rating vectors, 19.5 % ...)
    """
    return make_ratings(
        users=2_000,
        items=300,
        ratings=60_000,
        factors=4,
        signal=1.0,
        noise=0.7,
        missing=[0, 0.3, 0.1, 0.1, 0.15, 0.1, 0.2, 0.6],
        least_per_user=5,
        seed=seed,
    )


def _check_sizes(users: int, items: int, ratings: int, least_per_user: int) -> None:
    if min(users, items, ratings) < 1:
        raise ConfigError("users, items and ratings must each be at least 1")
    if ratings < users * least_per_user:
        raise ConfigError(
            f"{ratings:,} ratings are too few for {users:,} users with at least {least_per_user}"
        )
    if ratings > users * items:
        raise ConfigError(f"{ratings:,} ratings are more than {users:,} users × {items:,} items")


def _draw_truth(
    rng: np.random.Generator,
    users: int,
    items: int,
    aspects: int,
    *,
    factors: int,
    signal: float,
    noise: float,
    correlation: float,
    concentration: float,
    user_weight: float,
) -> Truth:
    user_factors = rng.standard_normal((users, factors), dtype=np.float32)
    item_factors = rng.standard_normal((items, factors), dtype=np.float32)
    # A common direction makes some items better than others for everybody.
    user_factors[:, 0] = np.abs(user_factors[:, 0]) + 1
    aspect_factors = 1 + 0.8 * rng.standard_normal((aspects, factors), dtype=np.float32)
    sample = rng.integers(users, size=20_000), rng.integers(items, size=20_000)
    means = (user_factors[sample[0]] * item_factors[sample[1]]) @ aspect_factors.T
    aspect_factors *= np.float32(signal) / means.std(axis=0, keepdims=True).T
    # One common cause behind all aspects, stronger in some: correlations differ between aspects.
    loadings = np.sqrt(correlation) * rng.uniform(0.5, 1.2, size=aspects)
    prior_mean = noise**2 * (np.outer(loadings, loadings) + np.diag(1 - loadings**2))
    popularity = rng.lognormal(sigma=1.0, size=items)
    return Truth(
        user_factors=user_factors,
        item_factors=item_factors,
        aspect_factors=aspect_factors,
        level=rng.uniform(3.4, 4.2, size=aspects).astype(np.float32),
        user_covariances=_draw_inverse_wishart(rng, prior_mean, concentration, users),
        item_covariances=_draw_inverse_wishart(rng, prior_mean, concentration, items),
        user_weight=user_weight,
        popularity=popularity / popularity.sum(),
    )


def _draw_inverse_wishart(
    rng: np.random.Generator, mean: Floats, concentration: float, count: int
) -> Float32s:
    """Draw Σ ~ IW(Ψ, ν) with the given mean Ψ/(ν−K−1), by Bartlett's decomposition.

    If T Tᵀ ~ Wishart(I, ν) with T lower triangular, then C T⁻ᵀ T⁻¹ Cᵀ ~ IW(C Cᵀ, ν).
    """
    size = len(mean)
    psi_root = np.linalg.cholesky(mean * (concentration - size - 1))
    result = np.empty((count, size, size), dtype=np.float32)
    for start in range(0, count, _CHUNK // 8):
        rows = min(_CHUNK // 8, count - start)
        lower = np.tril(rng.standard_normal((rows, size, size)), -1)
        diagonal = np.sqrt(rng.chisquare(concentration - np.arange(size), size=(rows, size)))
        lower[:, np.arange(size), np.arange(size)] = diagonal
        root = psi_root @ np.linalg.inv(lower).transpose(0, 2, 1)
        result[start : start + rows] = root @ root.transpose(0, 2, 1)
    return result


def _draw_choices(
    rng: np.random.Generator,
    truth: Truth,
    ratings: int,
    taste: float,
    primary: int,
    least_per_user: int,
) -> tuple[Int32s, Int32s]:
    """Draw which items each user rates, without repetition.

    Items are proposed by popularity and accepted with probability exp(β (r̂ − highest)), r̂ the
    predicted overall rating clipped to the scale: the accepted ones have the wanted law.
    """
    users, items = len(truth.user_factors), len(truth.item_factors)
    wanted = _draw_activity(rng, users, items, ratings, least_per_user)
    cumulative = np.cumsum(truth.popularity)
    chosen = np.empty(0, dtype=np.int64)
    open_slots = wanted.copy()
    proposals = 2
    while open_slots.any():
        asking = np.repeat(np.arange(users, dtype=np.int32), open_slots * proposals)
        accepted = [
            _propose(rng, truth, block, cumulative, taste, primary)
            for block in np.array_split(asking, 1 + len(asking) // _CHUNK)
        ]
        chosen = _first_distinct(np.concatenate([chosen, *accepted]), items, wanted)
        filled = np.bincount(chosen // items, minlength=users)
        open_slots = wanted - filled
        # Few users with many open slots remain in the end: ask more often for them.
        proposals = min(proposals * 2, max(2, 4_000_000 // max(int(open_slots.sum()), 1)))
    user_codes, item_codes = np.divmod(chosen, items)
    return user_codes.astype(np.int32), item_codes.astype(np.int32)


def _propose(
    rng: np.random.Generator,
    truth: Truth,
    users: Int32s,
    cumulative: Floats,
    taste: float,
    primary: int,
) -> Int64s:
    """Return the accepted proposals as user · N + item."""
    items = np.searchsorted(cumulative, rng.random(len(users)) * cumulative[-1])
    joint = truth.user_factors[users] * truth.item_factors[items]
    overall = joint @ truth.aspect_factors[primary] + truth.level[primary]
    advantage = taste * (np.clip(overall, LOW, HIGH) - (HIGH if taste >= 0 else LOW))
    accepted = rng.random(len(users), dtype=np.float32) < np.exp(advantage)
    return users[accepted].astype(np.int64) * len(cumulative) + items[accepted]


def _first_distinct(chosen: Int64s, items: int, wanted: Int64s) -> Int64s:
    """Keep the first `wanted[u]` distinct choices of each user u, in the order they were made."""
    _, first = np.unique(chosen, return_index=True)
    kept = chosen[np.sort(first)]
    by_user = np.argsort(kept // items, kind="stable")
    kept = kept[by_user]
    counts = np.bincount(kept // items, minlength=len(wanted))
    place = np.arange(len(kept)) - np.repeat(np.cumsum(counts) - counts, counts)
    return kept[place < np.repeat(wanted, counts)]


def _draw_activity(
    rng: np.random.Generator, users: int, items: int, ratings: int, least: int
) -> Int64s:
    """Draw how many items each user rates: a long tail, at most all items, in sum `ratings`."""
    weights = rng.lognormal(sigma=1.2, size=users)
    counts = np.full(users, least, dtype=np.int64)
    while (left := ratings - int(counts.sum())) > 0:
        room = counts < items
        share = np.where(room, weights, 0)
        extra = rng.multinomial(left, share / share.sum())
        counts = np.minimum(counts + extra, items)
    return counts


def _draw_values(
    rng: np.random.Generator,
    truth: Truth,
    users: Int32s,
    items: Int32s,
) -> Float32s:
    # The sum of two independent noises has the mixed covariance, without factoring it per rating.
    weight = np.float32(truth.user_weight)
    user_roots = np.sqrt(weight) * np.linalg.cholesky(truth.user_covariances)
    item_roots = np.sqrt(1 - weight) * np.linalg.cholesky(truth.item_covariances)
    values = np.empty((len(users), len(truth.level)), dtype=np.float32)
    for start in range(0, len(users), _CHUNK):
        block = slice(start, start + _CHUNK)
        u, i = users[block], items[block]
        noise = rng.standard_normal((2, len(u), len(truth.level), 1), dtype=np.float32)
        around = (user_roots[u] @ noise[0] + item_roots[i] @ noise[1])[:, :, 0]
        values[block] = np.clip(np.rint(truth.mean(u, i) + around), LOW, HIGH)
    return values


def _drop_missing(
    rng: np.random.Generator,
    values: Float32s,
    missing: float | Sequence[float],
    primary: int,
) -> None:
    shares = np.empty(values.shape[1], dtype=np.float32)
    shares[:] = missing
    if np.ndim(missing) == 0:
        shares[primary] = 0
    if (shares < 0).any() or (shares >= 1).any():
        raise ConfigError("missing shares must be at least 0 and below 1")
    if shares.any():
        values[rng.random(values.shape, dtype=np.float32) < shares] = np.nan


def _numbered(prefix: str, count: int, kind: str) -> Ids:
    width = max(6, len(str(count - 1)))
    numbers = pl.Series(np.arange(count)).cast(pl.String).str.zfill(width)
    return Ids((prefix + numbers).alias(kind), kind="user" if kind == "user" else "item")
