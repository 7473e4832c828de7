"""`evaluate`: the protocol of docs/experiments.md, and what it refuses."""

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    ConfigError,
    DataError,
    ItemMean,
    Model,
    NotFittedError,
    Popularity,
    Ratings,
    Split,
    make_ratings,
)
from dmrank.metrics import Metric, RankedItems, parse_metric
from dmrank.models import Vectors
from dmrank.models.config import Config
from dmrank.training.held_out import HeldOut
from tests.evaluation.problems import given_scores


class Constant(Model):
    """Scores every item the same."""

    Config = Config

    def learn(self, fitting) -> None:
        self.arrays = {}

    def scoring_vectors(self, weights) -> Vectors:
        users = np.ones((len(self.catalogue.users), 1), dtype=np.float32)
        return Vectors(users, np.ones((len(self.catalogue.items), 1), dtype=np.float32))


class BlockPopularity(Popularity):
    """The same scores, block by block."""

    def scoring_vectors(self, weights) -> None:
        return None

    def score_block(self, users, weights):
        return np.tile(weights.sum() * self.arrays["counts"], (len(users), 1))


@pytest.fixture(scope="module")
def split() -> Split:
    ratings = make_ratings(150, 60, 3_000, seed=1).ratings
    values = ratings.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.3] = np.nan
    values[:, 0] = ratings.values[:, 0]
    table = ratings.to_polars()
    return Ratings.from_arrays(
        table["user"], table["item"], values, aspects=ratings.aspects, scale=(1, 5)
    ).split(seed=2)


@pytest.fixture(scope="module")
def fitted(split: Split) -> dict[str, Model]:
    return {"popular": Popularity().fit(split.train), "means": ItemMean().fit(split.train)}


def plain_ndcg(split: Split, scores: np.ndarray, user: int, aspect: int, k: int) -> float:
    """Compute NDCG@k of one user from a full matrix of scores, with no shared code."""
    train, test = split.train, split.test
    seen = set(train.item_codes[train.user_codes == user])
    seen |= set(split.validation.item_codes[split.validation.user_codes == user])
    warm = set(train.item_codes)
    gains = {
        int(item): float(value)
        for item, value in zip(
            test.item_codes[test.user_codes == user],
            test.values[test.user_codes == user, aspect],
            strict=True,
        )
        if item in warm
    }
    candidates = [i for i in warm if i not in seen and not np.isnan(gains.get(int(i), 0.0))]
    order = sorted(candidates, key=lambda i: (-scores[user, i], gains.get(int(i), 0.0)))
    known = [gain for gain in gains.values() if not np.isnan(gain)]
    if not known or not len(train.item_codes[train.user_codes == user]):
        return np.nan
    discounts = 1 / np.log2(np.arange(2, k + 2))
    dcg = sum(gains.get(int(i), 0.0) * d for i, d in zip(order, discounts, strict=False))
    return dcg / sum(g * d for g, d in zip(sorted(known, reverse=True), discounts, strict=False))


@pytest.mark.parametrize("aspect", ["overall", "service"])
def test_ndcg_is_that_of_a_plain_loop(split: Split, fitted, aspect: str) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["ndcg@10"])
    model = fitted["means"]
    names = list(split.train.items)
    k = split.train.aspect(aspect)
    codes = split.train.users.codes(report.users)
    scores = np.zeros((len(split.train.users), len(names)), dtype=np.float32)
    for user in codes[:40]:
        scores[user] = model.predict(split.train.users[int(user)], names, raw=True)[:, k]
    wanted = [plain_ndcg(split, scores, int(user), k, 10) for user in codes[:40]]
    found = report.per_user("means", "ndcg@10", aspect)[:40]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_blocks_and_vectors_are_judged_alike(split: Split, fitted) -> None:
    models = {"vectors": fitted["popular"], "blocks": BlockPopularity().fit(split.train)}
    for protocol in ("full", "sampled(10)"):
        report = dmrank.evaluate(models, split, protocol=protocol)
        for key, values in report.values.items():
            if key[0] == "vectors":
                np.testing.assert_array_equal(values, report.values["blocks", *key[1:]])


@pytest.mark.parametrize("protocol", ["full", "sampled(20)"])
def test_a_constant_score_gets_the_worst_value(split: Split, protocol: str) -> None:
    model = Constant().fit(split.train)
    report = dmrank.evaluate(model, split, protocol=protocol, metrics=["rr", "hit@5"])
    reciprocal = report.per_user("Constant", "rr")
    held_out = HeldOut.from_ratings(split.train, split.test, split.validation)
    sizes = np.diff(held_out.items.pointer)
    for n in range(len(held_out.users)):
        excluded = np.diff(held_out.excluded.of(n, n + 1).pointer)[0]
        candidates = held_out.candidates.sum() - excluded
        if protocol != "full":
            candidates = min(20, candidates - sizes[n]) + sizes[n]
        assert reciprocal[n] == pytest.approx(1 / (candidates - sizes[n] + 1))


