"""Evaluation as a function of a model's file and a record batch, and cutting it into such blocks.

A value of a user depends on no other user, so that blocks of users joined are what all of them at
once are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np
import polars as pl

from dmrank.data.ids import Ids
from dmrank.data.ratings import Split
from dmrank.data.rows import canonical_order, count_codes, has_rows
from dmrank.evaluation.protocols import parse_protocol
from dmrank.evaluation.users import UserValues, judge_users
from dmrank.fitted.catalogue import Catalogue
from dmrank.metrics import Metric, parse_metric
from dmrank.models.base import Model
from dmrank.models.opened import ModelFile, ModelSource, opened
from dmrank.ranking import ItemLists
from dmrank.support.arrays import Bools, Codes, Float32s, Int64s
from dmrank.support.batches import from_batch, notes_of, to_batch
from dmrank.support.workers import Workers
from dmrank.training.held_out import HeldOut

if TYPE_CHECKING:
    import pyarrow as pa

_USERS_PER_BLOCK: Final = 4_096
#: The column that says which rows are no test ratings but were rated before.
_SEEN: Final = "seen"


def evaluate_block(
    model: ModelSource,
    ratings: pa.RecordBatch,
    *,
    protocol: str = "full",
    metrics: Sequence[str | Metric] = ("ap", "ndcg@10", "ndcg@50"),
    aspects: Sequence[str] | None = None,
) -> pa.RecordBatch:
    """Measure how high the test items of some users come in a model's lists.

    Parameters
    ----------
    model : path
        The model's file. What users rated in training is known to it.
    ratings : pyarrow.RecordBatch
        Test ratings, all rows of a user in the same batch: ``user``, ``item`` and a column per
        aspect. Where a column ``seen`` is true, the row is a validation rating: no candidate.
    protocol, metrics
        As in :func:`dmrank.evaluate`; every metric has a value per user.
    aspects : sequence of str, optional
        By which aspects to rank; by default all that the batch has.

    Returns
    -------
    pyarrow.RecordBatch
        ``user``, ``aspect``, ``metric`` and ``value``, which is NaN for a user without a test item
        on the aspect. Beside it, see :func:`dmrank.support.batches.notes_of`, is to how many users
        the model gives the same score for every item.

    Examples
    --------
    >>> import tempfile
    >>> from dmrank import Popularity, make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> file = Popularity().fit(split.train).save(f"{tempfile.mkdtemp()}/popular.dmrank")
    >>> batch = to_batch(split.test.to_polars().drop("item_name"))
    >>> judged = evaluate_block(file, batch, metrics=["ndcg@10"], aspects=["overall"])
    >>> judged.num_rows, judged.schema.names
    (166, ['user', 'aspect', 'metric', 'value'])
    """
    ranker = opened(model)
    held_out = _held_out(ranker.catalogue, from_batch(ratings, "user", "item"))
    measured = [parse_metric(each) if isinstance(each, str) else each for each in metrics]
    asked = held_out.aspects if aspects is None else tuple(aspects)
    ranking = parse_protocol(protocol).prepare(held_out)
    users = ranker.catalogue.users.names(held_out.users)
    columns, equal = [], {}
    for aspect in asked:
        scorer = ranker.scorer(ranker.weights(aspect))
        found = judge_users(scorer, held_out, ranking, aspect, measured)
        equal[aspect] = found.equal
        columns += [
            pl.DataFrame([users]).with_columns(
                aspect=pl.lit(aspect), metric=pl.lit(metric), value=pl.Series(values)
            )
            for metric, values in found.values.items()
        ]
    return to_batch(pl.concat(columns), equal)


def _held_out(catalogue: Catalogue, rows: pl.DataFrame) -> HeldOut:
    """Return rows of a batch as what is asked of a model, without those that training lacks."""
    users, items = (
        ids.find_many(rows[ids.kind]).astype(np.int64) for ids in (catalogue.users, catalogue.items)
    )
    known = (users >= 0) & (items >= 0)
    known[known] &= _trained(catalogue)[users[known]]
    seen = rows[_SEEN].to_numpy() if _SEEN in rows.columns else np.zeros(len(rows), dtype=np.bool_)
    counts = count_codes(catalogue.seen_items, len(catalogue.items))
    test = np.flatnonzero(known & ~seen & (counts[np.maximum(items, 0)] > 0))
    test = test[np.lexsort((items[test], users[test]))]
    chosen = np.unique(users[test])
    aspects = tuple(name for name in catalogue.aspects if name in rows.columns)
    also = np.flatnonzero(known & seen & np.isin(users, chosen))
    return HeldOut(
        users=chosen,
        items=ItemLists(
            np.searchsorted(users[test], np.append(chosen, len(catalogue.users))),
            items[test].astype(np.int32),
        ),
        values=rows[test].select(aspects).to_numpy().astype(np.float32),
        aspects=aspects,
        excluded=_excluded(catalogue, chosen, users[also], items[also]),
        item_counts=counts,
        left_out=int((~seen).sum()) - len(test),
    )


def _trained(catalogue: Catalogue) -> Bools:
    return has_rows(catalogue.seen_pointer)


def _excluded(catalogue: Catalogue, chosen: Int64s, users: Int64s, items: Int64s) -> ItemLists:
    """Return what users rated in training, and these pairs."""
    pointer, seen = catalogue.seen_by(chosen)
    own = np.repeat(np.arange(len(chosen)), np.diff(pointer))
    every = np.concatenate([own, np.searchsorted(chosen, users)])
    rated = np.concatenate([seen, items.astype(np.int32)])
    order, ends = canonical_order(every, rated, len(chosen))
    return ItemLists(ends, rated[order])


def knows_as_training_does(model: object, split: Split) -> TypeGuard[Model]:
    """Return whether a block that has a model's file alone asks what the split asks.

    It does if the model was fitted on the training part itself: with its ids and its rows.
    """
    if not isinstance(model, Model):
        return False
    own, train = model.catalogue, split.train
    return (
        (own.users, own.items) == (train.users, train.items)
        and np.array_equal(own.seen_pointer, train.user_pointer)
        and np.array_equal(own.seen_items, train.item_codes)
    )


def evaluate_on(
    workers: Workers,
    model: Model,
    split: Split,
    held_out: HeldOut,
    *,
    protocol: str,
    metrics: Sequence[Metric],
    aspects: Sequence[str],
) -> dict[str, UserValues]:
    """Return the values of all users by each aspect, judged block by block on workers."""
    file = ModelFile.at(model.save(workers.new_folder() / "model.dmrank"))
    judge = partial(
        evaluate_block, file, protocol=protocol, metrics=tuple(metrics), aspects=tuple(aspects)
    )
    calls = ((to_batch(rows),) for rows in _blocks(split, held_out))
    judged = list(workers.run(judge, calls))
    found = pl.concat([from_batch(batch) for batch in judged]).partition_by(
        "aspect", "metric", as_dict=True
    )
    equal = [notes_of(batch) for batch in judged]
    return {
        aspect: UserValues(
            {str(metric): found[aspect, str(metric)]["value"].to_numpy() for metric in metrics},
            sum(each[aspect] for each in equal),
        )
        for aspect in aspects
    }


def _blocks(split: Split, held_out: HeldOut) -> Iterator[pl.DataFrame]:
    """Cut what is asked into blocks of users, with what they rated in validation."""
    train, validation = split.train, split.validation
    of_row = held_out.row_users
    for start in range(0, len(held_out.users), _USERS_PER_BLOCK):
        users = held_out.users[start : start + _USERS_PER_BLOCK]
        test = slice(*np.searchsorted(of_row, [users[0], users[-1] + 1]))
        ratings = {name: held_out.values[test, k] for k, name in enumerate(held_out.aspects)}
        asked = _pairs(train.users, train.items, of_row[test], held_out.items.items[test], ratings)
        rows = np.flatnonzero(np.isin(validation.user_codes, users))
        before = _pairs(
            train.users, train.items, validation.user_codes[rows], validation.item_codes[rows], {}
        )
        yield pl.concat(
            [
                asked.with_columns(pl.lit(False).alias(_SEEN)),
                before.with_columns(pl.lit(True).alias(_SEEN)),
            ],
            how="diagonal",
        )


def _pairs(
    users: Ids, items: Ids, of_users: Codes, of_items: Codes, ratings: Mapping[str, Float32s]
) -> pl.DataFrame:
    return pl.DataFrame([users.names(of_users), items.names(of_items)]).with_columns(
        pl.Series(name, values) for name, values in ratings.items()
    )
