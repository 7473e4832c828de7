"""One row of each user held back, folds, and users or items without a training row."""

import numpy as np
import pytest

from dmrank import ConfigError, DataError, Ratings, Split, make_ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    drawn = make_ratings(60, 30, 900, seed=2).ratings
    table = drawn.to_polars()
    days = np.random.default_rng(0).permutation(len(table))
    return Ratings.from_arrays(
        table["user"], table["item"], drawn.values, aspects=drawn.aspects, timestamps=days
    )


def keys(part: Ratings) -> np.ndarray:
    return part.user_codes.astype(np.int64) * len(part.items) + part.item_codes


def check_partition(ratings: Ratings, *parts: Ratings) -> None:
    assert all(part.users == ratings.users and part.items == ratings.items for part in parts)
    together = np.sort(np.concatenate([keys(part) for part in parts]))
    np.testing.assert_array_equal(together, keys(ratings))


# Leave one out.


@pytest.mark.parametrize("by", ["random", "time"])
def test_one_row_of_each_user_is_tested_and_one_validated(ratings: Ratings, by) -> None:
    split = ratings.leave_one_out(by=by, seed=3)
    check_partition(ratings, split.train, split.validation, split.test)
    rows, tested, validated, trained = (
        np.diff(part.user_pointer) for part in (ratings, split.test, split.validation, split.train)
    )
    np.testing.assert_array_equal(tested, rows > 1)
    np.testing.assert_array_equal(validated, rows > 2)
    assert (trained > 0).all()


def test_the_newest_row_is_tested_and_the_one_before_validated(ratings: Ratings) -> None:
    split = ratings.leave_one_out(by="time")
    for user in range(len(ratings.users)):
        days = [
            part.timestamps[part.user_codes == user].tolist()
            for part in (split.train, split.validation, split.test)
        ]
        in_turn = sorted(days[0]) + days[1] + days[2]
        assert in_turn == sorted(in_turn)


def test_leave_one_out_depends_on_the_seed_and_knows_what_it_needs(ratings: Ratings) -> None:
    first, again, other = (ratings.leave_one_out(seed=seed) for seed in (0, 0, 1))
    assert first.test == again.test != other.test
    with pytest.raises(ConfigError, match="did you mean 'time'"):
        ratings.leave_one_out(by="times")  # type: ignore[arg-type]
    timeless = make_ratings(20, 10, 100, seed=1).ratings
    with pytest.raises(DataError, match="needs timestamps"):
        timeless.leave_one_out(by="time")


# Folds.


def test_every_row_is_tested_once(ratings: Ratings) -> None:
    splits = list(ratings.k_fold(4, validation=0.2, seed=1))
    for split in splits:
        check_partition(ratings, split.train, split.validation, split.test)
        assert len(split.validation) == round(0.2 * (len(split.validation) + len(split.train)))
    check_partition(ratings, *(split.test for split in splits))
    assert {len(split.test) for split in splits} == {225}


@pytest.mark.parametrize(("k", "validation"), [(1, 0.1), (901, 0.1), (3, 1.0), (3, -0.1)])
def test_impossible_folds_are_refused_at_once(ratings: Ratings, k, validation) -> None:
    with pytest.raises(ConfigError):
        ratings.k_fold(k, validation=validation)


# Cold start.


@pytest.mark.parametrize("of", ["users", "items"])
def test_the_new_ones_have_no_training_row(ratings: Ratings, of) -> None:
    cold = ratings.cold_start(of, share=0.3, given=4, seed=5)
    check_partition(ratings, cold.train, cold.validation, cold.given, cold.test)
    own, other = ("user_codes", "item_codes") if of == "users" else ("item_codes", "user_codes")
    fitted_on = {*getattr(cold.train, own), *getattr(cold.validation, own)}
    new = np.unique(getattr(cold.test, own))
    assert not fitted_on & set(new)
    assert (np.bincount(getattr(cold.given, own))[new] == 4).mean() > 0.9
    assert np.bincount(getattr(cold.given, own)).max() == 4
    enough = np.bincount(getattr(ratings, own)) > 4
    assert len(new) == round(0.3 * enough.sum())
    # What is given says something: the other side of it is known.
    assert set(getattr(cold.given, other)) <= set(getattr(cold.train, other))


def test_what_is_given_is_known_when_models_are_judged(ratings: Ratings) -> None:
    cold = ratings.cold_start()
    split = cold.folded
    assert isinstance(split, Split)
    check_partition(ratings, split.train, split.validation, split.test)
    np.testing.assert_array_equal(
        keys(split.train), np.sort(np.concatenate([keys(cold.train), keys(cold.given)]))
    )
    assert repr(cold).startswith("ColdStart(")


def test_an_impossible_cold_start_is_refused(ratings: Ratings) -> None:
    options = {"of": "user", "given": 0, "share": 1.0, "validation": 1.0}
    for name, value in options.items():
        with pytest.raises(ConfigError):
            ratings.cold_start(**{name: value})
    with pytest.raises(DataError, match="0 have more than 99 ratings"):
        ratings.cold_start(given=99)
