"""Lift: how much better on an aspect the items are that are listed by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dmrank.support.arrays import Codes, Floats


class Lifts(NamedTuple):
    """What lists by an aspect gain over lists by overall, one value per user.

    Attributes
    ----------
    lift
        Mean rating, by others in test, of the items listed by the aspect, less that of the items
        listed by overall; NaN for a user without a list.
    specific
        The lift less the mean lift of the same lists on the other aspects: lifting everything is
        easy.
    overlap
        Share of the list by the aspect that is on the list by overall as well.
    """

    lift: Floats
    specific: Floats
    overlap: Floats


def list_lifts(by_aspect: Codes, by_overall: Codes, means: Floats, aspect: int) -> Lifts:
    """Compare the lists of all users by an aspect with those by overall.

    Parameters
    ----------
    by_aspect, by_overall
        Items of each user, one row per user, filled up with −1.
    means
        Mean test rating of each item (rows) on each aspect (columns), NaN where there is none.
    aspect
        The column of the aspect.

    Examples
    --------
    >>> lifts = list_lifts([[0, 1]], [[1, 2]], np.array([[5.0, 3.0], [4.0, 3.0], [3.0, 3.0]]), 0)
    >>> lifts.lift, lifts.specific, lifts.overlap
    (array([1.]), array([1.]), array([0.5]))
    """
    lists = np.asarray(by_aspect), np.asarray(by_overall)
    gains = _list_means(lists[0], means) - _list_means(lists[1], means)
    others = np.delete(gains, aspect, axis=1)
    same = (lists[0][:, :, None] == lists[1][:, None, :]).any(axis=2) & (lists[0] >= 0)
    sizes = (lists[0] >= 0).sum(axis=1)
    overlap = np.divide(same.sum(axis=1), sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    return Lifts(gains[:, aspect], gains[:, aspect] - _known_mean(others), overlap)


def _list_means(lists: Codes, means: Floats) -> Floats:
    """Return the mean over each list of the known means of its items, one column per aspect."""
    ratings = np.where((lists >= 0)[:, :, None], means[lists], np.nan)
    known = ~np.isnan(ratings)
    counts = known.sum(axis=1)
    totals = np.where(known, ratings, 0.0).sum(axis=1)
    return np.divide(totals, counts, out=np.full(totals.shape, np.nan), where=counts > 0)


def _known_mean(columns: Floats) -> Floats:
    known = ~np.isnan(columns)
    counts = known.sum(axis=1)
    totals = np.where(known, columns, 0.0).sum(axis=1)
    # With one aspect there is no other to be lifted as well.
    return np.divide(totals, counts, out=np.zeros(len(totals)), where=counts > 0)
