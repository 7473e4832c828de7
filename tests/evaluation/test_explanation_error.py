"""The aspect that explains a rating, against what the user said of it."""

import numpy as np
import pytest

from dmrank import DMR, EFM, MTER, ConfigError, DataError, Popularity, Ratings, Split, make_ratings
from dmrank.evaluation import explains, explanation_error
from tests.evaluation.problems import Given

NAN = float("nan")
ASPECTS = ["overall", "a", "b"]


class Explaining(Given):
    """Says the same of every rating."""

    relevance = (9.0, 1.0, 2.0)

    def aspect_relevance(self, users, items, aspect):
        return np.tile(self.relevance, (len(users), 1))


class NamesA(Explaining):
    """Knows of the aspect a alone."""

    relevance = (9.0, 1.0, NAN)


class NamesNothing(Explaining):
    """Knows of no aspect beside the primary."""

    relevance = (9.0, NAN, NAN)


@pytest.fixture(scope="module")
def split() -> Split:
    """Four test rows, one of them without overall; aspect b has a scale of its own."""
    train = [("u", "x"), ("u", "y"), ("v", "x"), ("v", "z")]
    test = {("u", "z"): (5, 4, 20), ("v", "y"): (2, NAN, 10), ("w", "x"): (1, 5, 0)}
    rows = [*train, *test]
    ratings = Ratings.from_arrays(
        [user for user, _ in rows],
        [item for _, item in rows],
        np.array([*([3, 3, 5],) * len(train), *test.values()], dtype=float),
        aspects=ASPECTS,
        scale={"overall": (1, 5), "a": (1, 5), "b": (0, 20)},
    )
    names = [
        (ratings.users[u], ratings.items[i])
        for u, i in zip(ratings.user_codes, ratings.item_codes, strict=True)
    ]
    in_test = np.array([name in test for name in names])
    parts = np.flatnonzero(~in_test), np.empty(0, dtype=np.int64), np.flatnonzero(in_test)
    return Split(*(ratings.select(rows) for rows in parts))


def test_by_hand(split: Split) -> None:
    error = explanation_error(Explaining().fit(split.train), split)
    # The most relevant beside overall is b: 20 is a 5 and 10 a 3; the user w has no training row.
    assert error.per_row_skipped.tolist() == [0, 1]
    assert error.skipped == error.as_zero == 0.5
    assert (error.rows, error.rated) == (2, 2)


def test_a_missing_rating_is_skipped_or_counts_as_0(split: Split) -> None:
    error = explanation_error(NamesA().fit(split.train), split)
    np.testing.assert_array_equal(error.per_row_skipped, [1, NAN])
    assert error.per_row_as_zero.tolist() == [1, 2]
    assert (error.skipped, error.as_zero) == (1, 1.5)
    assert (error.rows, error.rated) == (2, 1)


def test_naming_no_aspect_is_no_way_out(split: Split) -> None:
    error = explanation_error(NamesNothing().fit(split.train), split)
    assert np.isnan(error.skipped)
    assert error.as_zero == (5 + 2) / 2
    assert error.rated == 0


def test_rows_without_the_primary_rating_are_not_asked(split: Split) -> None:
    values = split.test.values.copy()
    values[0, 0] = NAN
    test = split.test
    fewer = Ratings.from_codes(
        test.users,
        test.items,
        test.user_codes,
        test.item_codes,
        values,
        aspects=test.aspects,
        scale=test.scale,
    )
    error = explanation_error(
        Explaining().fit(split.train), Split(split.train, split.validation, fewer)
    )
    assert error.rows == 1
    nothing = Split(split.train, split.validation, test.select(np.array([2])))
    with pytest.raises(DataError, match="test has no rating on 'overall'"):
        explanation_error(None, nothing)


def test_a_random_aspect_is_any_but_the_primary() -> None:
    made = make_ratings(100, 30, 2_000, aspects=ASPECTS, seed=1)
    split = made.ratings.split()
    random = explanation_error(None, split, seed=3)
    test = split.test.select(np.flatnonzero(~split.cold_rows(split.test)))
    each = np.abs(test.values[:, :1] - test.values[:, 1:])
    found = random.per_row_skipped
    is_a, is_b = found == each[:, 0], found == each[:, 1]
    assert (is_a | is_b).all()
    assert 0.3 < (is_a & ~is_b).sum() / (is_a != is_b).sum() < 0.7
    again, other = (explanation_error(None, split, seed=seed) for seed in (3, 4))
    np.testing.assert_array_equal(again.per_row_skipped, found)
    assert (other.per_row_skipped != found).any()


@pytest.mark.parametrize("kind", [DMR, EFM, MTER])
def test_models_of_the_paper_explain(kind) -> None:
    split = make_ratings(100, 30, 1_500, aspects=ASPECTS, missing=0.2, seed=1).ratings.split()
    model = kind(iterations=20, threads=1).fit(split.train)
    assert explains(model)
    error = explanation_error(model, split)
    assert 0 < error.skipped < 4
    assert 0 < error.rated <= error.rows


def test_what_cannot_explain_is_refused(split: Split) -> None:
    popular = Popularity().fit(split.train)
    assert not explains(popular)
    with pytest.raises(ConfigError, match="Popularity does not explain"):
        explanation_error(popular, split)
    with pytest.raises(DataError, match="has seen test ratings"):
        explanation_error(Explaining().fit(split.test), split)
    alone = make_ratings(30, 10, 100, aspects=["overall"]).ratings.split()
    with pytest.raises(ConfigError, match="no aspect beside 'overall'"):
        explanation_error(None, alone)
