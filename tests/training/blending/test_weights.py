"""Weights of a blend: the losses, their gradients, and what they find."""

from typing import Literal

import numpy as np
import pytest
from scipy import optimize

from dmrank.directional.families import Gaussian, Student
from dmrank.directional.reference import log_likelihood
from dmrank.training.blending import weights as blending
from dmrank.training.blending.weights import Contests, Loss, join, learn_weights


@pytest.fixture
def contests() -> Contests:
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (60, 3)).astype(np.float64)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    ratings[:, 0] = 3  # every contest has an aspect
    return Contests(rng.normal(size=(60, 4)), ratings, np.arange(0, 60, 5))


@pytest.mark.parametrize(
    ("objective", "rows"),
    [
        (lambda c: blending._directional(c, Gaussian(0.2)), 3),
        (lambda c: blending._directional(c, Student(5, 0.2)), 3),
        (blending._logistic, 1),
        (blending._softmax, 1),
    ],
    ids=["gaussian", "student", "logistic", "softmax"],
)
def test_gradients_are_those_of_the_loss(contests: Contests, objective, rows: int) -> None:
    loss = objective(contests)
    point = np.random.default_rng(1).normal(size=(rows, 4))
    numeric = optimize.approx_fprime(
        point.ravel(), lambda flat: loss(flat.reshape(rows, 4)).value, 1e-6
    )
    np.testing.assert_allclose(loss(point).gradient.ravel(), numeric, atol=1e-4)


def test_the_directional_loss_is_the_paper_s_criterion(contests: Contests) -> None:
    W = np.random.default_rng(2).normal(size=(3, 4))
    family, total = Gaussian(0.2), 0.0
    for x, ratings in zip(contests.features, contests.ratings, strict=True):
        kept = ~np.isnan(ratings)
        d, mean = ratings[kept] / 5, (W @ x)[kept]
        constant = family.constant(kept.sum())
        total += log_likelihood(d, mean, np.eye(kept.sum()), family) - float(constant)
    loss = blending._directional(contests, family)(W)
    assert loss.value / loss.number == pytest.approx(-total / len(contests), rel=1e-9)


@pytest.mark.parametrize("loss", ["directional", "logistic", "softmax"])
def test_every_loss_finds_what_decides(loss) -> None:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(2_000, 3))
    features[:, 1] = np.abs(features[:, 1])  # the winner is ahead here, whatever the others say
    found = learn_weights(
        [Contests(features, np.full((2_000, 2), 4.0), np.arange(0, 2_000, 4))],
        loss,
        Gaussian(0.2),
        1e-3,
    )
    assert found.shape == (2, 3)
    assert (found[:, 1] > 5 * np.abs(found[:, [0, 2]]).max(axis=1)).all()


def test_regularization_holds_weights_back(contests: Contests) -> None:
    strong, weak = (
        np.abs(learn_weights([contests], "directional", Gaussian(0.2), strength)).sum()
        for strength in (10.0, 1e-3)
    )
    assert strong < 0.2 * weak


@pytest.mark.parametrize("loss", ["directional", "logistic"])
def test_features_that_are_nearly_the_same_do_not_hide_the_minimum(
    contests: Contests, loss: Literal["directional", "logistic"]
) -> None:
    alike = contests.features[:, :1] + 1e-3 * contests.features
    contests = Contests(alike, contests.ratings, contests.starts)
    is_one = loss == "logistic"
    objective = (
        blending._logistic(contests) if is_one else blending._directional(contests, Gaussian(0.2))
    )
    found = learn_weights([contests], loss, Gaussian(0.2), 1e-6)[: 1 if is_one else None]
    sums = objective(found)
    np.testing.assert_allclose(sums.gradient / sums.number + 2e-6 * found, 0, atol=1e-6)


@pytest.mark.parametrize("loss", ["directional", "logistic", "softmax"])
def test_blocks_add_up_to_what_they_are_together(contests: Contests, loss: Loss) -> None:
    first, rest = (
        Contests(contests.features[rows], contests.ratings[rows], np.arange(0, size, 5))
        for rows, size in ((slice(25), 25), (slice(25, None), 35))
    )
    together = learn_weights([contests], loss, Gaussian(0.2), 1e-2)
    apart = learn_weights([first, rest], loss, Gaussian(0.2), 1e-2)
    np.testing.assert_allclose(apart, together, rtol=1e-4, atol=1e-6)
    assert len(join([first, rest])) == len(contests)
    np.testing.assert_array_equal(join([first, rest]).starts, contests.starts)
