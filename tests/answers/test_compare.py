"""Comparing two items for a user."""

import numpy as np
import pytest
from scipy import stats

from dmrank import (
    DMR,
    EASE,
    ConfigError,
    DataError,
    ItemMean,
    Model,
    NotFittedError,
    Popularity,
    Ratings,
    UnknownItemError,
    UnknownUserError,
    make_ratings,
)
from dmrank.answers.compare import order_confidences, order_probabilities
from dmrank.directional import Gaussian, confidence

ASPECTS = ["overall", "service", "value"]
QUICK = {"iterations": 300, "evaluate_every": 100, "batch_size": 256, "factors": 4, "threads": 1}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(120, 40, 3_000, aspects=ASPECTS, seed=1).ratings


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> DMR:
    split = ratings.split(seed=1)
    return DMR(**QUICK, rated_share=0.5).fit(split.train, validation=split.validation)


def test_the_order_of_each_aspect_is_that_of_the_scores(model: DMR) -> None:
    one, other = model.predict("u000003", ["h000001", "h000002"], raw=True)
    better = model.compare("u000003", "h000001", "h000002").table["better"].to_list()
    assert better == ["h000001" if a > b else "h000002" for a, b in zip(one, other, strict=True)]


def test_the_difference_is_in_ratings(model: DMR) -> None:
    items = list(model.catalogue.items)[:12]
    for user in list(model.catalogue.users)[:20]:
        predicted = model.predict(user, items)
        inside = ((predicted > 1) & (predicted < 5)).all(axis=1)
        if inside[:2].all():
            difference = model.compare(user, *items[:2]).table["difference"].to_numpy()
            np.testing.assert_allclose(difference, predicted[0] - predicted[1], atol=1e-5)
            return
    pytest.fail("no prediction is inside the scale")


def test_the_other_way_round_is_the_same_comparison(model: DMR) -> None:
    one = model.compare("u000003", "h000001", "h000002")
    other = model.compare("u000003", "h000002", "h000001")
    assert one.table["better"].to_list() == other.table["better"].to_list()
    np.testing.assert_allclose(one.table["difference"], -other.table["difference"], atol=1e-6)
    np.testing.assert_allclose(one.table["probability"], other.table["probability"], atol=1e-6)
    assert one.confidence == other.confidence


def test_the_probability_is_that_of_the_calibrated_difference(ratings: Ratings) -> None:
    for family, distribution in (("gaussian", stats.norm()), ("student", stats.t(5.0))):
        model = DMR(**QUICK, family=family).fit(ratings)
        calibration, u, a, b = model.calibration, np.array([3]), np.array([1]), np.array([2])
        raw = model.score_pairs(u, a) - model.score_pairs(u, b)
        sigma = model.covariances(u, a)[0] + model.covariances(u, b)[0]
        scale = np.sqrt(calibration.order_factor * np.diagonal(sigma))
        expected = distribution.cdf(np.abs(calibration.slope * raw[0]) / scale)
        found = model.compare("u000003", "h000001", "h000002").table["probability"]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        assert (expected > 0.5).all()


def test_probabilities_of_held_out_orders_come_true() -> None:
    synthetic = make_ratings(400, 80, 16_000, aspects=ASPECTS, signal=1.0, seed=2)
    split = synthetic.ratings.split(seed=0)
    model = DMR(iterations=1_500, evaluate_every=500, factors=4, rated_share=1.0, threads=1)
    model.fit(split.train, validation=split.validation)
    test = split.test
    same = test.user_codes[1:] == test.user_codes[:-1]
    users, first, second = test.user_codes[1:][same], test.item_codes[1:][same], None
    second = test.item_codes[:-1][same]
    observed = (test.values[1:] - test.values[:-1])[same]
    probability = order_probabilities(model, users, first, second)
    ordered = np.nan_to_num(observed) != 0
    said = np.maximum(probability, 1 - probability)[ordered]
    right = ((probability > 0.5) == (observed > 0))[ordered]
    assert said.mean() == pytest.approx(right.mean(), abs=0.03)
    sure = said > 0.8
    assert sure.sum() > 100
    assert right[sure].mean() == pytest.approx(said[sure].mean(), abs=0.06)


def test_confidence_is_a_share_of_random_pairs(model: DMR, ratings: Ratings) -> None:
    u, a, b = np.array([3]), np.array([1]), np.array([2])
    mean = model.score_pairs(u, a) - model.score_pairs(u, b)
    sigma = model.covariances(u, a) + model.covariances(u, b)
    expected = confidence(mean, sigma, Gaussian())
    np.testing.assert_allclose(order_confidences(model, u, a, b), expected)
    items = list(ratings.items)
    shares = [model.compare("u000003", items[0], item).confidence for item in items[1:]]
    assert min(shares) >= 0
    assert max(shares) <= 1
    assert 0.2 < np.mean(shares) < 0.8  # the pairs are themselves like random ones


def test_the_same_question_has_the_same_answer(model: DMR) -> None:
    one, other = (model.compare("u000003", "h000001", "h000002", pairs=50) for _ in range(2))
    assert one.table.equals(other.table)
    assert one.confidence == other.confidence


@pytest.mark.parametrize("other", [ItemMean(), Popularity(), EASE(regularization=1.0)], ids=repr)
def test_models_without_a_covariance_give_orders_only(other: Model, ratings: Ratings) -> None:
    compared = other.fit(ratings).compare("u000003", "h000001", "h000002")
    assert compared.table["better"].null_count() == 0
    assert compared.table["probability"].null_count() == len(ASPECTS)
    assert compared.confidence is None
    assert "–" in repr(compared)


def test_a_tie_has_no_better_item() -> None:
    values = [[3.0], [3.0], [4.0], [4.0]]
    tied = Ratings.from_arrays(["a", "a", "b", "b"], ["x", "y", "x", "y"], values, aspects=["r"])
    compared = Popularity().fit(tied).compare("a", "x", "y")
    assert compared.table["better"].to_list() == [None]
    assert "equal" in repr(compared)


def test_a_comparison_can_be_read(model: DMR) -> None:
    shown = repr(model.compare("u000003", "h000001", "h000002"))
    names = model.catalogue.item_names
    assert shown.splitlines()[0] == f"{names[1]} or {names[2]}, for u000003"
    assert shown.count("%") == len(ASPECTS) + 1


def test_what_is_not_known_is_a_typed_error(model: DMR) -> None:
    with pytest.raises(UnknownUserError, match="did you mean"):
        model.compare("u00000", "h000001", "h000002")
    with pytest.raises(UnknownItemError, match="'h9'"):
        model.compare("u000003", "h000001", "h9")
    with pytest.raises(DataError, match="given twice"):
        model.compare("u000003", "h000001", "h000001")
    with pytest.raises(ConfigError, match="at least one pair"):
        model.compare("u000003", "h000001", "h000002", pairs=0)
    with pytest.raises(NotFittedError):
        DMR().compare("u000003", "h000001", "h000002")
