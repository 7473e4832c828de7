"""Newcomers by themselves are answered as they are among all users, bit for bit."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import DMR, EFM, Blend, Hurdle, MixedEffects, Model, Ratings, make_ratings
from dmrank.answers.fold_in.newcomers import without_users
from tests.answers.test_fold_in import FOLDING, QUICK

MODELS = {
    **FOLDING,
    "blend": (Blend, {"ials.factors": 4}),
    "hurdle": (Hurdle, {"ials.factors": 4, "mixedeffects.personal_strength": 0.7}),
    "mixed effects": (MixedEffects, {"personal_strength": 0.7}),
    "mixed effects, shared": (MixedEffects, {"personal_strength": 0, "noise": "shared"}),
}
GIVEN = [
    {"user": "new", "item": "h000009", "overall": 5, "value": 2},
    {"user": "new", "item": "h000001", "overall": 1, "service": 4},
    {"user": "new", "item": "h000004", "service": 3},
]


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    aspects = ["overall", "service", "value"]
    return make_ratings(120, 40, 3_000, aspects=aspects, missing=0.1, seed=1).ratings


def assert_same_answers(alone: Model, among: Model) -> None:
    """Ask everything that can be asked about somebody."""
    items = list(among.items)
    np.testing.assert_array_equal(alone.predict("new", items), among.predict("new", items))
    for by in (None, {"service": 1, "value": 2}, "all"):
        if by == "all" and among.covariances(np.array([0]), np.array([0])) is None:
            continue
        lists = (each.recommend("new", n=40, by=by, aspects=True) for each in (alone, among))
        assert pl.DataFrame.equals(*lists)
    compared = [each.compare("new", "h000002", "h000003") for each in (alone, among)]
    assert compared[0].table.equals(compared[1].table)
    assert compared[0].confidence == compared[1].confidence
    if among.aspect_relevance(np.array([0]), np.array([0]), 0) is not None:
        why = [each.explain("new", "h000002") for each in (alone, among)]
        assert why[0].table.equals(why[1].table)
        assert why[0].sentence == why[1].sentence


@pytest.mark.parametrize("name", MODELS)
def test_a_newcomer_is_the_same_without_the_others(name: str, ratings: Ratings) -> None:
    kind, quick = MODELS[name]
    model = kind(**quick).fit(ratings)
    nobody = without_users(model)
    assert nobody is not None
    assert len(nobody.users) == 0
    for _ in range(2):  # the model without users stays as it is
        assert_same_answers(nobody.fold_in(GIVEN), model.fold_in(GIVEN))


def test_several_newcomers_at_once(ratings: Ratings) -> None:
    model = Hurdle(**MODELS["hurdle"][1]).fit(ratings)
    given = [*GIVEN, {"user": "another", "item": "h000011", "overall": 2}]
    nobody = without_users(model)
    assert nobody is not None
    assert_same_answers(nobody.fold_in(given), model.fold_in(given))


def test_items_that_were_folded_in_before(ratings: Ratings) -> None:
    model = Hurdle(**MODELS["hurdle"][1]).fit(ratings)
    more = model.fold_in([{"user": "u000003", "item": "x", "overall": 5}], of="items")
    nobody = without_users(more)
    assert nobody is not None
    given = [*GIVEN, {"user": "new", "item": "x", "overall": 4}]
    for each in (GIVEN, given):
        assert_same_answers(nobody.fold_in(each), more.fold_in(each))


def test_a_file_from_before_users_had_a_personal_part(ratings: Ratings, tmp_path: Path) -> None:
    model = MixedEffects(personal_strength=0.7, noise="shared").fit(ratings)
    spans = model.arrays.pop("personal_spans")
    del model.arrays["personal_strength"]
    model.arrays["personal_pointer"] = np.append(spans[:, 0], spans[-1, 1])
    old = dmrank.load(model.save(tmp_path / "old.dmrank"))
    nobody = without_users(old)
    assert nobody is not None
    assert_same_answers(nobody.fold_in(GIVEN), old.fold_in(GIVEN))
    again = dmrank.load(old.fold_in(GIVEN).save(tmp_path / "grown.dmrank"))
    assert again.recommend("new").equals(old.fold_in(GIVEN).recommend("new"))


def test_a_model_that_folds_nobody_in(ratings: Ratings) -> None:
    assert without_users(EFM(latent_factors=4, iterations=2).fit(ratings)) is None


def test_numbers_as_ids(ratings: Ratings) -> None:
    table = ratings.to_pandas()
    table["user"] = table["user"].str[1:].astype(int)
    model = DMR(**QUICK).fit(dmrank.read_ratings(table))
    nobody = without_users(model)
    assert nobody is not None
    given = [{**each, "user": 7_000} for each in GIVEN]
    alone, among = nobody.fold_in(given), model.fold_in(given)
    assert alone.recommend(7_000).equals(among.recommend(7_000))
