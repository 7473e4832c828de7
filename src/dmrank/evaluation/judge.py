"""Judge models on the test part of a split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from dmrank.data.ratings import ColdStart, Ratings, Split
from dmrank.evaluation.blocks import evaluate_on, knows_as_training_does
from dmrank.evaluation.judged import Judged, asked_on, name_of
from dmrank.evaluation.protocols import Full, Protocol, parse_protocol
from dmrank.evaluation.report import Report
from dmrank.evaluation.users import UserValues, judge_users
from dmrank.evaluation.whole import whole_values
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.scorers import Scorer, make_ranker
from dmrank.metrics import Contrast, Coverage, ListLift, Metric, parse_any_metric
from dmrank.metrics.names import AnyMetric
from dmrank.models.base import Model
from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError, DataError, did_you_mean
from dmrank.support.progress import bar, say
from dmrank.support.workers import current_workers
from dmrank.training.held_out import HeldOut

DEFAULT_METRICS = ("ap", "ndcg@10", "ndcg@50")


def evaluate(
    models: Judged | Mapping[str, Judged],
    split: Split | ColdStart,
    *,
    protocol: str = "full",
    metrics: Sequence[str | AnyMetric] = DEFAULT_METRICS,
    aspects: Sequence[str] | None = None,
    threads: int | None = None,
) -> Report:
    """Rank the test items of every user by every aspect, and measure how high they come.

    Ties count against a model, and a rating on the aspect is what an item is worth. Nothing of
    size users × items is held. Models may be fitted apart: ids are matched model by model.

    Parameters
    ----------
    models : Model, or mapping of str to Model
        Models that were fitted on ``split.train``, by the names in the report; or other libraries'
        models and results: whatever `dmrank.adapt` returns, a table of lists, or a callable.
    split : Split or ColdStart
        Judged on its test part; what a user rated in train or validation is no candidate. Of a
        `ColdStart`, each model is given what is known of the new users or items by `fold_in`;
        results of other libraries are taken as they are.
    protocol : str
        ``"full"``: all items with a training row are candidates. ``"sampled(100)"``: the test items
        and 100 seeded negatives per user.
    metrics : sequence of str or Metric
        Names, see `dmrank.metrics.parse_any_metric`, or metrics, one's own included: see
        `dmrank.metrics.Metric`. A depth beyond the number of candidates means all.
    aspects : sequence of str, optional
        By which aspects to rank; by default all that have a test rating. The primary one is always
        among them.
    threads : int, optional
        Number of threads; by default every core.

    Examples
    --------
    >>> from dmrank import Popularity, make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> report = evaluate(Popularity().fit(split.train), split)
    >>> report
    166 users, 8 aspects, ranking: full
     model           ap  ndcg@10  ndcg@50 ...
    >>> report.table().shape
    (1, 7)
    """
    named = dict(models) if isinstance(models, Mapping) else {name_of(models): models}
    if not named:
        raise ConfigError("no model to evaluate: give at least one")
    measured, rule = _measured(metrics), parse_protocol(protocol)
    _check_metrics(measured, rule)
    if isinstance(split, ColdStart):
        named, split = _folded_in(named, split), split.folded
    of_each = [metric for metric in measured if isinstance(metric, Metric)]
    of_all = [metric for metric in measured if isinstance(metric, Coverage)]
    of_model = [metric for metric in measured if isinstance(metric, Contrast | ListLift)]
    train, test = split.train, split.test
    asked = {
        name: asked_on(model, train, test.user_codes, test.item_codes, name)
        for name, model in named.items()
    }
    held_out = HeldOut.from_ratings(train, test, also_seen=split.validation)
    if len(held_out.users) == 0:
        raise DataError("test has no rating of a user and an item that training knows")
    chosen = _chosen_aspects(train, held_out, aspects)
    ranking = rule.prepare(held_out)
    values: dict[tuple[str, str, str], Floats] = {}
    joint: dict[tuple[str, str, str], float] = {}
    equal: dict[tuple[str, str], int] = {}
    of_blocks = _judged_in_blocks(asked, split, held_out, protocol, of_each, chosen)
    with bar("evaluating", total=len(asked) * len(chosen)) as progress:
        for done, (name, aspect) in enumerate(product(asked, chosen), start=1):
            scorer = asked[name].scorer(asked[name].weights(aspect))
            if of_each:
                found = of_blocks.get((name, aspect)) or judge_users(
                    scorer, held_out, ranking, aspect, of_each, threads
                )
                equal[name, aspect] = found.equal
                for shown, of_users in found.values.items():
                    values[name, aspect, shown] = of_users
            for shown, value in _joint_values(of_all, held_out, scorer, threads).items():
                joint[name, aspect, shown] = value
            progress.update(done, note=f"{name} by {aspect}")
    whole = {name: whole_values(of_model, model, split, threads) for name, model in asked.items()}
    _say_equal(equal, len(held_out.users))
    return Report(
        values=values,
        joint_values=joint,
        whole_values=whole,
        equal_scores=equal,
        users=train.users.names(held_out.users),
        models=tuple(asked),
        aspects=tuple(chosen),
        metrics=tuple(str(metric) for metric in measured),
        primary_aspect=train.primary_aspect,
        protocol=protocol,
        left_out=held_out.left_out,
    )


def _judged_in_blocks(
    asked: Mapping[str, FittedModel],
    split: Split,
    held_out: HeldOut,
    protocol: str,
    metrics: Sequence[Metric],
    aspects: Sequence[str],
) -> dict[tuple[str, str], UserValues]:
    """Return what workers, if there are any, say of the models that they can open, by aspect."""
    workers = current_workers()
    if workers is None or not metrics:
        return {}
    return {
        (name, aspect): found
        for name, model in asked.items()
        if knows_as_training_does(model, split)
        for aspect, found in evaluate_on(
            workers, model, split, held_out, protocol=protocol, metrics=metrics, aspects=aspects
        ).items()
    }


def _folded_in(models: Mapping[str, Judged], cold: ColdStart) -> dict[str, Judged]:
    """Return models that know what is given of the new ones."""
    return {
        name: model.fold_in(cold.given, of=cold.of) if isinstance(model, Model) else model
        for name, model in models.items()
    }


def _measured(metrics: Sequence[str | AnyMetric]) -> list[AnyMetric]:
    """Return metrics, those that were named by their names."""
    for metric in metrics:
        if not isinstance(metric, str | Metric | Coverage | Contrast | ListLift):
            raise ConfigError(
                f"{metric!r} is no metric: give a name such as 'ndcg@10', or an object of a class "
                "that is made from dmrank.metrics.Metric"
            )
    return [parse_any_metric(each) if isinstance(each, str) else each for each in metrics]


def _say_equal(equal: Mapping[tuple[str, str], int], users: int) -> None:
    """Say of each model by which aspect, if any, most users have the same score for every item."""
    for model in dict.fromkeys(name for name, _ in equal):
        count, aspect = max(
            ((n, aspect) for (name, aspect), n in equal.items() if name == model),
            key=lambda found: found[0],
        )
        if count:
            say(
                f"{model} gives {count:,} of {users:,} users the same score for every item by "
                f"{aspect}: their lists are in no order, and ties count against it"
            )


def _check_metrics(metrics: Sequence[AnyMetric], protocol: Protocol) -> None:
    if not metrics:
        raise ConfigError("no metric: name at least one, such as 'ndcg@10'")
    _check_once("metric", [str(metric) for metric in metrics])
    for metric in metrics:
        if isinstance(metric, Coverage) and not isinstance(protocol, Full):
            raise ConfigError(
                f"{metric} is a share of all candidates, of which {protocol} ranks a sample: give "
                "protocol='full'"
            )


def _check_once(kind: str, names: Sequence[str]) -> None:
    """Refuse a name that is repeated: averages would count it twice."""
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{kind} {name!r} is named twice: give each {kind} once")


def _chosen_aspects(train: Ratings, held_out: HeldOut, aspects: Sequence[str] | None) -> list[str]:
    """Return the aspects to rank by; without a test rating, only what was asked for is refused."""
    missing = np.isnan(held_out.values)
    rated = {name: not missing[:, k].all() for k, name in enumerate(held_out.aspects)}
    primary = train.primary_aspect
    wanted = [name for name in rated if rated[name]] if aspects is None else list(aspects)
    _check_once("aspect", wanted)
    for name in wanted:
        if name not in rated:
            raise ConfigError(f"test has no aspect {name!r}; {did_you_mean(name, rated)}")
    if primary not in wanted:
        wanted.insert(0, primary)
    for name in wanted:
        if not rated.get(name, False):
            raise DataError(
                f"test has no rating on {name!r} of a user and an item that training knows: "
                "nothing is relevant"
            )
    return wanted


def _joint_values(
    metrics: Sequence[Coverage], held_out: HeldOut, scorer: Scorer, threads: int | None
) -> dict[str, float]:
    """Return the metrics of all users together."""
    if not metrics:
        return {}
    candidates = int(held_out.candidates.sum())
    n = min(max(metric.k for metric in metrics), candidates)
    ranker = make_ranker(scorer, held_out.candidates)
    lists = ranker.top_n(held_out.users, n, held_out.excluded, None, threads).items
    return {str(metric): metric(lists, candidates) for metric in metrics}
