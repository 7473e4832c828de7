"""The mix nearest to one's own by which a list has the wanted order."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog, minimize

from dmrank import (
    DMR,
    EASE,
    ConfigError,
    Hurdle,
    ItemMean,
    Model,
    Ratings,
    UnknownItemError,
    UnknownUserError,
    make_ratings,
)
from dmrank.answers.nearest_mix import nearest_point

NUMBERS = st.floats(-5, 5).map(lambda x: round(x, 2))


@st.composite
def problems(draw) -> tuple[np.ndarray, np.ndarray]:
    K = draw(st.integers(1, 6))
    mix = draw(hnp.arrays(float, K, elements=st.floats(0, 1).map(lambda x: round(x, 2))))
    assume(mix.sum() > 0)
    rows = draw(st.integers(0, 6))
    return mix / mix.sum(), draw(hnp.arrays(float, (rows, K), elements=NUMBERS))


def _largest_margin(differences: np.ndarray) -> float:
    """Return the most by which all orders can be kept at once, by a linear program."""
    rows, K = differences.shape
    answer = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.column_stack([-differences, np.ones(rows)]),
        b_ub=np.zeros(rows),
        A_eq=[[1.0] * K + [0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * K + [(None, None)],
    )
    return -answer.fun


@given(problems())
@settings(deadline=None)
def test_the_nearest_mix_keeps_every_order_and_no_other_is_nearer(problem) -> None:
    mix, differences = problem
    size = np.abs(differences).max(initial=0.0)
    found, conflict = nearest_point(mix, differences)
    if found is None:
        assert _largest_margin(differences[conflict]) < 1e-4 * size + 1e-12
        return
    assert conflict == []
    assert found.sum() == pytest.approx(1)
    assert found.min() >= 0
    assert (differences @ found > 0).all()
    if len(mix) > 1 and len(differences):
        other = minimize(
            lambda w: ((w - mix) ** 2).sum(),
            found,
            constraints=[
                {"type": "eq", "fun": lambda w: w.sum() - 1},
                {"type": "ineq", "fun": lambda w: differences @ w / size - 1e-5},
            ],
            bounds=[(0, 1)] * len(mix),
            method="SLSQP",
        )
        assert np.linalg.norm(found - mix) <= np.sqrt(max(other.fun, 0)) + 1e-4


@given(problems())
@settings(deadline=None)
def test_what_can_be_kept_is_not_given_up(problem) -> None:
    mix, differences = problem
    assume(len(differences) > 0)
    assume(_largest_margin(differences) > 1e-3 * np.abs(differences).max())
    found, _ = nearest_point(mix, differences)
    assert found is not None


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(150, 40, 3_000, seed=2).ratings


@pytest.fixture(scope="module", params=["Hurdle", "ItemMean", "DMR"])
def model(request, ratings: Ratings) -> Model:
    models = {
        "Hurdle": Hurdle(preference=0.6),
        "ItemMean": ItemMean(),
        "DMR": DMR(iterations=300, item_offsets=True, rated_share=0.5),
    }
    return models[request.param].fit(ratings)


def test_lists_by_the_mix_have_the_order(model: Model, ratings: Ratings) -> None:
    reached = 0
    for user in list(ratings.users)[:15]:
        items = model.recommend(user, n=12, by="service", exclude_seen=False)["item"].to_list()
        # The fifth is to come before the first.
        found = model.nearest_mix(user, [(items[4], items[0])], by="service")
        if found.weights is None:
            assert found.prevented_by == ((items[4], items[0]),)
            continue
        reached += 1
        listed = model.recommend(user, n=40, by=found.weights, exclude_seen=False)
        after = listed["item"].to_list()
        assert after.index(items[4]) < after.index(items[0])
        assert sum(found.weights.values()) == pytest.approx(1)
    assert reached > 0


def test_a_mix_that_has_the_order_stays(model: Model, ratings: Ratings) -> None:
    user = ratings.users[0]
    items = model.recommend(user, n=5, by={"service": 1, "value": 3})["item"].to_list()
    found = model.nearest_mix(user, [(items[0], items[1])], by={"service": 1, "value": 3})
    assert found.change == pytest.approx(0, abs=1e-4)
    assert found.weights["value"] == pytest.approx(0.75, abs=1e-3)


def test_one_score_for_all_aspects_has_one_order(ratings: Ratings) -> None:
    model = EASE().fit(ratings)
    user = ratings.users[0]
    first, second = model.recommend(user, n=2)["item"].to_list()
    found = model.nearest_mix(user, [(second, first)])
    assert found.weights is None
    assert found.prevented_by == ((second, first),)


def test_orders_that_contradict_each_other_are_named(model: Model, ratings: Ratings) -> None:
    a, b, c, *_ = ratings.items
    found = model.nearest_mix(ratings.users[0], [(a, b), (b, c), (c, a)])
    assert found.weights is None
    assert set(found.prevented_by) <= {(a, b), (b, c), (c, a)}


def test_bad_orders_are_one_line(model: Model, ratings: Ratings) -> None:
    user, item = ratings.users[0], ratings.items[0]
    for orders in (["ab"], [(item,)], [(item, item, item)], [3]):
        with pytest.raises(ConfigError, match=r"give pairs \(before, after\)"):
            model.nearest_mix(user, orders)
    with pytest.raises(UnknownItemError):
        model.nearest_mix(user, [(item, "nowhere")])
    with pytest.raises(UnknownUserError):
        model.nearest_mix("nobody", [(item, item)])
    assert model.nearest_mix(user, []).change == 0
