"""How lists of items and item vectors lie in memory, and the checks before a kernel reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.support.arrays import AnyFloats, Bools, Codes, Float32s, Floats, Int32s, Int64s
from dmrank.support.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# With fewer items than this left, copying their vectors costs less than scoring all.
_FEW = 0.5

NOT_FINITE = "a score is NaN or infinite: check the vectors, the model may have diverged"


class ItemLists(NamedTuple):
    """The list of user u is ``items[pointer[u]:pointer[u + 1]]``, ascending, each item once."""

    pointer: Int64s
    items: Int32s

    def of(self, start: int, stop: int) -> ItemLists:
        """Return the lists of a range of the users."""
        pointer = self.pointer[start : stop + 1]
        return ItemLists(pointer - pointer[0], self.items[pointer[0] : pointer[-1]])

    def some(self, users: Codes) -> ItemLists:
        """Return the lists of some of the users."""
        return lists_of(self.pointer, self.items, users)


def item_lists(
    name: str, pointer: ArrayLike, items: ArrayLike, n_users: int, n_items: int
) -> ItemLists:
    """Check lists before a kernel reads memory by them.

    Parameters
    ----------
    name
        What the lists are called in an error.
    pointer, items
        The flat layout.
    n_users, n_items
        How many lists there must be, and how many items there are.

    Examples
    --------
    >>> item_lists("seen", [0, 2, 2], [0, 7], n_users=2, n_items=5)
    Traceback (most recent call last):
    ...
    dmrank.DataError: seen items hold code 7: there are 5 items, from 0
    """
    bounds = np.asarray(pointer, dtype=np.int64)
    codes = np.asarray(items, dtype=np.int32)
    if len(bounds) != n_users + 1:
        raise DataError(
            f"{name} pointer of length {len(bounds)} for {n_users} users: give {n_users + 1}"
        )
    if bounds[0] < 0 or bounds[-1] > len(codes) or (bounds[1:] < bounds[:-1]).any():
        raise DataError(f"{name} pointer does not ascend from 0 to at most {len(codes)}")
    used = codes[bounds[0] : bounds[-1]]
    for code in (used.min(initial=0), used.max(initial=0)):
        if not 0 <= code < max(n_items, 1):
            raise DataError(f"{name} items hold code {code}: there are {n_items} items, from 0")
    if not _ascend(used, bounds - bounds[0]):
        raise DataError(f"{name} items of a user do not ascend: sort them and name each once")
    return ItemLists(bounds, codes)


def _ascend(items: Int32s, pointer: Int64s) -> bool:
    ascends = items[1:] > items[:-1]
    starts = pointer[(pointer > 0) & (pointer < len(items))]
    ascends[starts - 1] = True
    return bool(ascends.all())


def lists_of(pointer: Int64s, items: Int32s, users: Codes) -> ItemLists:
    """Return the lists of some users, in the same layout.

    Examples
    --------
    >>> lists_of(np.array([0, 2, 2, 3]), np.array([4, 5, 6]), np.array([2, 0]))
    ItemLists(pointer=array([0, 1, 3]), items=array([6, 4, 5]))
    """
    counts = pointer[users + 1] - pointer[users]
    ends = np.concatenate([[0], np.cumsum(counts)])
    rows = np.repeat(pointer[users] - ends[:-1], counts) + np.arange(ends[-1])
    return ItemLists(ends, items[rows])


def item_mask(name: str, mask: ArrayLike, n_items: int) -> Bools:
    """Return a mask of items, after a check that it has one truth value for each.

    Examples
    --------
    >>> item_mask("allowed", [True, False], n_items=3)
    Traceback (most recent call last):
    ...
    dmrank.DataError: allowed has shape (2,): give one truth value for 3 items
    """
    checked = np.asarray(mask, dtype=np.bool_)
    if checked.shape != (n_items,):
        raise DataError(
            f"{name} has shape {checked.shape}: give one truth value for {n_items} items"
        )
    return checked


class ItemColumns(NamedTuple):
    """Item vectors as the kernels read them: one row per factor, and only items that take part.

    Attributes
    ----------
    columns
        Of shape (factors, items that take part), the longest vectors first.
    codes
        Their codes.
    lengths
        Their lengths, descending.
    n_items
        Number of all items.
    largest
        The largest absolute value in `columns`.
    """

    columns: Float32s
    codes: Int32s
    lengths: Floats
    n_items: int
    largest: float

    def among(self, allowed: ArrayLike | None) -> tuple[ItemColumns, Bools]:
        """Return the items to score, and which of them may be returned.

        Parameters
        ----------
        allowed
            True for the items, of all, that may be returned; None means every one.
        """
        if allowed is None:
            return self, np.ones(len(self.codes), np.bool_)
        mask = item_mask("allowed", allowed, self.n_items)[self.codes]
        if mask.sum() >= _FEW * len(mask):
            return self, mask
        kept = np.flatnonzero(mask)
        # np.take makes rows contiguous, which fancy indexing of the second axis may not.
        some = self._replace(
            columns=np.take(self.columns, kept, axis=1),
            codes=self.codes[kept],
            lengths=self.lengths[kept],
        )
        return some, np.ones(len(kept), np.bool_)


def item_columns(item_vectors: ArrayLike, allowed: ArrayLike | None = None) -> ItemColumns:
    """Lay out item vectors for many rankings.

    Parameters
    ----------
    item_vectors
        One row per item.
    allowed
        True for the items that take part; by default all.

    Examples
    --------
    >>> item_columns([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], allowed=[True, False, True]).columns
    array([[5., 1.],
           [6., 2.]], dtype=float32)
    """
    vectors = as_matrix(item_vectors)
    n_items = len(vectors)
    codes = np.arange(n_items, dtype=np.int32)
    if allowed is not None:
        codes = codes[item_mask("allowed", allowed, n_items)]
        vectors = vectors[codes]
    lengths = np.sqrt(np.einsum("nf,nf->n", vectors, vectors, dtype=np.float64))
    # NaN and what is too large are refused when there is a user.
    order = np.argsort(-lengths)  # which of equal ones comes first changes no list
    columns = np.take(vectors.T, order, axis=1)
    return ItemColumns(columns, codes[order], lengths[order], n_items, largest(columns))


def checked_vectors(user_vectors: ArrayLike, item_vectors: ArrayLike) -> tuple[Float32s, Float32s]:
    """Return both as float32 matrices whose every score is a finite number.

    Examples
    --------
    >>> users, items = checked_vectors([[1.0, 2.0]], [[0.5, 0.5], [2.0, 0.0]])
    >>> users.dtype, items.shape
    (dtype('float32'), (2, 2))
    """
    items = as_matrix(item_vectors)
    users = checked_users(user_vectors, items.shape[1], largest(items))
    return users, items


def checked_users(user_vectors: ArrayLike, factors: int, largest_of_items: float) -> Float32s:
    """Return user vectors as a float32 matrix whose scores of such items are finite numbers.

    Parameters
    ----------
    user_vectors
        One row per user.
    factors, largest_of_items
        Length of an item's vector, and the largest absolute value in any.

    Examples
    --------
    >>> checked_users([[1.0, 2.0]], factors=3, largest_of_items=1.0)
    Traceback (most recent call last):
    ...
    dmrank.DataError: user vectors of shape (1, 2) and item vectors of 3 columns: give two
    matrices with the same number of columns
    """
    users = np.ascontiguousarray(as_matrix(user_vectors))
    check_widths(users, factors)
    # NaN survives the maximum and fails the comparison.
    bound = largest(users) * largest_of_items * factors
    if not bound <= float(np.finfo(np.float32).max):
        raise DataError(NOT_FINITE)
    return users


def check_widths(users: Float32s, factors: int) -> None:
    """Refuse user vectors that have no dot product with item vectors of this length."""
    if users.shape[1] != factors:
        raise DataError(
            f"user vectors of shape {users.shape} and item vectors of {factors} columns: "
            "give two matrices with the same number of columns"
        )


def as_matrix(vectors: ArrayLike) -> Float32s:
    """Return vectors as a float32 matrix; what is too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2:
        raise DataError(f"vectors of shape {matrix.shape}: give a matrix with one row for each")
    return matrix


def largest(values: Float32s) -> float:
    """Return the largest absolute value, NaN if there is one."""
    return float(max(values.max(), -values.min())) if values.size else 0.0


def checked_scores(score_block: ArrayLike) -> AnyFloats:
    """Return a block of scores, users by items, as a matrix of floats without NaN.

    Examples
    --------
    >>> checked_scores([[1, 2]])
    array([[1., 2.]])
    """
    scores = np.asarray(score_block)
    if scores.dtype not in (np.float32, np.float64):
        scores = scores.astype(np.float64)
    if scores.ndim != 2:
        raise DataError(f"scores of shape {scores.shape}: give a matrix of users by items")
    if np.isnan(scores).any():
        raise DataError("a score is NaN: the model may have diverged")
    return np.ascontiguousarray(scores)
