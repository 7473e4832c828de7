"""Model cards: what is known of a model, and what is not."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from huggingface_hub import ModelCard

import dmrank
from dmrank import IALS, MBPR, ConfigError, ItemMean, NotFittedError, Ratings, Split
from dmrank.data.fingerprint import fingerprint
from tests.damage import forged

OLD = Path(__file__).parents[1] / "fitted" / "format_1" / "hurdle.file"
NAUGHTY = "a|b\n<b>`*_[x](y)\x1b[2J"


@pytest.fixture(scope="module")
def split() -> Split:
    return dmrank.make_ratings(150, 40, 3_000, missing=0.2, seed=1).ratings.split(seed=0)


@pytest.fixture(scope="module")
def model(split: Split) -> IALS:
    return IALS(factors=4, seed=1).fit(split.train, validation=split.validation)


def test_it_says_what_the_model_was_trained_on(model: IALS, split: Split) -> None:
    training = model.card().facts["training"]
    train = split.train
    assert training["ratings"] == len(train)
    assert training["users"] == (np.diff(train.user_pointer) > 0).sum()
    assert training["items"] == len(set(train.item_codes))
    assert training["fingerprint"] == fingerprint(train)
    by_name = {one["aspect"]: one for one in training["aspects"]}
    assert by_name["value"]["missing"] == np.isnan(train.values).mean(axis=0)[3]
    assert (by_name["value"]["low"], by_name["value"]["high"]) == (1, 5)


@pytest.mark.parametrize(
    ("times", "first", "last"),
    [
        ([1_300_000_000, 1_350_000_000], "2011-03-13", "2012-10-12"),
        ([2009, 2012], "2009", "2012"),
        (["2012-05-31T10:00:00.5", "2012-06-01T00:00:00"], "2012-05-31", "2012-06-01"),
    ],
)
def test_dates_are_those_of_the_ratings(times: list[object], first: str, last: str) -> None:
    table = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"], "r": [1, 5], "timestamp": times})
    training = ItemMean().fit(dmrank.read_ratings(table)).card().facts["training"]
    assert (training["first_rating"], training["last_rating"]) == (first, last)


def test_validation_figures_are_those_of_the_fit_and_of_groups_of_users(
    model: IALS, split: Split
) -> None:
    validation = model.card().facts["validation"]
    assert validation["value"] == max(model.history.validation)
    assert validation["metric"] == "ndcg@10"
    groups = [group for group in validation["groups"] if group["users"]]
    assert sum(group["users"] for group in groups) == validation["users"]
    total = sum(group["users"] * group["value"] for group in groups)
    assert total / validation["users"] == pytest.approx(validation["value"])
    assert len({group["value"] for group in groups}) == len(groups) > 1


def test_the_share_of_items_that_are_ever_listed(model: IALS, split: Split) -> None:
    coverage = model.card().facts["coverage"]
    users = split.train.users.take(np.flatnonzero(np.diff(split.train.user_pointer)))
    listed = model.recommend(users, n=10)["item"].n_unique()
    assert coverage["listed"] == listed
    assert coverage["share"] == listed / coverage["items"]


def test_a_model_from_a_file_has_the_same_card(model: IALS, tmp_path: Path) -> None:
    opened = dmrank.load(model.save(tmp_path / "m.dmrank"))
    assert opened.card().to_dict() == model.card().to_dict()


def test_the_same_fit_has_the_same_card_and_file(split: Split, tmp_path: Path) -> None:
    files = [
        MBPR(iterations=20, evaluate_every=10, seed=1, threads=2).fit(split.train, split.validation)
        .save(tmp_path / name).read_bytes()
        for name in "ab"
    ]  # fmt: skip
    assert files[0] == files[1]


def test_it_says_how_many_iterations_were_best(split: Split) -> None:
    model = MBPR(iterations=20, evaluate_every=10, seed=1).fit(split.train, split.validation)
    assert model.card().facts["training"]["iterations"] == model.history.best_iteration


def test_what_was_folded_in_is_told_apart(model: IALS) -> None:
    rated = [{"user": "new", "item": item, "overall": 5} for item in model.items[:3]]
    card = model.fold_in(rated).card()
    assert card.facts["folded_in"] == {"users": 1, "items": 0, "ratings": 3}
    assert card.facts["training"] == model.card().facts["training"]
    assert "3 ratings, 1 users and 0 items were folded in" in card.to_markdown()


def test_without_validation_it_says_that_quality_is_not_known(split: Split) -> None:
    card = ItemMean().fit(split.train).card()
    assert card.facts["validation"] is None
    assert any("no validation ratings" in sentence for sentence in card.facts["not_known"])
    assert "model-index" not in card.to_markdown()


def test_a_card_of_an_older_file_says_what_it_cannot_know() -> None:
    card = dmrank.load(OLD).card()
    assert card.facts["library"]["fitted_with"] == "0.1.0"
    assert card.facts["training"]["ratings"] == 62
    assert card.facts["training"]["fingerprint"] is None
    assert card.facts["folded_in"] is None
    (first, second, *_) = card.facts["not_known"]
    assert "did not note its fit" in first
    assert "folded in" in second
    assert first in card.to_markdown()


def test_shares_that_no_file_keeps_are_not_known(tmp_path: Path) -> None:
    def without_evidence(arrays: dict[str, np.ndarray], about: dict[str, object]) -> None:
        for name in [name for name in arrays if name.endswith(("_means", "_counts"))]:
            del arrays[name]

    card = dmrank.load(forged(OLD, tmp_path / "older", without_evidence)).card()
    assert {one["missing"] for one in card.facts["training"]["aspects"]} == {None}
    assert "which share of the ratings lacks each aspect" in card.facts["not_known"]


def test_hubs_read_its_head(model: IALS) -> None:
    read = ModelCard(model.card('Hotels: the "best" 🏨', license="apache-2.0").to_markdown())
    assert read.data.library_name == "dmrank"
    assert read.data.license == "apache-2.0"
    assert read.data.model_name == 'Hotels: the "best" 🏨'
    (result,) = read.data.eval_results
    assert (result.metric_type, result.task_type) == ("ndcg@10", "recommendation")
    assert result.metric_value == round(max(model.history.validation), 4)


def test_names_of_aspects_change_neither_page_nor_head(tmp_path: Path) -> None:
    ratings = Ratings.from_arrays(
        ["a", "b"], ["x", "y"], [[1, 2], [5, 4]], aspects=["overall", NAUGHTY]
    )
    card = ItemMean().fit(ratings).card(NAUGHTY, license=NAUGHTY, file=NAUGHTY)
    text = card.to_markdown()
    assert ModelCard(text).data.library_name == "dmrank"
    assert "\x1b" not in text
    assert "<b>" not in text.replace("\\<b\\>", "").split("## How to load it")[0].split("---\n")[2]
    (row,) = [line for line in text.splitlines() if line.startswith("| a\\|b")]
    assert row.replace("\\|", "").count("|") == 4


def test_json_has_no_nan_and_is_what_the_dict_says(model: IALS) -> None:
    card = model.card()
    assert json.loads(card.to_json()) == card.to_dict()


def test_it_is_written_as_its_ending_says(model: IALS, tmp_path: Path) -> None:
    card = model.card()
    assert card.write(tmp_path / "c.md").read_text("utf-8") == card.to_markdown()
    assert json.loads(card.write(tmp_path / "c.json").read_text("utf-8")) == card.to_dict()
    with pytest.raises(ConfigError, match=r"name a \.md or \.json file"):
        card.write(tmp_path / "c.txt")


def test_save_writes_it_beside_the_model_on_request(model: IALS, tmp_path: Path) -> None:
    model.save(tmp_path / "hotels.dmrank", card=True)
    assert 'dmrank.load("hotels.dmrank")' in (tmp_path / "hotels.md").read_text("utf-8")


def test_an_unfitted_model_has_none() -> None:
    with pytest.raises(NotFittedError):
        ItemMean().card()
