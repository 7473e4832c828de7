"""Explaining why an item is recommended."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    DMR,
    EASE,
    EFM,
    MTER,
    ConfigError,
    DataError,
    ItemMean,
    Model,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    UnsupportedError,
    make_ratings,
)
from dmrank.answers.explain import fill_template
from dmrank.support.containers import read_container, write_container

ASPECTS = ["overall", "service", "value", "sleep_quality"]
QUICK = {"iterations": 200, "evaluate_every": 100, "batch_size": 256, "factors": 4, "threads": 1}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(120, 40, 3_000, aspects=ASPECTS, missing=0.2, seed=1).ratings


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> DMR:
    return DMR(**QUICK).fit(ratings)


def test_the_most_correlated_aspects_come_first(model: DMR) -> None:
    why = model.explain("u000003", "h000001", by="value")
    correlation = model.correlation("u000003", "h000001")[ASPECTS.index("value")]
    expected = sorted((name for name in ASPECTS if name != "value"),
                      key=lambda name: -correlation[ASPECTS.index(name)])  # fmt: skip
    assert why.table["aspect"].to_list() == expected
    first, second = (name.replace("_", " ") for name in expected[:2])
    hotel = model.catalogue.item_name(1)
    assert why.sentence == (
        f"We recommend {hotel} to you, because you may like its aspects of {first} and {second}."
    )
    assert why.by == "value"


def test_the_evidence_is_what_was_rated_in_training(model: DMR, ratings: Ratings) -> None:
    table = model.explain("u000003", "h000001").table
    for row in table.iter_rows(named=True):
        k = ASPECTS.index(row["aspect"])
        of_item, of_user = ratings.of_item("h000001").values, ratings.of_user("u000003").values
        assert row["item_mean"] == pytest.approx(np.nanmean(of_item[:, k]))
        assert row["item_ratings"] == (~np.isnan(of_item[:, k])).sum()
        assert row["user_mean"] == pytest.approx(np.nanmean(of_user[:, k]))
        assert row["user_ratings"] == (~np.isnan(of_user[:, k])).sum()


def test_a_mix_is_explained_by_the_others(model: DMR) -> None:
    why = model.explain("u000003", "h000001", by={"value": 2, "service": 1})
    correlation = model.correlation("u000003", "h000001")
    assert set(why.table["aspect"]) == {"overall", "sleep_quality"}
    assert why.by == "1 service + 2 value"
    row = why.table.row(by_predicate=pl.col("aspect") == "overall", named=True)
    assert row["relevance"] == pytest.approx((correlation[1, 0] + 2 * correlation[2, 0]) / 3)


@pytest.mark.parametrize("kind", [MTER, EFM], ids=lambda kind: kind.__name__)
def test_other_models_explain_in_their_own_way(kind: type[Model], ratings: Ratings) -> None:
    quick = {"iterations": 20, "evaluate_every": 20}
    model = kind(**quick).fit(ratings)
    why = model.explain("u000003", "h000001")
    relevance = why.table["relevance"].drop_nulls().to_list()
    assert relevance == sorted(relevance, reverse=True)
    assert "We recommend" in why.sentence


@pytest.mark.parametrize("other", [ItemMean(), EASE(regularization=1.0)], ids=repr)
def test_a_model_that_cannot_tell_says_so(other: Model, ratings: Ratings) -> None:
    with pytest.raises(UnsupportedError, match=f"{type(other).__name__} cannot say which aspects"):
        other.fit(ratings).explain("u000003", "h000001")


def test_one_aspect_has_no_other_to_explain_it() -> None:
    ratings = make_ratings(30, 10, 200, aspects=["overall"], seed=1).ratings
    with pytest.raises(DataError, match="one aspect"):
        DMR(**QUICK).fit(ratings).explain("u000003", "h000001")


def test_a_sentence_in_another_language_is_a_template(model: DMR) -> None:
    why = model.explain(
        "u000003", "h000001", by="overall",
        template="Für {user}: {item} ({by}), {first} vor {second}",
        names=dict.fromkeys(ASPECTS, "Zimmer"),
    )  # fmt: skip
    hotel = model.catalogue.item_name(1)
    assert why.sentence == f"Für u000003: {hotel} (overall), Zimmer vor Zimmer"


def test_a_template_joins_aspects_by_its_own_word(model: DMR) -> None:
    first, second = model.explain("u000003", "h000001").table["aspect"][:2]
    for template, expected in {
        "{aspects}": f"{first} and {second}",
        "{aspects: und }": f"{first} und {second}",
        "{aspects:、}": f"{first}、{second}",
    }.items():
        assert model.explain("u000003", "h000001", template=template).sentence == expected


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{itme}", r"names \{itme\}, which is not known; did you mean 'item'"),
        ("{}", r"names \{\}"),
        ("{item.name}", r"names \{item.name\}"),
        ("{item", "cannot be filled in"),
        ("{item:d}", "cannot be filled in"),
    ],
)
def test_a_bad_template_is_named(model: DMR, template: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        model.explain("u000003", "h000001", template=template)


def test_a_template_cannot_ask_for_a_second_aspect_where_there_is_one() -> None:
    with pytest.raises(ConfigError, match="only one other aspect"):
        fill_template("{second}", "en", user="u", item="i", by="b", aspects=["rooms"])


def test_other_languages_need_a_template(model: DMR) -> None:
    with pytest.raises(ConfigError, match="no sentence in language 'de': give one with template"):
        model.explain("u000003", "h000001", language="de")


def test_what_is_not_known_is_a_typed_error(model: DMR) -> None:
    with pytest.raises(UnknownUserError):
        model.explain("nobody", "h000001")
    with pytest.raises(UnknownItemError):
        model.explain("u000003", "nowhere")
    with pytest.raises(UnknownAspectError, match="did you mean 'service'"):
        model.explain("u000003", "h000001", by="servise")


def test_an_explanation_can_be_read(model: DMR) -> None:
    shown = repr(model.explain("u000003", "h000001")).splitlines()
    assert shown[0].startswith("We recommend")
    assert len(shown) == 3 + len(ASPECTS) - 1


def test_a_saved_model_keeps_its_evidence(model: DMR, tmp_path: Path) -> None:
    again = dmrank.load(model.save(tmp_path / "m.dmrank"))
    why, same = (one.explain("u000003", "h000001") for one in (model, again))
    assert why.table.equals(same.table)
    assert why.sentence == same.sentence


def test_a_file_of_an_older_version_explains_without_evidence(model: DMR, tmp_path: Path) -> None:
    new = read_container(model.save(tmp_path / "new.dmrank"))
    newer = ("catalogue.item_", "catalogue.user_", "calibration.order_factor")
    old = {
        name: array for name, array in new.arrays.items()
        if not name.startswith(newer) or name.startswith("catalogue.item_names")
    }  # fmt: skip
    path = write_container(tmp_path / "old.dmrank", old, new.metadata, content="model")
    why = dmrank.load(path).explain("u000003", "h000001")
    assert why.table["item_mean"].null_count() == len(why.table)
    assert why.sentence == model.explain("u000003", "h000001").sentence
    assert dmrank.load(path).compare("u000003", "h000001", "h000002").confidence is not None
