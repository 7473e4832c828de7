"""Whether lists by an aspect name items that are better on that aspect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from dmrank.data.ratings import Ratings, Split
from dmrank.data.training_scale import to_training_scale
from dmrank.evaluation.judged import Judged, asked_on
from dmrank.evaluation.significance import bootstrap_interval
from dmrank.fitted.evidence import averages
from dmrank.fitted.scorers import Scorer, make_ranker
from dmrank.metrics import NDCG, Lifts, list_lifts
from dmrank.support.arrays import Bools, Floats, Int32s
from dmrank.support.errors import ConfigError, DataError
from dmrank.training.held_out import HeldOut

#: An item stands on a list if so many test ratings say how good it is, and an aspect is measured if
#: it has so many such items.
FEWEST_RATINGS, FEWEST_ITEMS = 5, 100


@dataclass(frozen=True, eq=False)
class Lift:
    """What the lists of a model by each aspect gain over its lists by the primary aspect.

    Attributes
    ----------
    table : polars.DataFrame
        One row per aspect: aspect, lift and specific with the ends of their 95 % intervals over
        users (training scale 1–5), overlap of the two lists, ndcg_loss (NDCG@n of the ranking by
        the primary aspect, less that of the ranking by this one, both judged by the primary
        ratings) and items (that could be listed).
    skipped : tuple of str
        Aspects with too few items that have enough test ratings.
    per_user : dict of str to Lifts
        The values of each user, by aspect.
    n : int
        Length of the lists.
    """

    table: pl.DataFrame
    skipped: tuple[str, ...]
    per_user: dict[str, Lifts]
    n: int

    def mean_per_user(self, *, specific: bool) -> Floats:
        """Return each user's mean over the measured aspects."""
        columns = [each.specific if specific else each.lift for each in self.per_user.values()]
        if not columns:
            return np.empty(0)
        return np.asarray(np.mean(columns, axis=0))


def lift(
    model: Judged,
    split: Split,
    *,
    n: int = 10,
    fewest_ratings: int = FEWEST_RATINGS,
    fewest_items: int = FEWEST_ITEMS,
    threads: int | None = None,
) -> Lift:
    """Measure how much better on an aspect the items are that are listed by it.

    For every test user and every aspect k other than the primary one: the mean test rating on k
    (by all users) of the n items listed by k, less that of the n items listed by the primary
    aspect. Both lists are of items with enough test ratings on k that the user has not rated in
    training or validation. Only test ratings tell how good an item is.

    Parameters
    ----------
    model : Model, or what `dmrank.adapt` takes
        Fitted on ``split.train``.
    split : Split
        Judged on its test part.
    n : int
        Length of the lists.
    fewest_ratings, fewest_items : int
        Test ratings that an item needs, and such items that an aspect needs.
    threads : int, optional
        Number of threads; by default every core.

    Examples
    --------
    >>> from dmrank import ItemMean, make_ratings
    >>> split = make_ratings(300, 80, 8_000, seed=1).ratings.split()
    >>> found = lift(ItemMean().fit(split.train), split, fewest_items=20)
    >>> found.table.columns[:4]
    ['aspect', 'lift', 'lift_low', 'lift_high']
    """
    if n < 1:
        raise ConfigError(f"n={n}: ask for lists of at least one item")
    train, test = split.train, split.test
    asked = asked_on(model, train, test.user_codes, test.item_codes)
    held_out = HeldOut.from_ratings(train, test, also_seen=split.validation)
    if len(held_out.users) == 0:
        raise DataError("test has no rating of a user and an item that training knows")
    means, counts = _test_means(train, test)
    primary = train.primary_aspect
    by_primary = asked.scorer(asked.weights(primary))
    best = _ndcg(held_out, primary, by_primary, n, threads)
    rows, skipped, per_user = [], [], {}
    for k, aspect in enumerate(train.aspects):
        if aspect == primary:
            continue
        mask = (counts[:, k] >= fewest_ratings) & held_out.candidates
        if mask.sum() < fewest_items:
            skipped.append(aspect)
            continue
        scorer = asked.scorer(asked.weights(aspect))
        by_aspect, by_overall = (
            _lists(held_out, each, mask, n, threads) for each in (scorer, by_primary)
        )
        lifts = per_user[aspect] = list_lifts(by_aspect, by_overall, means, k)
        rows.append(
            {
                "aspect": aspect,
                **_estimate("lift", lifts.lift),
                **_estimate("specific", lifts.specific),
                "overlap": float(np.nanmean(lifts.overlap)),
                "ndcg_loss": best - _ndcg(held_out, primary, scorer, n, threads),
                "items": int(mask.sum()),
            }
        )
    return Lift(pl.DataFrame(rows), tuple(skipped), per_user, n)


def _test_means(train: Ratings, test: Ratings) -> tuple[Floats, Int32s]:
    """Return mean and number of the test ratings of each item on each aspect of training."""
    values = np.full((len(test), len(train.aspects)), np.nan)
    values[:, [train.aspect(name) for name in test.aspects]] = test.values
    on_scale = to_training_scale(values, train.scale).astype(np.float32)
    means, counts = averages(test.item_codes, on_scale, len(train.items))
    return means.astype(np.float64), counts


def _lists(held_out: HeldOut, scorer: Scorer, mask: Bools, n: int, threads: int | None) -> Int32s:
    ranker = make_ranker(scorer, mask)
    return ranker.top_n(held_out.users, n, held_out.excluded, None, threads).items


def _ndcg(held_out: HeldOut, aspect: str, scorer: Scorer, n: int, threads: int | None) -> float:
    query = held_out.query(aspect)
    ranks = scorer.ranks(held_out.users, query, threads)
    return float(np.nanmean(NDCG(n)(ranks, np.nan_to_num(query.gains), query.items.pointer)))


def _estimate(name: str, per_user: Floats) -> dict[str, float]:
    low, high = bootstrap_interval(per_user)
    return {name: float(np.nanmean(per_user)), f"{name}_low": low, f"{name}_high": high}
