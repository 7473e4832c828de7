"""Models that are made of members: Blend, which weighs them, and Hurdle, which adds preference."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    DMR,
    EASE,
    IALS,
    Blend,
    ConfigError,
    Cooccurrence,
    Hurdle,
    MixedEffects,
    Model,
    Popularity,
    Ratings,
    Split,
    UnsupportedError,
)
from dmrank.evaluation import any_pairs, evaluate, rated_pairs
from dmrank.models.kinds.exposure import sized_members

USER = "u000003"


@pytest.fixture(scope="module")
def split() -> Split:
    return dmrank.make_ratings(400, 120, 12_000, seed=2).ratings.split(seed=1)


@pytest.fixture(scope="module")
def blend(split: Split) -> Blend:
    return Blend(seed=1).fit(split.train, validation=split.validation)


@pytest.fixture(scope="module")
def hurdle(split: Split) -> Hurdle:
    return Hurdle(seed=1).fit(split.train, validation=split.validation)


# Parameters.


def test_parameters_of_members_are_given_by_dots_or_as_a_whole() -> None:
    dotted = Blend(**{"ease.regularization": 100})
    whole = Blend(ease={"regularization": 100})
    assert dotted.config == whole.config
    assert dotted.config.members["ease"] == {"regularization": 100}
    assert dotted.clone().config == dotted.config


def test_members_are_named_or_handed_over() -> None:
    assert list(Blend(members=["EASE", "M-BPR"]).config.members) == ["ease", "mbpr"]
    handed = Blend(members=[EASE(regularization=5), Popularity()])
    assert handed.config.members == {"ease": {"regularization": 5}, "popularity": {}}


def test_the_preference_of_a_hurdle_has_parameters_too() -> None:
    model = Hurdle(**{"mixedeffects.iterations": 5})
    assert model.config.mixedeffects == {"iterations": 5}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"eas.regularization": 1}, "did you mean"),
        ({"ease.regularisation": 1}, "did you mean 'regularization'"),
        ({"ease": {"regularization": -1}}, "greater than 0"),
        ({"members": "EASE"}, "such as"),
        ({"members": ["EASE", "ease"]}, "twice"),
        ({"members": ["EASEL"]}, "did you mean 'ease'"),
        ({"preference": 2}, "less than or equal to 1"),
    ],
)
def test_wrong_parameters_are_named(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        Hurdle(**given)


def test_tuning_searches_the_parameters_of_members(split: Split) -> None:
    given = {"members": {"ease": {}, "cooccurrence": {}}, "mixedeffects.iterations": 5}
    space = {"ease.regularization": dmrank.Search((10.0, 1000.0), log=True)}
    tuned = dmrank.tune(Hurdle, split, trials=2, parameters=given, space=space)
    assert "ease.regularization" in tuned.trials.columns
    assert 10 <= tuned.make().config.members["ease"]["regularization"] <= 1000


# Exposure.


def test_a_blend_is_at_least_nearly_as_good_as_its_best_member(split: Split, blend: Blend) -> None:
    models: dict[str, Model] = {"blend": blend, **blend.members}
    report = evaluate(models, split, metrics=["ndcg@10"])
    values = {name: report.mean(name, "ndcg@10") for name in models}
    assert values.pop("blend") > 0.97 * max(values.values())


@pytest.mark.parametrize("loss", ["directional", "logistic", "softmax"])
def test_every_loss_weighs_what_knows_above_what_does_not(split: Split, loss: str) -> None:
    model = Blend(members=[IALS(), Noise()], loss=loss, seed=1)
    model.fit(split.train, validation=split.validation)
    weights = np.abs(model.arrays["blend.weights"]).reshape(-1, 2, 3).sum(axis=(0, 2))
    assert weights[0] > 2 * weights[1]


class Noise(Model):
    """Scores that know nothing: a member of one's own."""

    class Config(dmrank.Config):
        """No parameters of its own."""

    def learn(self, fitting: dmrank.Fitting) -> None:
        rng = np.random.default_rng(self.config.seed)
        size = len(fitting.ratings.users), len(fitting.ratings.items)
        self.arrays = {"scores": rng.normal(size=size).astype(np.float32)}

    def score_block(self, users, weights):
        return self.arrays["scores"][users] * weights.sum()


def test_filters_do_not_change_scores(blend: Blend) -> None:
    whole = blend.recommend(USER, n=200)
    some = whole["item"][::3].to_list()
    kept = blend.recommend(USER, n=200, allow=some)
    assert kept["score"].to_list() == whole.filter(pl.col("item").is_in(some))["score"].to_list()


def test_a_list_is_the_same_alone_and_among_others(hurdle: Hurdle, split: Split) -> None:
    users = list(split.train.users)[:40]
    together = hurdle.recommend(users, by="service")
    for user in users[::13]:
        alone = hurdle.recommend(user, by="service")
        assert alone.equals(together.filter(pl.col("user") == user))


