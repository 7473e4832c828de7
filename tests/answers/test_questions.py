"""What to ask a newcomer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dmrank import EASE, IALS, ConfigError, Hurdle, Model, Popularity, Ratings, make_ratings
from dmrank.answers.questions import farthest_first


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(300, 120, 6_000, seed=4).ratings


@pytest.fixture(scope="module", params=[IALS(factors=8), EASE(), Hurdle(), Popularity()], ids=str)
def model(request, ratings: Ratings) -> Model:
    return request.param.clone().fit(ratings)


def test_they_are_well_known_and_different(model: Model, ratings: Ratings) -> None:
    asked = model.questions(6)
    counts = np.bincount(ratings.item_codes, minlength=len(ratings.items))
    codes = ratings.items.codes(asked["item"])
    assert len(set(codes)) == 6
    assert asked["ratings"].to_list() == counts[codes].tolist()
    assert codes[0] == np.argmax(counts)
    assert counts[codes].min() >= np.sort(counts)[-60]
    assert asked["item_name"].null_count() == 0


def test_they_are_less_alike_than_the_best_known(ratings: Ratings) -> None:
    model = IALS(factors=8).fit(ratings)

    def alike(items: list[str]) -> float:
        pairs = [
            float(row["similarity"])
            for item in items
            for row in model.similar_items(item, n=200).iter_rows(named=True)
            if row["item"] in items
        ]
        return float(np.mean(pairs))

    counts = np.bincount(ratings.item_codes, minlength=len(ratings.items))
    most_rated = [ratings.items[int(code)] for code in np.argsort(-counts, kind="stable")[:6]]
    assert alike(model.questions(6)["item"].to_list()) < alike(most_rated)


def test_fewer_items_are_fewer_questions(model: Model) -> None:
    assert model.questions(500).height == 120
    for n in (0, -1, 2.5):
        with pytest.raises(ConfigError):
            model.questions(n)


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(-1, 1))
)
def test_no_row_is_chosen_twice(directions) -> None:
    chosen = farthest_first(directions, len(directions))
    assert sorted(chosen) == list(range(len(directions)))