@pytest.mark.parametrize("protocol", ["full", "sampled(20)"])
def test_a_model_with_one_score_for_all_items_of_a_user_is_named(
    split: Split, fitted, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    models = {**fitted, "none": Constant().fit(split.train)}
    report = dmrank.evaluate(models, split, protocol=protocol, metrics=["rr"])
    rated = report.by_aspect().filter(pl.col("model") == "none")
    assert rated["users"].to_list() == [report.equal_scores["none", a] for a in report.aspects]
    assert not any(n for (name, _), n in report.equal_scores.items() if name != "none")
    said = capsys.readouterr().err
    users = len(report.users)
    assert f"none gives {users} of {users} users the same score for every item" in said
    assert "means gives" not in said


def test_one_user_with_one_score_is_counted_and_one_whose_item_is_last_is_not(split: Split) -> None:
    train = split.train
    scores = np.zeros((len(train.users), len(train.items), len(train.aspects)))
    held_out = HeldOut.from_ratings(train, split.test, split.validation)
    for n, user in enumerate(held_out.users[1:], start=1):
        scores[user] = 1  # the test items of all others come last
        own = held_out.items.of(n, n + 1).items
        scores[user, own] = -np.arange(len(own))[:, None]
    report = dmrank.evaluate(given_scores(split, scores), split, metrics=["rr"])
    assert report.equal_scores["Given", "overall"] == 1


class FirstOf(Metric):
    """Whether one of the first places is a test item's."""

    def __init__(self, places: int) -> None:
        self.places = places

    def __str__(self) -> str:
        return f"first-of-{self.places}"

    def per_user(self, items: RankedItems) -> np.ndarray:
        return np.minimum(items.sum(items.ranks <= self.places), 1)


def test_a_metric_of_ones_own_stands_beside_the_named_ones(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=[FirstOf(5), "hit@5", parse_metric("ap")])
    assert report.metrics == ("first-of-5", "hit@5", "ap")
    table = report.table()
    assert table["first-of-5"].equals(table["hit@5"], check_names=False)
    assert report.significance("first-of-5")[0].best == "popular"


def test_what_is_no_metric_is_refused(split: Split, fitted) -> None:
    with pytest.raises(ConfigError, match="is no metric: give a name such as 'ndcg@10'"):
        dmrank.evaluate(fitted, split, metrics=[np.mean])
    with pytest.raises(ConfigError, match="metric 'ap' is named twice"):
        dmrank.evaluate(fitted, split, metrics=["ap", "map"])

    class Mean(Metric):
        def per_user(self, items: RankedItems) -> float:
            return items.ranks.mean()

    with pytest.raises(DataError, match=r"Mean gave values of shape \(\) for 1\d\d users"):
        dmrank.evaluate(fitted, split, metrics=[Mean()])


def test_the_average_over_aspects_is_the_mean_of_their_means(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["ndcg@10"])
    means = [report.mean("means", "ndcg@10", aspect) for aspect in report.aspects]
    assert report.mean("means", "ndcg@10", "average") == pytest.approx(np.mean(means))
    table = report.table()
    assert table["ndcg@10 average"][1] == pytest.approx(np.mean(means))
    assert table["ndcg@10"][1] == pytest.approx(means[0])
    of_users = report.per_user("means", "ndcg@10", "average")
    each = np.array([report.per_user("means", "ndcg@10", aspect) for aspect in report.aspects])
    np.testing.assert_allclose(of_users[3], np.nanmean(each[:, 3]))
    assert len(report.by_aspect()) == 2 * len(report.aspects)


def test_users_without_a_rating_on_an_aspect_are_left_out_of_it(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["recall@10"])
    held_out = HeldOut.from_ratings(split.train, split.test, split.validation)
    known = ~np.isnan(held_out.values[:, held_out.aspects.index("service")])
    has_any = np.add.reduceat(known, held_out.items.pointer[:-1]) > 0
    values = report.per_user("popular", "recall@10", "service")
    np.testing.assert_array_equal(~np.isnan(values), has_any)


def test_some_aspects_are_enough_and_the_primary_is_among_them(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, aspects=["value"], metrics=["ap"])
    assert report.aspects == ("overall", "value")


def test_a_depth_beyond_the_candidates_means_all(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["recall@100000"], aspects=["overall"])
    assert report.mean("popular", "recall@100000") == 1


def test_the_best_model_is_compared_with_the_others(split: Split, fitted) -> None:
    report = dmrank.evaluate({**fitted, "none": Constant().fit(split.train)}, split)
    comparisons = report.significance("ndcg@10")
    assert comparisons[0].best == "popular"
    assert {one.other for one in comparisons} == {"means", "none"}
    assert all(one.is_significant == (one.p < 0.05) for one in comparisons)
    assert "popular" in repr(report)


def test_what_cannot_be_judged_is_refused(split: Split, fitted) -> None:
    with pytest.raises(ConfigError, match="no model"):
        dmrank.evaluate({}, split)
    with pytest.raises(NotFittedError, match="call fit"):
        dmrank.evaluate(Popularity(), split)
    with pytest.raises(ConfigError, match="did you mean 'service'"):
        dmrank.evaluate(fitted, split, aspects=["servise"])
    with pytest.raises(ConfigError, match="no metric"):
        dmrank.evaluate(fitted, split, metrics=["ndgc@10"])
    with pytest.raises(ConfigError, match="no metric"):
        dmrank.evaluate(fitted, split, metrics=[])
    with pytest.raises(ConfigError, match="aspect 'service' is named twice"):
        dmrank.evaluate(fitted, split, aspects=["service", "service"])
    with pytest.raises(ConfigError, match="metric 'ap' is named twice"):
        dmrank.evaluate(fitted, split, metrics=["ap", "ndcg@10", "ap"])
    other = make_ratings(90, 30, 900, seed=5).ratings
    with pytest.raises(DataError, match="other users or items"):
        dmrank.evaluate(Popularity().fit(other), split)
    with pytest.raises(DataError, match="has seen test ratings"):
        dmrank.evaluate(Popularity().fit(split.test), split)
    empty = split.test.select(np.empty(0, dtype=np.int64))
    with pytest.raises(DataError, match="test has no rating"):
        dmrank.evaluate(fitted, Split(split.train, split.validation, empty))


def with_values(ratings: Ratings, values: np.ndarray, aspects: tuple[str, ...]) -> Ratings:
    return Ratings.from_codes(
        ratings.users,
        ratings.items,
        ratings.user_codes,
        ratings.item_codes,
        values,
        aspects=aspects,
        scale=(1, 5),
    )


def test_a_model_of_other_aspects_is_refused(split: Split, fitted) -> None:
    train = split.train
    fewer = with_values(train, train.values[:, :2], train.aspects[:2])
    with pytest.raises(DataError, match="ItemMean was fitted on the aspects overall, "):
        dmrank.evaluate(ItemMean().fit(fewer), split)
    with pytest.raises(DataError, match="alike was fitted on the aspects"):
        dmrank.evaluate({**fitted, "alike": ItemMean().fit(fewer)}, split)


def test_without_a_relevant_test_item_there_is_nothing_to_judge(split: Split, fitted) -> None:
    values = split.test.values.copy()
    values[:, [0, 2]] = np.nan
    test = with_values(split.test, values, split.test.aspects)
    with pytest.raises(DataError, match="test has no rating on 'overall'"):
        dmrank.evaluate(fitted, Split(split.train, split.validation, test))
    values[:, 0] = split.test.values[:, 0]
    test = with_values(split.test, values, split.test.aspects)
    missing = split.test.aspects[2]
    with pytest.raises(DataError, match=f"test has no rating on '{missing}'"):
        dmrank.evaluate(fitted, Split(split.train, split.validation, test), aspects=[missing])
    report = dmrank.evaluate(fitted, Split(split.train, split.validation, test), metrics=["ap"])
    assert report.aspects == tuple(name for name in test.aspects if name != missing)
    assert report.table()["ap average"].is_finite().all()


def test_a_model_that_knows_its_training_ids_alone_is_judged_alike(split: Split) -> None:
    model = Popularity().fit(split.train.compact())
    alone = dmrank.evaluate(model, split, metrics=["ndcg@10"])
    together = dmrank.evaluate(Popularity().fit(split.train), split, metrics=["ndcg@10"])
    assert alone.left_out == together.left_out
    assert alone.table().equals(together.table())


def test_a_report_knows_what_it_was_not_asked(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["ap"])
    with pytest.raises(ConfigError, match="did you mean 'means'"):
        report.per_user("mean", "ap")
    with pytest.raises(ConfigError, match="'ndcg@10' was not evaluated"):
        report.mean("means", "ndcg@10")
    with pytest.raises(ConfigError, match="did you mean 'service'"):
        report.mean("means", "ap", "servise")