def test_too_many_items_go_without_ease(capsys: pytest.CaptureFixture[str]) -> None:
    members = {"ease": {}, "ials": {}, "cooccurrence": {}}
    assert list(sized_members(members, 50_000)) == ["ials", "cooccurrence"]
    assert "too many for EASE" in capsys.readouterr().err
    assert sized_members(members, 10_000)["ease"] == {"weights_per_item": 1_600}
    assert sized_members(members, 1_000) == members


# Lists between exposure and preference.


def test_preference_goes_from_who_comes_to_how_it_is_liked(hurdle: Hurdle, split: Split) -> None:
    exposed = hurdle.recommend(USER, n=200, preference=0, by="service")["item"].to_list()
    assert exposed == hurdle.recommend(USER, n=200, preference=0, by="value")["item"].to_list()
    liked = hurdle.recommend(USER, n=200, preference=1, by="service")["item"].to_list()
    alone = hurdle.members["mixedeffects"].recommend(USER, n=200, by="service")
    assert liked == alone["item"].to_list()
    assert exposed != liked


def test_lists_are_linear_in_the_mix(hurdle: Hurdle) -> None:
    def scores(by: Any) -> dict[str, float]:
        found = hurdle.recommend(USER, n=200, by=by, preference=0.4)
        return dict(zip(found["item"], found["score"], strict=True))

    service, value, mixed = scores("service"), scores("value"), scores({"service": 3, "value": 1})
    for item, score in mixed.items():
        assert score == pytest.approx(0.75 * service[item] + 0.25 * value[item], abs=1e-5)


def test_given_candidates_are_ranked_by_preference(hurdle: Hurdle, split: Split) -> None:
    some = list(split.train.items)[::4]
    asked = {"candidates": some, "n": 99, "by": "value"}
    found = hurdle.recommend(USER, **asked)["item"].to_list()
    assert found == hurdle.recommend(USER, **asked, preference=1)["item"].to_list()
    assert found != hurdle.recommend(USER, **asked, preference=0)["item"].to_list()


def test_the_default_share_keeps_nearly_all_of_the_best_held_out_value(hurdle: Hurdle) -> None:
    shares, values = hurdle.arrays["curve.shares"], hurdle.arrays["curve.values"]
    at = int(np.flatnonzero(shares == hurdle.preference)[0])
    assert values[at] >= 0.99 * values.max()
    assert (values[at + 1 :] < 0.99 * values.max()).all()


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), "much", True])
def test_an_impossible_share_is_refused(hurdle: Hurdle, share: Any) -> None:
    with pytest.raises(ConfigError, match="from 0"):
        hurdle.recommend(USER, preference=share)


def test_a_model_with_one_score_has_no_share_of_preference(blend: Blend) -> None:
    with pytest.raises(UnsupportedError, match="fit a Hurdle"):
        blend.recommend(USER, preference=0.5)


def test_all_aspects_together_rank_the_best_of_the_list(hurdle: Hurdle) -> None:
    found = hurdle.recommend(USER, n=5, by="all")
    assert found["score"].is_between(0, 1).all()


# Everything that compares uses preference.


def test_orders_and_contrasts_are_those_of_preference(hurdle: Hurdle, split: Split) -> None:
    liked, pairs = hurdle.members["mixedeffects"], rated_pairs(split)
    assert pairs.accuracy(hurdle).pooled == pairs.accuracy(liked).pooled
    assert pairs.contrast(hurdle).pooled == pairs.contrast(liked).pooled


def test_pairs_with_an_unrated_item_use_the_list_score(hurdle: Hurdle, split: Split) -> None:
    pairs = any_pairs(split, pairs=2_000)
    by_list, liked = pairs.accuracy(hurdle).pooled, hurdle.members["mixedeffects"]
    assert by_list > pairs.accuracy(liked).pooled
    listed = hurdle.recommend(USER, n=99, by="service")
    user = np.full(len(listed), hurdle.catalogue.users.code(USER))
    items = hurdle.catalogue.items.codes(listed["item"])
    column = hurdle.catalogue.aspect("service")
    scores = hurdle.list_pairs(user, items)[:, column]
    np.testing.assert_allclose(np.diff(scores), np.diff(listed["score"]), atol=1e-5)


def test_answers_are_those_of_preference(hurdle: Hurdle) -> None:
    liked = hurdle.members["mixedeffects"]
    assert isinstance(liked, MixedEffects)
    first, second = "h000001", "h000002"
    assert hurdle.compare(USER, first, second).table.equals(
        liked.compare(USER, first, second).table
    )
    np.testing.assert_array_equal(hurdle.predict(USER, first), liked.predict(USER, first))
    np.testing.assert_array_equal(hurdle.correlation(USER, first), liked.correlation(USER, first))
    assert hurdle.explain(USER, first).sentence == liked.explain(USER, first).sentence
    partial = pl.DataFrame({"user": [USER], "item": [first], "overall": [2.0]})
    assert hurdle.complete(partial).equals(liked.complete(partial))


def test_who_has_vectors_is_said(hurdle: Hurdle) -> None:
    for ask in (hurdle.vectors, hurdle.index):
        with pytest.raises(UnsupportedError, match=r"model.members\['ials'\]"):
            ask()
    assert hurdle.members["ials"].vectors().items.shape[1] == 64


