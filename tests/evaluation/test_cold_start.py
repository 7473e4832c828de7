"""Users and items without a training row: folded in from some ratings, judged on the others."""

import numpy as np
import pytest

import dmrank
from dmrank import (
    IALS,
    ColdStart,
    MixedEffects,
    Popularity,
    Ratings,
    UnsupportedError,
    make_ratings,
)
from tests.evaluation.problems import Given


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(150, 40, 3_000, seed=4).ratings


@pytest.mark.parametrize("of", ["users", "items"])
def test_models_are_given_what_is_known_of_the_new_ones(ratings: Ratings, of) -> None:
    cold = ratings.cold_start(of, share=0.3, given=5)
    model = IALS(factors=4, threads=1).fit(cold.train)
    by_hand = model.fold_in(cold.given, of=of)
    found, wanted = (
        dmrank.evaluate(*asked, metrics=["ndcg@10"])
        for asked in ((model, cold), (by_hand, cold.folded))
    )
    assert found.table().equals(wanted.table())
    rows = np.diff(cold.train.user_pointer)[cold.train.users.codes(found.users)]
    assert (rows == 0).all() if of == "users" else (rows > 0).all()
    apart = IALS(factors=4, threads=1).fit(cold.train.compact())
    again = dmrank.evaluate({"here": model, "apart": apart}, cold, metrics=["ndcg@10"])
    assert again.mean("apart", "ndcg@10") == pytest.approx(again.mean("here", "ndcg@10"), rel=0.2)


def test_more_given_ratings_are_of_use(ratings: Ratings) -> None:
    def quality(given: int) -> float:
        cold = ratings.cold_start(share=0.3, given=15)
        rows = np.arange(len(cold.given))
        place = rows - cold.given.user_pointer[cold.given.user_codes]
        less = ColdStart(
            cold.of,
            cold.train,
            cold.validation,
            cold.given.select(rows[place < given]),
            cold.test,
        )
        model = MixedEffects(threads=1).fit(cold.train)
        return dmrank.evaluate(model, less, metrics=["ndcg@10"]).mean("MixedEffects", "ndcg@10")

    assert quality(15) > quality(1)


def test_what_cannot_fold_in_is_refused_and_results_of_others_are_taken(ratings: Ratings) -> None:
    cold = ratings.cold_start()
    with pytest.raises(UnsupportedError, match="Given cannot fold in users"):
        dmrank.evaluate(Given().fit(cold.train), cold)
    models = {
        "popular": Popularity().fit(cold.train),
        "theirs": lambda users, items: np.unique(items, return_inverse=True)[1],
    }
    report = dmrank.evaluate(models, cold, metrics=["ap"])
    assert report.mean("popular", "ap") > report.mean("theirs", "ap") > 0
