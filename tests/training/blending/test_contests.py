"""Contests of held-out items against unrated ones that some member lists."""

import numpy as np
import pytest

from dmrank import Ratings
from dmrank.training.blending.contests import Activity, draw_contests, features
from dmrank.training.held_out import HeldOut

ITEMS = 300


@pytest.fixture
def held_out() -> HeldOut:
    """User a has rated items 0 and 1, and 2 (score high) and 299 (score low) are held out."""
    names = [f"i{n:03}" for n in range(ITEMS)]
    train = Ratings.from_arrays(
        ["a", "a", *["b"] * ITEMS], [names[0], names[1], *names], [[3, 3]] * (ITEMS + 2),
        aspects=["overall", "service"], scale=(1, 5),
    )  # fmt: skip
    rest = Ratings.from_arrays(
        ["a", "a"], [names[2], names[299]], [[5, 4], [2, 1]], aspects=["overall", "service"],
        scale=(1, 5),
    )  # fmt: skip
    return HeldOut.from_ratings(train, rest)


def draw(held_out: HeldOut, negatives: int = 20, seed: int = 0, threads: int = 1):
    descending = -np.arange(ITEMS, dtype=np.float32)

    def standardised(users):
        return [np.tile(descending, (len(users), 1)), np.tile(descending / 2, (len(users), 1))]

    return draw_contests(
        held_out,
        held_out.values.astype(np.float64),
        standardised,
        np.zeros(len(held_out.users), dtype=np.float32),
        negatives=negatives,
        seed=seed,
        threads=threads,
    )


def test_only_items_that_a_member_lists_take_part(held_out: HeldOut) -> None:
    contests = draw(held_out)
    assert len(contests.starts) == 1  # item 299 is nobody's best
    assert (contests.ratings == [5, 4]).all()
    assert len(contests) == 20


def test_opponents_are_listed_and_neither_seen_nor_held_out(held_out: HeldOut) -> None:
    contests = draw(held_out, negatives=200)
    opponents = 2 + contests.features[:, 0]  # z is minus the number of the item
    assert opponents.min() == 3
    assert opponents.max() == 101
    assert len(set(opponents)) == 99


def test_a_draw_depends_on_the_seed_and_not_on_threads(held_out: HeldOut) -> None:
    first = draw(held_out).features
    np.testing.assert_array_equal(first, draw(held_out, threads=3).features)
    assert (first != draw(held_out, seed=1).features).any()


def test_features_are_score_score_times_activity_and_squashed_score() -> None:
    found = features(np.array([[2.0, -3.0]]), np.array([0.5]))
    np.testing.assert_allclose(found, [[2, 1, 2 / np.sqrt(1 + 4 / 9), -3, -1.5, -3 / np.sqrt(2)]])


def test_activity_is_standardised_over_those_who_rate() -> None:
    counts = np.array([0, 1, 10, 100])
    activity = Activity.from_counts(counts)(counts)
    assert activity[1:].mean() == pytest.approx(0, abs=1e-6)
    assert activity[1:].std() == pytest.approx(1, abs=1e-6)


def test_users_who_all_rate_alike_are_not_told_apart() -> None:
    assert Activity.from_counts(np.array([3, 3]))(np.array([3])) == pytest.approx(0)