# Fitting.


def test_without_validation_ratings_are_held_out_and_members_fitted_again(split: Split) -> None:
    model = Hurdle(seed=1).fit(split.train)
    assert "curve.values" in model.arrays
    rows = len(split.train)
    assert len(model.members["ease"].catalogue.seen_items) == rows
    alone = EASE(seed=1).fit(split.train)
    np.testing.assert_array_equal(model.members["ease"].arrays["weights"], alone.arrays["weights"])


def test_a_killed_fit_goes_on_at_the_member_where_it_was(
    split: Split, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Hurdle(seed=1).fit(split.train)
    fits = []

    def killed(self: Model, fitting: dmrank.Fitting) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(Cooccurrence, "learn", killed)
        with pytest.raises(RuntimeError, match="killed"):
            Hurdle(seed=1).fit(split.train, checkpoint=tmp_path)
    learn = EASE.learn

    def counted(self: EASE, fitting: dmrank.Fitting) -> None:
        fits.append(len(fitting.ratings))
        learn(self, fitting)

    monkeypatch.setattr(EASE, "learn", counted)
    resumed = Hurdle(seed=1).fit(split.train, checkpoint=tmp_path)
    assert fits == [len(split.train)]  # not again on what was left when ratings were held out
    assert whole.arrays.keys() == resumed.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)
    with pytest.raises(ConfigError, match="checkpoint of another run"):
        Hurdle(seed=2).fit(split.train, checkpoint=tmp_path)


def test_very_few_ratings_are_enough() -> None:
    rng = np.random.default_rng(0)
    pairs = [(u, i) for u in range(6) for i in range(5) if (u + i) % 3]
    ratings = Ratings.from_arrays(
        [f"u{u}" for u, _ in pairs],
        [f"i{i}" for _, i in pairs],
        rng.integers(1, 6, (len(pairs), 2)),
        aspects=["overall", "service"],
        scale=(1, 5),
    )
    model = Hurdle().fit(ratings)
    assert model.recommend("u0", n=3, by="service").height > 0
    with pytest.raises(UnsupportedError, match="too few ratings"):
        model.plot_preference()


# Newcomers.


def test_a_user_is_folded_into_every_member(hurdle: Hurdle, split: Split) -> None:
    own = split.train.of_user(USER)
    rows = split.train.to_polars().filter(pl.col("user") == USER).with_columns(user=pl.lit("new"))
    grown = hurdle.fold_in(rows)
    known = hurdle.recommend(USER, n=20)["item"].to_list()
    new = grown.recommend("new", n=20)["item"].to_list()
    assert len(set(known) & set(new)) >= 14
    assert not set(new) & {split.train.items[code] for code in own.codes}
    assert len(grown.predict("new", "h000001")) == 1


def test_an_item_is_folded_into_preference_alone_and_that_is_said(
    hurdle: Hurdle, split: Split, capsys: pytest.CaptureFixture[str]
) -> None:
    raters = list(split.train.users)[:12]
    rows = pl.DataFrame(
        {"user": raters, "item": "grand", **dict.fromkeys(split.train.aspects, 5.0)}
    )
    grown = hurdle.fold_in(rows, of="items")
    assert "who comes to them is learned by the next fit" in capsys.readouterr().err
    stranger = list(split.train.users)[50]
    by_exposure = grown.recommend(stranger, n=200, preference=0)["item"].to_list()
    by_preference = grown.recommend(stranger, n=200, preference=1)["item"].to_list()
    assert by_exposure.index("grand") > 3 * by_preference.index("grand")
    again = grown.fold_in(rows.with_columns(user=pl.lit("new")).head(1))
    assert again.recommend("new", n=3).height == 3


def test_a_blend_of_a_model_that_cannot_fold_in_cannot(split: Split) -> None:
    model = Blend(members=["EASE", "Noise"]).fit(split.train)
    with pytest.raises(UnsupportedError, match="cannot fold in"):
        model.fold_in(pl.DataFrame({"user": ["new"], "item": ["h000001"], "overall": [5.0]}))


# Files.


def test_a_file_has_all_members_and_opens_as_one_model(hurdle: Hurdle, tmp_path: Path) -> None:
    again = dmrank.load(hurdle.save(tmp_path / "hotels.dmrank"))
    assert isinstance(again, Hurdle)
    assert again.preference == hurdle.preference
    for by in ("service", {"value": 2, "rooms": 1}, "all"):
        assert again.recommend(USER, by=by).equals(hurdle.recommend(USER, by=by))
    assert again.members["ease"].predict(USER, "h000001") == pytest.approx(
        hurdle.members["ease"].predict(USER, "h000001")
    )


def test_pictures_are_drawn(hurdle: Hurdle) -> None:
    assert hurdle.plot_preference().axes
    assert hurdle.plot_directions().axes


def test_a_model_of_the_paper_can_be_a_member(split: Split) -> None:
    model = Blend(members=["EASE", DMR(iterations=200, evaluate_every=100)], seed=1)
    model.fit(split.train, validation=split.validation)
    assert model.recommend(USER, n=3).height == 3
