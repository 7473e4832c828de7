"""Which of two items does a user like better? (paper 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dmrank.data.ratings import Ratings, Split
from dmrank.evaluation.judged import Judged, asked_on
from dmrank.evaluation.opponents import Opponents
from dmrank.evaluation.warm_rows import WarmRows, warm_rows
from dmrank.fitted.contract import FittedModel
from dmrank.metrics import PairAccuracy, contrast_accuracy, pair_accuracy
from dmrank.support.arrays import Codes, Floats, Int32s, Int64s
from dmrank.support.errors import ConfigError
from dmrank.support.seeds import make_rng

#: Pairs that are scored at once.
_BLOCK = 1 << 15


@dataclass(frozen=True, eq=False)
class OrderPairs:
    """Pairs of items with an observed order, grouped by user.

    Attributes
    ----------
    users, first, second : int32 arrays, n
        Codes of user and items of each pair; users ascend.
    observed : float array, n × K
        Rating of the first minus rating of the second on the training scale 1–5, where 0 is
        unrated; NaN where the aspect does not count.
    pointer : int64 array
        Pairs of the m-th user that has any are `pointer[m]` to `pointer[m + 1]`.
    user_codes : int32 array
        These users.
    train : Ratings
        The training ratings, whose codes and aspects these are.
    as_listed : bool
        Whether scores are those that lists are ranked by: of pairs with an unrated item, who comes
        to it counts.
    """

    users: Int32s
    first: Int32s
    second: Int32s
    observed: Floats
    pointer: Int64s
    user_codes: Int32s
    train: Ratings
    as_listed: bool = False

    @classmethod
    def from_pairs(
        cls,
        users: Codes,
        first: Codes,
        second: Codes,
        observed: Floats,
        train: Ratings,
        *,
        as_listed: bool = False,
    ) -> OrderPairs:
        """Group pairs by user."""
        order = np.argsort(users, kind="stable")
        user_codes, starts = np.unique(users[order], return_index=True)
        return cls(
            users=users[order].astype(np.int32),
            first=first[order].astype(np.int32),
            second=second[order].astype(np.int32),
            observed=observed[order],
            pointer=np.append(starts, len(users)).astype(np.int64),
            user_codes=user_codes.astype(np.int32),
            train=train,
            as_listed=as_listed,
        )

    def __len__(self) -> int:
        return len(self.users)

    def blocks(self) -> Iterator[slice]:
        """Return ranges of pairs that are small enough to be worked on at once."""
        return (slice(start, start + _BLOCK) for start in range(0, len(self), _BLOCK))

    def asked(self, model: Judged) -> FittedModel:
        """Return a model as it is asked by these codes; refuse one that has seen the ratings."""
        return asked_on(model, self.train, self.users, self.first)

    def predicted(self, model: Judged) -> Floats:
        """Return score of the first minus score of the second by each aspect, n × K."""
        asked = self.asked(model)
        differences = np.empty(self.observed.shape)
        score = asked.list_pairs if self.as_listed else asked.score_pairs
        for rows in self.blocks():
            # Both items in one call: a model that scores user by user does so once.
            items = np.concatenate([self.first[rows], self.second[rows]])
            scores = score(np.tile(self.users[rows], 2), items)
            of_first, of_second = np.split(scores.astype(np.float64), 2)
            differences[rows] = of_first - of_second
        return differences

    def contrast(self, model: Judged, *, calibrated: bool = False) -> PairAccuracy:
        """Return how often the model tells on which of two aspects the items differ more.

        Parameters
        ----------
        model : Model, or what `dmrank.adapt` takes
            A fitted model.
        calibrated : bool
            Of calibrated ratings instead of raw scores. Calibration gives each aspect a slope of
            its own, so that one score for all aspects then tells a little: what a model has to
            beat to know anything.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> from dmrank.evaluation import rated_pairs
        >>> means = dmrank.ItemMean().fit(split.train)
        >>> round(rated_pairs(split).contrast(means).pooled, 3)
        0.529
        """
        asked = self.asked(model)
        predicted = self.predicted(asked)
        if calibrated:
            predicted = predicted * asked.calibration.slope
        return contrast_accuracy(self.observed, predicted, self.pointer)

    def accuracy(self, model: Judged) -> PairAccuracy:
        """Return how often the model has the observed order; a predicted tie is a wrong one.

        Examples
        --------
        >>> import dmrank
        >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
        >>> from dmrank.evaluation import rated_pairs
        >>> means = dmrank.ItemMean().fit(split.train)
        >>> round(rated_pairs(split).accuracy(means).pooled, 3)
        0.639
        """
        return pair_accuracy(self.observed, self.predicted(model), self.pointer)


def rated_pairs(split: Split, most_per_user: int = 50, seed: int = 0) -> OrderPairs:
    """Take all pairs of items that a user rated in test, up to so many per user.

    Rows of users or items without a training row are left out. An aspect counts if both items
    have a rating on it.

    Examples
    --------
    >>> from dmrank import ItemMean, make_ratings
    >>> split = make_ratings(50, 20, 500, seed=1).ratings.split()
    >>> accuracy = rated_pairs(split).accuracy(ItemMean().fit(split.train))
    >>> print(f"{accuracy.pooled:.2f}")
    0.64
    """
    users, items, values = warm_rows(split)
    rng = make_rng(seed)
    starts = np.flatnonzero(np.diff(users, prepend=-1))
    first, second = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for start, end in zip(starts, np.append(starts[1:], len(users)), strict=True):
        i, j = np.triu_indices(end - start, 1)
        if len(i) > most_per_user:
            chosen = np.sort(rng.choice(len(i), size=most_per_user, replace=False))
            i, j = i[chosen], j[chosen]
        first.append(start + i)
        second.append(start + j)
    one, other = np.concatenate(first), np.concatenate(second)
    observed = values[one] - values[other]
    return OrderPairs.from_pairs(users[one], items[one], items[other], observed, split.train)


def any_pairs(split: Split, pairs: int = 150_000, seed: int = 0) -> OrderPairs:
    """Draw test rows, each against a uniform item that the user has not rated before.

    The first item is that of a uniformly drawn test row of a user and an item with a training row;
    rows are drawn again and again, so that there are so many pairs however few rows there are. The
    second is any other item with a training row that the user rated neither in training nor in
    validation. If the user rated it in test it has that rating, else it is unrated: 0 on every
    aspect. An aspect counts if it is missing in neither.

    Examples
    --------
    >>> from dmrank import Popularity, make_ratings
    >>> split = make_ratings(50, 20, 500, seed=1).ratings.split()
    >>> pairs = any_pairs(split, pairs=1_000)
    >>> print(len(pairs), f"{pairs.accuracy(Popularity().fit(split.train)).pooled:.2f}")
    1000 0.59
    """
    if pairs < 1:
        raise ConfigError(f"pairs={pairs}: ask for at least one pair")
    test = warm_rows(split)
    users, items, values = test
    opponents = Opponents(split)
    rng = make_rng(seed)
    eligible = np.flatnonzero(opponents.free[users] > 1)
    if len(eligible) == 0:
        nothing = users[:0], items[:0], items[:0], values[:0]
        return OrderPairs.from_pairs(*nothing, split.train, as_listed=True)
    rows = rng.choice(eligible, size=pairs)
    second = opponents.draw(users[rows], items[rows], rng)
    observed = values[rows] - _ratings_of(users[rows], second, test, len(split.train.items))
    drawn = users[rows], items[rows], second, observed
    return OrderPairs.from_pairs(*drawn, split.train, as_listed=True)


def _ratings_of(users: Int64s, items: Int64s, rated: WarmRows, n_items: int) -> Floats:
    """Return the ratings of (user, item) pairs, 0 on every aspect for one without a row."""
    keys, asked = rated.users * n_items + rated.items, users * n_items + items
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where((keys[place] == asked)[:, None], rated.values[place], 0.0)
