"""EFM: its tables, its updates and its scores, against the equations written out in NumPy."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dmrank import EFM, ConfigError, Ratings
from dmrank.models.efm import make_tables
from dmrank.training.data import training_data
from dmrank.training.least_squares.multiplicative import (
    Entries,
    Factors,
    Tables,
    Weights,
    observed_table,
    padded,
    run_iterations,
)

NAN = float("nan")
EXPLICIT, LATENT = 3, 10
SMALL = {"explicit_factors": EXPLICIT, "latent_factors": 2, "iterations": 30, "evaluate_every": 10}

Dense = NDArray[np.float64]


class Problem:
    """Three small tables, NaN where nothing was observed, and factors to start from."""

    def __init__(self, seed: int, weights: Weights) -> None:
        rng = np.random.default_rng(seed)
        self.weights = weights
        self.A = self.table(rng, 7, 6, missing=0.5)
        self.X = self.table(rng, 7, 4, missing=0.2)
        self.Y = self.table(rng, 6, 4, missing=0.2)
        self.A[2] = NAN  # a user without an overall rating
        self.A[3], self.X[3] = NAN, NAN  # a user without any
        self.A[:, 1], self.Y[1] = NAN, NAN  # an item without any
        self.X[:, 2], self.Y[:, 2] = NAN, NAN  # an aspect that nobody rated
        start = padded(EXPLICIT)
        columns = np.r_[:EXPLICIT, start : start + LATENT]
        self.columns = (columns, columns, columns[:EXPLICIT])
        widths = (start + padded(LATENT), start + padded(LATENT), start)
        tables = [
            np.zeros((n, width), np.float32) for n, width in zip((7, 6, 4), widths, strict=True)
        ]
        for table, used in zip(tables, self.columns, strict=True):
            table[:, used] = rng.uniform(0.1, 1, (len(table), len(used)))
        self.factors = Factors(*tables)

    @staticmethod
    def table(rng: np.random.Generator, rows: int, columns: int, missing: float) -> Dense:
        values = rng.uniform(1, 5, (rows, columns))
        return np.where(rng.uniform(size=values.shape) < missing, NAN, values)

    def tables(self) -> Tables:
        return Tables(*(observed_table(dense) for dense in (self.A, self.X, self.Y)))

    def dense_factors(self) -> tuple[Dense, Dense, Dense]:
        """Return P, Q and V in double precision, without padding."""
        used = zip(self.factors, self.columns, strict=True)
        return tuple(table[:, columns].astype(np.float64) for table, columns in used)

    def run(self, count: int = 1, threads: int = 1) -> Dense:
        return run_iterations(self.tables(), self.factors, self.weights, count, threads)

    def objective(self, P: Dense, Q: Dense, V: Dense) -> float:
        w = self.weights
        U1, H1, U2, H2 = P[:, :EXPLICIT], P[:, EXPLICIT:], Q[:, :EXPLICIT], Q[:, EXPLICIT:]
        return float(
            np.nansum((P @ Q.T - self.A) ** 2)
            + w.attention * np.nansum((U1 @ V.T - self.X) ** 2)
            + w.quality * np.nansum((U2 @ V.T - self.Y) ** 2)
            + w.explicit * ((U1**2).sum() + (U2**2).sum())
            + w.latent * ((H1**2).sum() + (H2**2).sum())
            + w.aspects * (V**2).sum()
        )


def update(own: Dense, norm: Dense, *explained: tuple[float, Dense, Dense]) -> Dense:
    """θ √(numerator / denominator), where numerator − denominator is minus half the gradient."""
    numerator, denominator = np.zeros_like(own), norm * own
    for weight, table, partners in explained:
        width = min(own.shape[1], partners.shape[1])
        observed = ~np.isnan(table)
        predicted = np.where(observed, own[:, :width] @ partners[:, :width].T, 0)
        wanted = np.where(observed, table, 0)
        numerator[:, :width] += weight * wanted @ partners[:, :width]
        denominator[:, :width] += weight * predicted @ partners[:, :width]
    return own * np.sqrt(numerator / np.maximum(denominator, 1e-30))


WEIGHTS = Weights(attention=0.7, quality=1.6, explicit=0.3, latent=0.2, aspects=0.1)


@pytest.mark.parametrize("weights", [WEIGHTS, Weights(1.0, 1.0, 0.0, 0.0, 0.0)])
def test_each_block_is_multiplied_as_its_equation_says(weights: Weights) -> None:
    problem = Problem(1, weights)
    P, Q, V = problem.dense_factors()
    A, X, Y = problem.A, problem.X, problem.Y
    norm = np.array([weights.explicit] * EXPLICIT + [weights.latent] * LATENT)
    P = update(P, norm, (1.0, A, Q), (weights.attention, X, V))
    Q = update(Q, norm, (1.0, A.T, P), (weights.quality, Y, V))
    of_aspects = (weights.attention, X.T, P), (weights.quality, Y.T, Q)
    V = update(V, np.array(weights.aspects), *of_aspects)
    problem.run()
    for learned, expected in zip(problem.dense_factors(), (P, Q, V), strict=True):
        np.testing.assert_allclose(learned, expected, rtol=1e-5, atol=1e-12)


positive = st.floats(0, 10)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.builds(Weights, *[positive] * 5), st.integers(0, 20))
def test_no_update_raises_the_objective(seed: int, weights: Weights, before: int) -> None:
    problem = Problem(seed, weights)
    problem.run(before)
    P, Q, V = problem.dense_factors()
    reported = problem.run()[0]
    P_new, Q_new, V_new = problem.dense_factors()
    stages = [
        problem.objective(P, Q, V),
        problem.objective(P_new, Q, V),
        problem.objective(P_new, Q_new, V),
        problem.objective(P_new, Q_new, V_new),
    ]
    assert reported == pytest.approx(stages[0], rel=1e-5)
    for earlier, later in pairwise(stages):
        assert later <= earlier * (1 + 1e-5)


def test_where_the_updates_end_is_a_local_minimum() -> None:
    problem = Problem(3, WEIGHTS)
    problem.run(20_000)
    P, Q, V = problem.dense_factors()
    least = problem.objective(P, Q, V)
    rng = np.random.default_rng(0)
    for _ in range(50):
        moved = [np.maximum(t + 0.01 * rng.standard_normal(t.shape), 0) for t in (P, Q, V)]
        assert problem.objective(*moved) > least


def test_factors_stay_finite_and_at_or_above_0_and_padding_stays_0() -> None:
    problem = Problem(5, Weights(1.0, 1.0, 0.0, 0.0, 0.0))
    problem.run(2_000)
    for table, used in zip(problem.factors, problem.columns, strict=True):
        assert np.isfinite(table).all()
        assert (table >= 0).all()
        assert not np.delete(table, used, axis=1).any()
        tiny = np.finfo(np.float32).tiny
        assert not ((table > 0) & (table < tiny)).any()


def test_nothing_observed_is_explained_by_zeros() -> None:
    problem = Problem(7, WEIGHTS)
    problem.run()
    assert not problem.factors.users[3].any()
    assert not problem.factors.items[1].any()
    assert not problem.factors.aspects[2].any()
    assert problem.factors.users[2, :EXPLICIT].all()  # its attention is known
    assert not problem.factors.users[2, EXPLICIT:].any()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_neither_threads_nor_the_cut_into_calls_change_a_bit(threads: int) -> None:
    whole, parts = Problem(2, WEIGHTS), Problem(2, WEIGHTS)
    objectives = whole.run(7)
    np.testing.assert_array_equal(
        objectives, np.concatenate([parts.run(3, threads), parts.run(4, threads)])
    )
    for one, other in zip(whole.factors, parts.factors, strict=True):
        np.testing.assert_array_equal(one, other)


def dense(entries: Entries, columns: int) -> Dense:
    table = np.full((len(entries.pointer) - 1, columns), NAN)
    rows = np.repeat(np.arange(len(table)), np.diff(entries.pointer))
    table[rows, entries.columns] = entries.values
    return table


def example(quality: str, missing: str = "marginalize") -> Tables:
    """Two users, two items; overall is the second aspect of three."""
    values = np.array([[5, 4, NAN], [1, NAN, NAN], [2, 3, 5]], dtype=np.float32)
    data = training_data(np.array([0, 2, 3]), np.array([0, 1, 0]), values, 2, missing)
    return make_tables(data, primary=1, quality=quality)


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def test_ratings_attention_and_quality_are_those_of_the_paper() -> None:
    tables = example("mean")
    attention = [1 + 4 * (2 * sigmoid(t) - 1) for t in range(3)]
    A, X = [[4, NAN], [3, NAN]], [[attention[2], NAN], [attention[1], attention[1]]]
    Y = [[(5 + 2) / 2, 5], [1, NAN]]
    for table, expected in zip(tables, (A, X, Y), strict=True):
        np.testing.assert_allclose(dense(table.by_row, 2), expected, rtol=1e-6)
        np.testing.assert_allclose(dense(table.by_column, 2), np.transpose(expected), rtol=1e-6)


def test_quality_by_sentiment_grows_with_the_number_of_ratings() -> None:
    # Sentiments: 5 is 1, 2 is −½, 1 is −1.
    expected = [[1 + 4 * sigmoid(2 * 0.25), 1 + 4 * sigmoid(1)], [1 + 4 * sigmoid(-1), NAN]]
    np.testing.assert_allclose(dense(example("sentiment").quality.by_row, 2), expected, rtol=1e-6)


def test_missing_aspects_may_count_as_rated_0() -> None:
    tables = example("mean", missing="zero")
    np.testing.assert_allclose(dense(tables.ratings.by_row, 2), [[4, 0], [3, NAN]])
    np.testing.assert_allclose(dense(tables.quality.by_row, 2), [[3.5, 2.5], [1, 0]])
    attention = [1 + 4 * (2 * sigmoid(t) - 1) for t in (2, 1)]
    np.testing.assert_allclose(dense(tables.attention.by_row, 2).T, [attention] * 2, rtol=1e-6)


def ratings_of(values: NDArray[Any], aspects: list[str]) -> Ratings:
    """Return ratings of 8 users and 6 items, two in three of all pairs."""
    pairs = [(u, i) for u in range(8) for i in range(6) if (u + i) % 3]
    return Ratings.from_arrays(
        [f"u{u}" for u, _ in pairs],
        [f"i{i}" for _, i in pairs],
        values[: len(pairs)],
        aspects=aspects,
        scale=(1, 5),
    )


def whole_numbers(aspects: int) -> NDArray[Any]:
    return np.random.default_rng(4).integers(1, 6, (32, aspects)).astype(float)


ASPECTS = ["value", "overall", "service", "rooms"]


@pytest.mark.parametrize("cared", [1, 2, 3, 99])
def test_scores_are_attention_times_quality_and_the_predicted_rating(cared: int) -> None:
    share = 0.6
    model = EFM(most_cared=cared, explicit_share=share, regularization=0.1, seed=3, **SMALL)
    model.fit(ratings_of(whole_numbers(4), ASPECTS))
    P, Q, V = (model.arrays[name].astype(np.float64) for name in ("users", "items", "aspects"))
    u, i = 2, 5
    attention = [float(P[u, :EXPLICIT] @ V[k]) for k in range(3)]
    quality = [float(Q[i, :EXPLICIT] @ V[k]) for k in range(3)]
    products = [x * y / 5 for x, y in zip(attention, quality, strict=True)]
    top = sorted(range(3), key=lambda k: -attention[k])[:cared]
    overall = share * np.mean([products[k] for k in top]) + (1 - share) * P[u] @ Q[i]
    expected = [products[0], overall, products[1], products[2]]
    np.testing.assert_allclose(model.predict("u2", "i5", raw=True)[0], expected, rtol=1e-5)
    np.testing.assert_allclose(model._attention()[u], attention, rtol=1e-5)
    np.testing.assert_allclose(model._quality()[i], quality, rtol=1e-5)


def test_scores_for_a_mix_are_mixed_scores() -> None:
    model = EFM(**SMALL).fit(ratings_of(whole_numbers(4), ASPECTS))
    weights = np.float32([0.5, 2, 0, 1])
    users, items = np.array([1, 4]), np.array([0, 3])
    expected = model.score_pairs(users, items) @ weights
    found = model.scoring_vectors(weights).of_pairs(users, items)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_single_aspect_is_rated_by_the_factors_alone() -> None:
    model = EFM(explicit_share=0.9, **SMALL).fit(ratings_of(whole_numbers(1), ["overall"]))
    P, Q = model.arrays["users"], model.arrays["items"]
    np.testing.assert_allclose(model.predict("u2", "i5", raw=True)[0, 0], P[2] @ Q[5], rtol=1e-5)


def test_odd_ratings_are_no_reason_to_fail() -> None:
    values = whole_numbers(4)
    values[:, 3] = NAN  # an aspect that nobody rated
    values[:8, 1] = NAN  # two users without an overall rating
    model = EFM(**SMALL).fit(ratings_of(values, ASPECTS))
    predictions = model.predict([f"u{u}" for u in range(8)], "i3")
    assert np.isfinite(predictions).all()
    # Those two are ranked by what is known of them: how well they are served.
    assert np.ptp(model.recommend("u0", exclude_seen=False)["score"].to_numpy()) > 0


def test_ratings_without_any_overall_are_learned_from() -> None:
    values = whole_numbers(4)
    values[:, 1] = NAN
    model = EFM(**SMALL).fit(ratings_of(values, ASPECTS))
    assert np.isfinite(model.predict("u0", "i3")).all()


def test_the_objective_never_falls_while_fitting() -> None:
    model = EFM(**{**SMALL, "iterations": 200}).fit(ratings_of(whole_numbers(4), ASPECTS))
    assert len(model.history.objective) == 20
    assert (np.diff(model.history.objective) > -1e-6).all()


def test_one_regularization_stands_for_all_three() -> None:
    ratings = ratings_of(whole_numbers(4), ASPECTS)
    one, same, other = (
        EFM(regularization=weight, **SMALL).fit(ratings).predict("u1", "i4", raw=True)
        for weight in (2.0, (2.0, 2.0, 2.0), (2.0, 2.0, 9.0))
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(ConfigError, match="quality_weight"):
        EFM(quality_weight=-1)
