"""Coverage in `evaluate`: one value of all users together."""

import numpy as np
import pytest

import dmrank
from dmrank import ConfigError, ItemMean, Popularity, Split, make_ratings
from dmrank.training.held_out import HeldOut
from tests.evaluation.problems import given_scores

METRICS = ["coverage@3", "ndcg@10", "coverage@1"]


@pytest.fixture(scope="module")
def split() -> Split:
    # Few ratings, so that some items have no training row.
    return make_ratings(60, 80, 400, seed=1).ratings.split(seed=2)


@pytest.fixture(scope="module")
def fitted(split: Split) -> dict[str, dmrank.Model]:
    rng = np.random.default_rng(0)
    train = split.train
    shape = len(train.users), len(train.items), len(train.aspects)
    return {
        "popular": Popularity().fit(train),
        "means": ItemMean().fit(train),
        "random": given_scores(split, rng.random(shape)),
    }


def test_coverage_is_that_of_a_plain_loop(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=METRICS)
    held_out = HeldOut.from_ratings(split.train, split.test, split.validation)
    candidates = np.flatnonzero(held_out.candidates)
    assert 0 < len(candidates) < len(split.train.items)
    names = [str(split.train.items[int(code)]) for code in candidates]
    for model in fitted:
        listed: dict[int, set[int]] = {1: set(), 3: set()}
        for n, user in enumerate(held_out.users):
            scores = fitted[model].predict(split.train.users[int(user)], names, raw=True)[:, 0]
            seen = held_out.excluded.of(n, n + 1).items
            free = [i for i in np.argsort(-scores, kind="stable") if candidates[i] not in seen]
            for k, items in listed.items():
                items |= set(free[:k])
        for k, items in listed.items():
            assert report.mean(model, f"coverage@{k}") == len(items) / len(candidates)


def test_a_depth_beyond_the_candidates_means_all(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["coverage@100000"], aspects=["overall"])
    assert report.mean("popular", "coverage@100000") == 1


def test_a_constant_score_covers_least(split: Split, fitted) -> None:
    zeros = np.zeros_like(fitted["random"].arrays["scores"])
    models = {**fitted, "constant": given_scores(split, zeros)}
    table = dmrank.evaluate(models, split, metrics=["coverage@3"]).table()
    assert min(table["coverage@3"]) == table["coverage@3"][3]


def test_it_stands_in_the_tables_in_its_place(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=METRICS)
    assert report.table().columns == ["model", *METRICS, *(f"{name} average" for name in METRICS)]
    of_aspects = [report.mean("random", "coverage@3", aspect) for aspect in report.aspects]
    assert report.mean("random", "coverage@3", "average") == pytest.approx(np.mean(of_aspects))
    assert len(set(of_aspects)) > 1
    by_aspect = report.by_aspect().filter(metric="coverage@3")
    assert len(by_aspect) == len(fitted) * len(report.aspects)
    assert by_aspect["users"].unique().to_list() == [len(report.users)]


def test_no_user_has_a_value_of_it_and_so_it_has_no_test(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=METRICS)
    with pytest.raises(ConfigError, match="coverage@3 is one value of all users together"):
        report.per_user("means", "coverage@3")
    assert report.significance("coverage@3") == []
    default = report.significance()
    assert default == report.significance("ndcg@10")
    assert default
    with pytest.raises(ConfigError, match="was not evaluated"):
        report.significance("coverage@7")


def test_coverage_alone_needs_no_ranks(split: Split, fitted) -> None:
    report = dmrank.evaluate(fitted, split, metrics=["coverage@3"])
    assert report.significance() == []
    assert 0 < report.mean("means", "coverage@3") <= 1


def test_a_sample_of_candidates_has_no_coverage(split: Split, fitted) -> None:
    with pytest.raises(ConfigError, match=r"which sampled\(20\) ranks a sample"):
        dmrank.evaluate(fitted, split, protocol="sampled(20)", metrics=["coverage@10"])


def test_early_stopping_needs_a_value_per_user(split: Split) -> None:
    model = Popularity(validation_metric="coverage@10")
    with pytest.raises(ConfigError, match="one value of all users together"):
        model.fit(split.train, validation=split.validation)
