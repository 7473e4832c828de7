"""Lists of many users at once, each by a mix of its own, with what the score of every row is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dmrank.answers.compare import mix_probabilities
from dmrank.answers.predict import ratings_of_scores
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.mixed_lists import ListParts, MixedLists
from dmrank.ranking import ItemLists, TopN
from dmrank.support.arrays import AnyFloats, Bools, Codes, Float32s, Floats, Int32s, Int64s


class ListRows(NamedTuple):
    """Rows of lists, one list after the other.

    Attributes
    ----------
    pointer : int64 array
        The rows of list u are those from ``pointer[u]`` to ``pointer[u + 1]``.
    items : int32 array, n
        Codes of items.
    scores : float array, n
        What ranks.
    exposure : float32 array, n, or None
        Who comes to the item; None: the model has one score for lists.
    ratings : float32 array, n × K
        Predicted ratings on their own scales.
    contributions : float32 array, n × K
        What each aspect adds to the score; beside these there is (1 − t) exposure.
    better_than_next : float array, n, or None
        Probability that the item is liked better than that of the next row by the mix of its list;
        NaN in the last row of a list. None: the model cannot tell.
    """

    pointer: Int64s
    items: Int32s
    scores: AnyFloats
    exposure: Float32s | None
    ratings: Float32s
    contributions: Float32s
    better_than_next: Floats | None


def make_rows(
    model: FittedModel,
    users: Codes,
    mixes: Float32s,
    n: int,
    excluded: ItemLists,
    allowed: Bools | None = None,
) -> ListRows:
    """Rank items for users, each by a mix of its own, and say what the scores are made of.

    Parameters
    ----------
    model : FittedModel
        A fitted model.
    users : int array
        Codes of users.
    mixes : float32 array, users × K
        Weights of aspects.
    n : int
        How many items per user.
    excluded : ItemLists
        Items that are left out for each.
    allowed : bool array, optional
        The items that may be listed for anybody; by default all.
    """
    lists = model.mixed_lists(users, mixes)
    return describe_rows(model, lists, users, mixes, lists.top_n(n, excluded, allowed))


def describe_rows(
    model: FittedModel, lists: MixedLists, users: Codes, mixes: Float32s, best: TopN
) -> ListRows:
    """Say what the scores of lists are made of."""
    row, place = np.nonzero(best.items >= 0)
    items = best.items[row, place]
    scores = model.score_pairs(users[row], items)
    parts = lists.parts(row, items, scores)
    return ListRows(
        pointer=np.searchsorted(row, np.arange(len(users) + 1)),
        items=items,
        scores=best.scores[row, place],
        exposure=parts.exposure,
        ratings=ratings_of_scores(model, users[row], scores),
        contributions=contributions(parts, mixes[row], model.preference),
        better_than_next=_better_than_next(model, users, row, items, scores, mixes * lists.liking),
    )


def list_parts(model: FittedModel, user: int) -> ListParts:
    """Return what the list scores of all items are made of for one user, by code."""
    items = np.arange(len(model.catalogue.items))
    row = np.zeros(len(items), dtype=np.int64)
    users = np.array([user])
    # The parts of a score are the same for every mix.
    mix = np.ones((1, len(model.catalogue.aspects)), dtype=np.float32)
    scores = model.score_pairs(users[row], items)
    return model.mixed_lists(users, mix).parts(row, items, scores)


def contributions(parts: ListParts, mixes: Float32s, preference: float | None) -> Float32s:
    """Return what each aspect adds to list scores, n × K."""
    if preference is None:
        return mixes * parts.aspects
    shares = np.float32(preference) * mixes / mixes.sum(axis=1, keepdims=True)
    return shares * parts.aspects


def _better_than_next(
    model: FittedModel,
    users: Codes,
    row: Codes,
    items: Int32s,
    scores: Float32s,
    weights: Floats,
) -> Floats | None:
    first = np.flatnonzero(row[1:] == row[:-1])
    probability = mix_probabilities(
        model,
        users[row[first]],
        items[first],
        items[first + 1],
        scores[first] - scores[first + 1],
        weights[row[first]],
    )
    if probability is None:
        return None
    found = np.full(len(items), np.nan)
    found[first] = probability
    return found
