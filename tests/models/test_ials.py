"""IALS: what is particular to it."""

import numpy as np
import pytest

from dmrank import IALS, ConfigError, Ratings, make_ratings

PARAMETERS = {
    "factors": 5,
    "regularization": 0.2,
    "unobserved_weight": 0.15,
    "frequency_exponent": 0.7,
}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(80, 40, 1_200, seed=1).ratings


def objective(model: IALS, ratings: Ratings) -> float:
    """Return the objective as its docstring has it, over the dense matrix."""
    U, V = (model.arrays[name].astype(np.float64) for name in ("users", "items"))
    rated = np.zeros((len(U), len(V)), dtype=bool)
    rated[ratings.user_codes, ratings.item_codes] = True
    scores, config = U @ V.T, model.config
    alpha, nu = config.unobserved_weight, config.frequency_exponent
    of_user = (rated.sum(axis=1) + alpha * len(V)) ** nu @ (U**2).sum(axis=1)
    of_item = (rated.sum(axis=0) + alpha * len(U)) ** nu @ (V**2).sum(axis=1)
    loss = ((1 - scores[rated]) ** 2).sum() + alpha * (scores**2).sum()
    return float(loss + config.regularization * (of_user + of_item))


def test_the_objective_is_that_of_the_paper_and_never_rises(ratings: Ratings) -> None:
    costs = []
    for sweeps in (1, 2, 3, 4):
        model = IALS(**PARAMETERS, iterations=sweeps).fit(ratings)
        costs.append(objective(model, ratings))
        assert -model.history.objective[-1] * len(ratings) == pytest.approx(costs[-1], rel=1e-5)
    assert costs == sorted(costs, reverse=True)
    history = IALS(**PARAMETERS, iterations=30).fit(ratings).history.objective
    assert (np.diff(history) > -1e-6).all()


def test_sweeps_end_where_the_gradient_is_zero(ratings: Ratings) -> None:
    """Finite differences of the dense objective around what was learned."""
    model = IALS(**PARAMETERS, iterations=400).fit(ratings)
    rng = np.random.default_rng(0)
    learned = {name: model.arrays[name].astype(np.float64) for name in ("users", "items")}
    scale = objective(model, ratings)
    for name, table in learned.items():
        direction = rng.normal(size=table.shape)
        values = []
        for step in (-1e-3, 1e-3):
            model.arrays[name] = table + step * direction
            values.append(objective(model, ratings))
        model.arrays[name] = table
        # A change of second order at most, the same on both sides.
        assert values[0] == pytest.approx(values[1], rel=1e-5)
        assert min(values) > scale


def test_ratings_play_no_part(ratings: Ratings) -> None:
    table = ratings.to_polars()
    values = np.random.default_rng(0).integers(1, 6, ratings.values.shape).astype(np.float32)
    values[::3, 1:] = np.nan
    others = Ratings.from_arrays(
        table["user"], table["item"], values, aspects=ratings.aspects, scale=(1, 5)
    )
    one, two = (IALS(factors=4, iterations=3).fit(which) for which in (ratings, others))
    for name in ("users", "items"):
        np.testing.assert_array_equal(one.arrays[name], two.arrays[name])


def test_all_aspects_have_one_score(ratings: Ratings) -> None:
    model = IALS(factors=4, iterations=3).fit(ratings)
    scores = model.predict(ratings.users[3], list(ratings.items), raw=True)
    np.testing.assert_array_equal(scores, scores[:, :1].repeat(scores.shape[1], axis=1))
    expected = model.arrays["users"][3].astype(np.float64) @ model.arrays["items"].T
    np.testing.assert_allclose(scores[:, 0], expected, rtol=1e-5, atol=1e-6)


def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(ratings: Ratings, tmp_path) -> None:
    class StoppedError(Exception):
        pass

    def stop_after_two(history) -> None:
        if len(history.iterations) == 2:
            raise StoppedError

    whole = IALS(**PARAMETERS, iterations=6).fit(ratings)
    parts, looks = IALS(**PARAMETERS, iterations=6), []
    with pytest.raises(StoppedError):
        parts.fit(ratings, checkpoint=tmp_path, callback=stop_after_two)
    parts.fit(ratings, checkpoint=tmp_path, callback=lambda history: looks.append(1))
    assert len(looks) < 6
    assert parts.history.iterations == whole.history.iterations
    for name in ("users", "items"):
        np.testing.assert_array_equal(parts.arrays[name], whole.arrays[name])


@pytest.mark.parametrize("name", ["regularization", "unobserved_weight"])
def test_what_must_be_above_zero_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=0"):
        IALS(**{name: 0})
