"""Models that were fitted apart stand in one evaluation: ids are matched model by model."""

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    DMR,
    EFM,
    DataError,
    ItemMean,
    Model,
    Popularity,
    Ratings,
    Split,
    make_ratings,
)
from dmrank.answers.compare import order_confidences, order_probabilities
from dmrank.data.ids import Ids
from dmrank.data.reading.read import join_parts
from dmrank.evaluation import (
    explanation_error,
    lift,
    order_probability,
    pair_confidence,
    rated_pairs,
)
from tests.evaluation.problems import Given


@pytest.fixture(scope="module")
def split() -> Split:
    """A split of which train lacks some users and items, that test has."""
    return make_ratings(80, 30, 700, seed=3).ratings.split(train=0.4, validation=0.2, test=0.4)


@pytest.fixture(scope="module")
def more_ids(split: Split):
    """The training ratings with further ids, before and after the others."""
    train = split.train
    users = Ids(pl.concat([train.users.series, pl.Series(["a", "z"])]), kind="user")
    items = Ids(pl.concat([train.items.series, pl.Series(["a", "z"])]), kind="item")
    return train.with_ids(users, items, None)


@pytest.fixture(params=["fewer", "more"])
def apart(request, split: Split, more_ids):
    return split.train.compact() if request.param == "fewer" else more_ids


@pytest.mark.parametrize("protocol", ["full", "sampled(7)"])
@pytest.mark.parametrize("kind", [Popularity, ItemMean, Given])
def test_they_are_judged_alike(split: Split, apart, kind: type[Model], protocol: str) -> None:
    assert (apart.users, apart.items) != (split.train.users, split.train.items)
    models = {"here": kind().fit(split.train), "apart": kind().fit(apart)}
    if kind is Given:  # a model without vectors
        scores = np.random.default_rng(0).random((len(apart.users), len(apart.items), 8))
        models["apart"].arrays["scores"] = scores
        own = [
            np.maximum([ids.find(name) for name in wanted], 0)
            for ids, wanted in ((apart.users, split.train.users), (apart.items, split.train.items))
        ]
        models["here"].arrays["scores"] = scores[np.ix_(*own)]
    for order in (models, dict(reversed(models.items()))):
        metrics = ["ndcg@10", "contrast"] + ["coverage@5"] * (protocol == "full")
        report = dmrank.evaluate(order, split, protocol=protocol, metrics=metrics)
        for aspect in report.aspects:
            np.testing.assert_array_equal(
                report.per_user("here", "ndcg@10", aspect),
                report.per_user("apart", "ndcg@10", aspect),
            )
        for metric in report.metrics:
            assert report.mean("here", metric) == report.mean("apart", metric)


def test_a_model_from_a_file_of_training_rows_stands_beside_one_of_a_split(
    split: Split, tmp_path
) -> None:
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    for name, part in parts.items():
        part.write(tmp_path / f"{name}.parquet")
    alone = dmrank.read_ratings(tmp_path / "train.parquet", verbose=False)
    again = dmrank.read_split(tmp_path)
    assert alone.users != again.train.users
    models = {"file": Popularity().fit(alone), "split": Popularity().fit(again.train)}
    models["file"] = dmrank.load(models["file"].save(tmp_path / "popular.dmrank"))
    first, second = dmrank.evaluate(models, again, metrics=["ap"]).table()["ap"]
    assert first == second


def test_answers_about_pairs_are_those_of_the_model_by_id(split: Split, apart) -> None:
    model = DMR(factors=3, iterations=30, threads=1).fit(apart)
    pairs = rated_pairs(split)
    users, first, second = (
        ids.names(codes).to_list()
        for ids, codes in (
            (split.train.users, pairs.users),
            (split.train.items, pairs.first),
            (split.train.items, pairs.second),
        )
    )
    wanted = model.predict(users, first, raw=True) - model.predict(users, second, raw=True)
    np.testing.assert_allclose(pairs.predicted(model), wanted, atol=1e-6)
    own = apart.users.codes(users), apart.items.codes(first), apart.items.codes(second)
    np.testing.assert_array_equal(order_probability(model, pairs), order_probabilities(model, *own))
    np.testing.assert_array_equal(pair_confidence(model, pairs), order_confidences(model, *own))


def test_explanations_and_lists_are_judged_of_them_as_well(split: Split, apart) -> None:
    errors = [explanation_error(EFM(iterations=1).fit(r), split) for r in (split.train, apart)]
    assert errors[0].rows == errors[1].rows
    options = {"fewest_ratings": 1, "fewest_items": 5, "n": 3}
    here, there = (lift(ItemMean().fit(r), split, **options) for r in (split.train, apart))
    assert here.table.equals(there.table)


def test_a_model_that_lacks_a_trained_user_or_item_is_refused(split: Split) -> None:
    train = split.train
    last = train.user_codes.max()
    fewer = train.select(np.flatnonzero(train.user_codes != last)).compact()
    with pytest.raises(DataError, match="fewer was fitted on other users or items"):
        dmrank.evaluate({"all": Popularity().fit(train), "fewer": Popularity().fit(fewer)}, split)


def test_a_model_that_has_seen_test_ratings_is_refused_whatever_its_codes(split: Split) -> None:
    seen = np.union1d(keys(split.train), keys(split.test))
    users, items = np.divmod(seen, len(split.train.items))
    everything = Ratings.from_arrays(
        [*split.train.users.names(users), "a"],
        [*split.train.items.names(items), "a"],
        np.ones((len(seen) + 1, len(split.train.aspects))),
        aspects=split.train.aspects,
    )
    with pytest.raises(DataError, match="has seen test ratings"):
        dmrank.evaluate(Popularity().fit(everything), split)


def keys(part: Ratings) -> np.ndarray:
    return part.user_codes.astype(np.int64) * len(part.items) + part.item_codes


def test_a_model_of_a_text_file_knows_whole_numbers_by_their_text(split: Split) -> None:
    def numbered(part: Ratings, type_: type) -> Ratings:
        rows = part.to_polars()
        users, items = ([type_(name[1:]) for name in rows[side]] for side in ("user", "item"))
        values = rows.select(part.aspects).to_numpy()
        return Ratings.from_arrays(users, items, values, aspects=part.aspects, scale=(1, 5))

    parts = {name: getattr(split, name) for name in ("train", "validation", "test")}
    numbers = join_parts(**{name: numbered(part, int) for name, part in parts.items()})
    # Without the zeros before them.
    text = numbered(split.train, lambda name: str(int(name)))
    apart = dmrank.evaluate({"mean": ItemMean().fit(text)}, numbers)
    together = dmrank.evaluate({"mean": ItemMean().fit(numbers.train)}, numbers)
    assert apart.table().equals(together.table())
    assert apart.users.dtype == pl.Int64
