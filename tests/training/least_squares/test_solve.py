"""Alternating least squares against dense normal equations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.training.data import TrainingData, training_data
from dmrank.training.least_squares.problem import Observed, Prior, by_item, by_user
from dmrank.training.least_squares.solve import gram, solve_aspects, solve_rows
from tests.training.problems import ASPECTS, ITEMS, USERS, random_data

#: Around the numbers of rows and observations that are worked on together.
FACTORS = [1, 2, 3, 4, 5, 8, 13, 33]


def drawn(rows: int, factors: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, factors)).astype(np.float32)


def a_prior(rows: int, factors: int) -> Prior:
    rng = np.random.default_rng(7)
    return Prior(rng.uniform(0.1, 5, rows), rng.normal(size=factors))


def dense_row(Z: np.ndarray, y: np.ndarray, S, ridge: float, centre: np.ndarray) -> np.ndarray:
    Z, y = Z.astype(np.float64), y.astype(np.float64)
    return np.linalg.solve(Z.T @ Z + S + ridge * np.eye(len(centre)), Z.T @ y + ridge * centre)


def cost(x, Z, y, S, ridge: float, centre) -> float:
    x, Z = x.astype(np.float64), Z.astype(np.float64)
    return float(((y - Z @ x) ** 2).sum() + x @ S @ x + ridge * ((x - centre) ** 2).sum())


def observations(observed: Observed, row: int, others, aspects) -> tuple[np.ndarray, np.ndarray]:
    """Return z and y of every observed value of a row."""
    own = slice(observed.pointer[row], observed.pointer[row + 1])
    z = others[observed.others[own]][:, None, :] * aspects[None]
    known = ~np.isnan(observed.values[own])
    return z[known], observed.values[own][known]


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_every_row_solves_its_dense_normal_equations(factors: int, missing: float) -> None:
    data = random_data(missing)
    aspects, root = drawn(ASPECTS, factors, 1), drawn(factors, factors, 2)
    S = (root @ root.T).astype(np.float64)
    for observed, rows, columns in [(by_user(data), USERS, ITEMS), (by_item(data), ITEMS, USERS)]:
        others, prior = drawn(columns, factors, 3), a_prior(rows, factors)
        table = np.full((rows, factors), np.nan, dtype=np.float32)
        least = solve_rows(table, observed, others, aspects, prior, shared=S)
        costs = 0.0
        for row in range(rows):
            rest = (
                *observations(observed, row, others, aspects),
                S,
                prior.ridge[row],
                prior.centre,
            )
            expected = dense_row(*rest)
            np.testing.assert_allclose(table[row], expected, rtol=1e-4, atol=1e-5)
            costs += cost(expected, *rest)
        assert least == pytest.approx(costs, rel=1e-6)


@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_every_aspect_solves_its_dense_normal_equations(factors: int, missing: float) -> None:
    data = random_data(missing)
    users, items = drawn(USERS, factors, 1), drawn(ITEMS, factors, 2)
    prior, aspects = a_prior(ASPECTS, factors), np.full((ASPECTS, factors), np.nan, np.float32)
    least = solve_aspects(aspects, data, users, items, prior)
    z, S, costs = users[data.row_users] * items[data.items], np.zeros((factors, factors)), 0.0
    for k in range(ASPECTS):
        known = ~np.isnan(data.values[:, k])
        rest = (z[known], data.values[known, k], S, prior.ridge[k], prior.centre)
        expected = dense_row(*rest)
        np.testing.assert_allclose(aspects[k], expected, rtol=1e-4, atol=1e-5)
        costs += cost(expected, *rest)
    assert least == pytest.approx(costs, rel=1e-6)


def test_a_row_without_ratings_is_at_the_centre_of_its_prior() -> None:
    observed = Observed(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros((0, 1), np.float32))
    table = np.zeros((2, 3), dtype=np.float32)
    prior = Prior(np.array([0.5, 2.0]), np.array([1.0, -2.0, 0.0]))
    least = solve_rows(table, observed, drawn(4, 3, 0), drawn(1, 3, 1), prior)
    np.testing.assert_allclose(table, [[1, -2, 0]] * 2, atol=1e-6)
    assert least == pytest.approx(0, abs=1e-9)


def test_a_missing_value_has_no_influence() -> None:
    """NaN in an aspect is the same as a list of values in which it does not occur."""
    data = random_data()
    values = data.values.copy()
    values[::2, 1:] = np.nan
    with_gaps = data._replace(values=values)
    without = _one_aspect(with_gaps)
    others, aspects, prior = drawn(ITEMS, 4, 1), drawn(ASPECTS, 4, 2), a_prior(USERS, 4)
    one, two = np.empty((2, USERS, 4), dtype=np.float32)
    solve_rows(one, by_user(with_gaps), others, aspects, prior)
    # Each value as a rating of its own: item and aspect become one of items × aspects columns.
    pairs = (others[:, None] * aspects[None]).reshape(-1, 4)
    solve_rows(two, without, pairs, np.ones((1, 4), np.float32), prior)
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def _one_aspect(data: TrainingData) -> Observed:
    """Return every observed value as a rating of (item, aspect) with one value."""
    known = ~np.isnan(data.values)
    pointer = np.concatenate([[0], np.cumsum(known.sum(axis=1))])[data.user_ptr]
    columns = data.items[:, None] * ASPECTS + np.arange(ASPECTS)
    return Observed(pointer, columns[known].astype(np.int32), data.values[known][:, None])


@given(st.integers(0, 9), st.integers(1, 9), st.integers(0, 99))
def test_a_gram_matrix_is_the_sum_of_outer_products(rows: int, factors: int, seed: int) -> None:
    table = drawn(rows, factors, seed)
    exact = table.astype(np.float64)
    np.testing.assert_allclose(gram(table), exact.T @ exact, rtol=1e-12, atol=1e-12)


def test_threads_change_no_bit() -> None:
    rng = np.random.default_rng(3)
    users, items = np.nonzero(rng.random((300, 200)) < 0.2)
    values = rng.normal(size=(len(users), 2)).astype(np.float32)
    pointer = np.searchsorted(users, np.arange(301))
    data = training_data(pointer, items.astype(np.int32), values, 200)
    results = []
    for threads in (1, 2, 5):
        U, V, W = drawn(300, 6, 1), drawn(200, 6, 2), drawn(2, 6, 3)
        costs = (
            solve_rows(U, by_user(data), V, W, a_prior(300, 6), shared=gram(V), threads=threads),
            solve_rows(V, by_item(data), U, W, a_prior(200, 6), shared=gram(U), threads=threads),
            solve_aspects(W, data, U, V, a_prior(2, 6), threads=threads),
        )
        results.append(b"".join(array.tobytes() for array in (U, V, W, np.array(costs))))
    assert results[0] == results[1] == results[2]
