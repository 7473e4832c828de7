"""Judge models on the test part of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dmrank.errors import ConfigError, DataError, did_you_mean
from dmrank.evaluation.protocols import parse_protocol
from dmrank.evaluation.report import Report
from dmrank.evaluation.significance import PerUser
from dmrank.metrics import parse_metric
from dmrank.models.base import Model
from dmrank.models.held_out import HeldOut, codes_in
from dmrank.progress import bar
from dmrank.ratings import Ratings, Split

DEFAULT_METRICS = ("ap", "ndcg@10", "ndcg@50")


def evaluate(
    models: Model | Mapping[str, Model],
    split: Split,
    *,
    protocol: str = "full",
    metrics: Sequence[str] = DEFAULT_METRICS,
    aspects: Sequence[str] | None = None,
    threads: int | None = None,
) -> Report:
    """Rank the test items of every user by every aspect, and measure how high they come.

    Ties count against a model, and a rating on the aspect is what an item is worth. Nothing of
    size users × items is held.

    Parameters
    ----------
    models : Model or mapping of str to Model
        Models that were fitted on ``split.train``, by the names in the report.
    split : Split
        Judged on its test part; what a user rated in train or validation is no candidate.
    protocol : str
        ``"full"``: all items with a training row are candidates. ``"sampled(100)"``: the test items
        and 100 seeded negatives per user.
    metrics : sequence of str
        See `dmrank.metrics.parse_metric`. A depth beyond the number of candidates means all.
    aspects : sequence of str, optional
        By which aspects to rank; by default all. The primary one is always among them.
    threads : int, optional
        Number of threads; by default every core.

    Examples
    --------
    >>> from dmrank import Popularity, make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> report = evaluate(Popularity().fit(split.train), split)
    >>> report
    Report(Popularity; 166 users, 8 aspects, ap, ndcg@10, ndcg@50, full)
    >>> report.table().shape
    (1, 7)
    """
    named = {type(models).__name__: models} if isinstance(models, Model) else dict(models)
    if not named:
        raise ConfigError("no model to evaluate: give at least one")
    rows = len(split.test)
    split = _with_ids_of(next(iter(named.items())), split)
    train, test = split.train, split.test
    _check_models(named, split)
    measured = [parse_metric(name) for name in metrics]
    if not measured:
        raise ConfigError("no metric: name at least one, such as 'ndcg@10'")
    chosen = _chosen_aspects(train, test, aspects)
    held_out = HeldOut.of(train, test, also_seen=split.validation)
    if len(held_out.users) == 0:
        raise DataError("test has no rating of a user and an item that training knows")
    ranking = parse_protocol(protocol).of(held_out)
    values: dict[tuple[str, str, str], PerUser] = {}
    with bar("evaluating", total=len(named) * len(chosen)) as progress:
        for name, model in named.items():
            for aspect in chosen:
                scorer = model._scorer(model._weights(aspect))
                ranks = ranking.ranks(aspect, scorer, threads)
                gains = held_out.question(aspect).gains
                for metric in measured:
                    of_users = metric(ranks, np.nan_to_num(gains), held_out.items.pointer)
                    values[name, aspect, str(metric)] = of_users
                progress.update(len(values) / len(measured), note=f"{name} by {aspect}")
    return Report(
        values=values,
        users=train.users.names(held_out.users),
        models=tuple(named),
        aspects=tuple(chosen),
        metrics=tuple(str(metric) for metric in measured),
        primary_aspect=train.primary_aspect,
        protocol=protocol,
        left_out=held_out.left_out + rows - len(test),
    )


def _with_ids_of(named: tuple[str, Model], split: Split) -> Split:
    """Give a split the codes of a model, whose file knows the ids of its training rows alone.

    Rows of other users or items are left out of every metric anyway: training has none of them.
    """
    name, model = named
    users, items = model.catalogue.users, model.catalogue.items
    if (users, items) == (split.train.users, split.train.items):
        return split

    def coded(part: Ratings) -> Ratings:
        user_codes, item_codes = codes_in(users, items, part)
        known = (user_codes >= 0) & (item_codes >= 0)
        return Ratings.from_codes(
            users,
            items,
            user_codes[known],
            item_codes[known],
            part.values[known],
            aspects=part.aspects,
            scale=part.scale,
        )

    parts = Split(coded(split.train), coded(split.validation), coded(split.test))
    if len(parts.train) < len(split.train):
        raise DataError(
            f"{name} was fitted on other users or items than the split has: fit it on split.train"
        )
    return parts


def _check_models(models: Mapping[str, Model], split: Split) -> None:
    train = split.train
    for name, model in models.items():
        catalogue = model.catalogue
        if catalogue.users != train.users or catalogue.items != train.items:
            raise DataError(
                f"{name} was fitted on other users or items than the split has: fit it on "
                "split.train"
            )
        if catalogue.aspects != train.aspects:
            raise DataError(
                f"{name} was fitted on the aspects {', '.join(catalogue.aspects)}, but the split "
                f"has {', '.join(train.aspects)}: fit it on split.train"
            )
        if _rows_in_common(model, split.test):
            raise DataError(f"{name} has seen test ratings in training: fit it on split.train")


def _rows_in_common(model: Model, test: Ratings) -> int:
    pointer, items = model.catalogue.seen_pointer, model.catalogue.seen_items
    users = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))
    n_items = len(test.items)
    seen = users * n_items + items
    asked = test.user_codes.astype(np.int64) * n_items + test.item_codes
    return int(np.isin(asked, seen).sum())


def _chosen_aspects(train: Ratings, test: Ratings, aspects: Sequence[str] | None) -> list[str]:
    wanted = list(test.aspects if aspects is None else aspects)
    for name in wanted:
        if name not in test.aspects:
            raise ConfigError(f"test has no aspect {name!r}; {did_you_mean(name, test.aspects)}")
    if train.primary_aspect not in wanted:
        wanted.insert(0, train.primary_aspect)
    return wanted
