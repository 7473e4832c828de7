"""Ratings and Split: the values that flow through everything."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from dmrank.data import rows as rows_of
from dmrank.data import splitting
from dmrank.data.ids import Id, Ids, id_list, id_texts
from dmrank.data.positions import as_mask, positions
from dmrank.data.scale import ScaleLike, make_scale
from dmrank.data.times import TimeReader, Times, TimeUnit
from dmrank.support.arrays import Bools, Codes, Float32s, Int32s, Int64s
from dmrank.support.errors import (
    ConfigError,
    DataError,
    UnknownAspectError,
    did_you_mean,
    first_line,
)
from dmrank.support.files import write_table
from dmrank.support.frames import to_pandas
from dmrank.support.large_arrays import large_rows
from dmrank.support.shown import html

if TYPE_CHECKING:
    from pandas import DataFrame

#: Who is new, or who is folded in.
Side: TypeAlias = Literal["users", "items"]
#: Columns of a table that are never aspects.
RESERVED_COLUMNS = ("user", "item", "item_name", "timestamp")
#: The one aspect of implicit feedback.
INTERACTION = "interaction"
#: Key of the parquet metadata that carries the scale.
SCALE_METADATA = "dmrank.scale"
#: Rows that are made Python objects at once.
_ROWS_AT_ONCE = 1 << 14


class Digest(Protocol):
    """What `hashlib` returns."""

    def update(self, data: bytes | memoryview, /) -> object:
        """Take in some bytes."""


class View(NamedTuple):
    """The ratings of one user (or item): codes of the others, and the values, row by row."""

    codes: Int32s
    values: Float32s


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """Multi-aspect ratings: one immutable value that every other part of dmrank takes.

    Rows are sorted by user, then item, and each (user, item) occurs once; so two tables with the
    same content give equal Ratings whatever their row order. Make one with
    :func:`dmrank.read_ratings` or :meth:`from_arrays`.

    Attributes
    ----------
    users, items : Ids
        External ids, strings or whole numbers; the code of an id is its position.
    aspects : tuple of str
        Names of the K aspects.
    user_pointer : int64 array, M + 1
        Rows of user u are `user_pointer[u]` to `user_pointer[u + 1]` (CSR).
    item_codes : int32 array, n
        The rated item of each row, ascending within a user.
    values : float32 array, n × K
        The ratings, NaN where an aspect is missing.
    scale : float32 array, K × 2
        Lowest and highest rating of each aspect, declared or observed.
    timestamps : int64 array, n, or None
        Seconds since 1970, or whatever whole number the table had; see `time_unit`.
    item_names : polars Series or None
        A name for each item; "" where there is none.
    time_unit : {"s", "us", "ns"}
        What timestamps count: seconds, or where those do not suffice to tell dates and times
        apart, micro- or nanoseconds since 1970.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(
    ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
    ...     [[5, 4], [3, float("nan")], [4, 4]], aspects=["overall", "service"],
    ... )
    >>> ratings
    Ratings(2 users × 2 items × 2 aspects, 3 rating vectors, 16.7 % of aspect ratings missing)
    >>> ratings.of_user("ann").values
    array([[ 3., nan],
           [ 5.,  4.]], dtype=float32)
    """

    users: Ids
    items: Ids
    aspects: tuple[str, ...]
    user_pointer: Int64s
    item_codes: Int32s
    values: Float32s
    scale: Float32s
    timestamps: Int64s | None = None
    item_names: pl.Series | None = None
    time_unit: TimeUnit = "s"

    def __post_init__(self) -> None:
        _check_aspects(self.aspects)
        for array in (self.user_pointer, self.item_codes, self.values, self.scale, self.timestamps):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_arrays(
        cls,
        users: Sequence[Id] | ArrayLike | pl.Series,
        items: Sequence[Id] | ArrayLike | pl.Series,
        values: ArrayLike,
        *,
        aspects: Sequence[str],
        scale: ScaleLike | None = None,
        timestamps: ArrayLike | None = None,
    ) -> Ratings:
        """Make Ratings from one user id, item id and rating vector per row.

        A repeated (user, item) keeps the latest by timestamp, else the last row.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(
        ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
        ...     [[5, 4], [3, 2], [4, 4]], aspects=["overall", "service"],
        ... )
        >>> ratings.of_item('Ritz').values.tolist()
        [[5.0, 4.0], [4.0, 4.0]]
        """
        user_series, user_type = id_texts(users, "user")
        item_series, item_type = id_texts(items, "item")
        table = _rating_table(values, aspects)
        times = None if timestamps is None else _times(timestamps)
        lengths = {"users": len(user_series), "items": len(item_series), "values": len(table)}
        if times is not None:
            lengths["timestamps"] = len(times.values)
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{length:,} {name}" for name, length in lengths.items())
            raise DataError(f"there are {shown}: give one of each per row")
        user_ids = Ids(user_series.unique(), kind="user", type_=user_type)
        item_ids = Ids(item_series.unique(), kind="item", type_=item_type)
        return cls.from_codes(
            user_ids,
            item_ids,
            user_ids.codes(user_series),
            item_ids.codes(item_series),
            table,
            aspects=aspects,
            scale=scale,
            timestamps=None if times is None else times.values,
            time_unit="s" if times is None else times.unit,
        )

    @classmethod
    def from_codes(
        cls,
        users: Ids,
        items: Ids,
        user_codes: Codes,
        item_codes: Codes,
        values: Float32s | list[Float32s],
        *,
        aspects: Sequence[str],
        scale: ScaleLike | Float32s | None = None,
        timestamps: Int64s | None = None,
        item_names: pl.Series | None = None,
        time_unit: TimeUnit = "s",
    ) -> Ratings:
        """Make Ratings from codes, in any row order; see :meth:`from_arrays`.

        `values` may be a list of consecutive blocks of rows, which is emptied.
        """
        order, pointer = rows_of.canonical_order(user_codes, item_codes, len(users), timestamps)
        blocks = values if isinstance(values, list) else [values]
        scale = scale if isinstance(scale, np.ndarray) else make_scale(scale, blocks, aspects)
        return cls(
            users=users,
            items=items,
            aspects=tuple(aspects),
            user_pointer=pointer,
            item_codes=item_codes[order].astype(np.int32, copy=False),
            values=rows_of.reorder_blocks(blocks, order),
            scale=scale,
            timestamps=None if timestamps is None else timestamps[order],
            item_names=item_names,
            time_unit=time_unit,
        )

    def __len__(self) -> int:
        return len(self.item_codes)

    def __repr__(self) -> str:
        missing = float(np.isnan(self.values).mean()) if self.values.size else 0.0
        share = f", {missing:.1%} of aspect ratings missing".replace("%", " %") if missing else ""
        return (
            f"Ratings({len(self.users):,} users × {len(self.items):,} items × "
            f"{len(self.aspects)} aspects, {len(self):,} rating vectors{share})"
        )

    def _repr_html_(self) -> str:
        # Whole numbers get commas between thousands; those that are ids do not.
        first = self.head().to_polars().with_columns(pl.col("user", "item").cast(pl.String))
        return html(repr(self), first, digits=1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratings):
            return NotImplemented
        return (
            self.users == other.users
            and self.items == other.items
            and self.aspects == other.aspects
            and np.array_equal(self.user_pointer, other.user_pointer)
            and np.array_equal(self.item_codes, other.item_codes)
            and np.array_equal(self.values, other.values, equal_nan=True)
            and np.array_equal(self.scale, other.scale, equal_nan=True)
            and self._has_times_of(other)
            and _same(self.item_names, other.item_names)
        )

    def _has_times_of(self, other: Ratings) -> bool:
        if self.timestamps is None or other.timestamps is None:
            return self.timestamps is other.timestamps
        one = Times(self.timestamps, self.time_unit).coarsest()
        two = Times(other.timestamps, other.time_unit).coarsest()
        return one.unit == two.unit and np.array_equal(one.values, two.values)

    def __hash__(self) -> int:
        return hash((self.users, self.items, self.aspects, len(self)))

    @property
    def primary_aspect(self) -> str:
        """The aspect that ranks by default: `overall` if there is one, else the first.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(
        ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
        ...     [[5, 4], [3, 2], [4, 4]], aspects=["overall", "service"],
        ... )
        >>> ratings.primary_aspect
        'overall'
        """
        return "overall" if "overall" in self.aspects else self.aspects[0]

    @cached_property
    def user_codes(self) -> Int32s:
        """The user of each row.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(
        ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
        ...     [[5, 4], [3, 2], [4, 4]], aspects=["overall", "service"],
        ... )
        >>> ratings.user_codes.tolist()
        [0, 0, 1]
        """
        return rows_of.groups_of_rows(self.user_pointer)

    @cached_property
    def by_item(self) -> rows_of.Groups:
        """The rows of each item, by user within an item."""
        return rows_of.group_rows(self.item_codes, len(self.items))

    def aspect(self, name: str) -> int:
        """Return the column of an aspect.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(
        ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
        ...     [[5, 4], [3, 2], [4, 4]], aspects=["overall", "service"],
        ... )
        >>> ratings.aspect("service")
        1
        """
        try:
            return self.aspects.index(name)
        except ValueError:
            hint = did_you_mean(name, self.aspects)
            raise UnknownAspectError(f"aspect {name!r} is not in the ratings; {hint}") from None

    def of_user(self, user: Id) -> View:
        """Return the items that a user rated and the ratings, without copying."""
        code = self.users.code(user)
        rows = slice(self.user_pointer[code], self.user_pointer[code + 1])
        return View(self.item_codes[rows], self.values[rows])

    def of_item(self, item: Id) -> View:
        """Return the users who rated an item and their ratings."""
        code = self.items.code(item)
        rows = self.by_item.rows[self.by_item.pointer[code] : self.by_item.pointer[code + 1]]
        return View(self.user_codes[rows], self.values[rows])

    def item_name(self, code: int) -> str:
        """Return the name of an item, or its id where it has no name.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> ratings.item_name(3)
        'Old Market Suites'
        """
        name = "" if self.item_names is None else str(self.item_names[code])
        return name or str(self.items[code])

    def select(self, rows: Codes | Bools) -> Ratings:
        """Keep the given rows (ascending, or a mask); ids, codes and scale stay as they are.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(
        ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
        ...     [[5, 4], [3, 2], [4, 4]], aspects=["overall", "service"],
        ... )
        >>> len(ratings.select([0, 2]))
        2
        """
        rows = positions(rows, len(self), "rows")
        if (rows[1:] <= rows[:-1]).any() or (len(rows) and rows[0] < 0):
            raise DataError("rows are not in ascending order, each once: sort them (np.unique)")
        starts, items = self.user_pointer, self.item_codes
        return replace(
            self,
            user_pointer=large_rows(
                len(starts), np.int64, lambda users: np.searchsorted(rows, starts[users])
            ),
            item_codes=large_rows(len(rows), items.dtype, lambda own: items[rows[own]]),
            values=rows_of.gather_rows(self.values, rows),
            timestamps=None if self.timestamps is None else self.timestamps[rows],
        )

    def head(self, n: int = 5) -> Ratings:
        """Keep the first n rows; see :meth:`select`.

        Examples
        --------
        >>> ratings = Ratings.from_arrays([7, 7], [1, 2], [[5], [3]], aspects=["overall"])
        >>> list(ratings.head(1))
        [{'user': 7, 'item': 1, 'overall': 5.0}]
        """
        return self.select(positions(slice(n), len(self), "rows"))

    def filter(
        self,
        expression: pl.Expr | None = None,
        *,
        users: Id | Iterable[Id] | None = None,
        items: Id | Iterable[Id] | None = None,
        mask: ArrayLike | pl.Series | None = None,
    ) -> Ratings:
        """Keep the rows that satisfy every condition.

        Ids and codes stay as they are, also those without a row, so that a model or a split that
        shares them still fits; :meth:`compact` drops them.

        Parameters
        ----------
        expression : polars expression, optional
            A condition on the columns of :meth:`to_polars`; what is null does not satisfy it.
        users, items : id or iterable of ids, optional
            Whose rows are kept.
        mask : array of bool, optional
            A truth value for each row.

        Examples
        --------
        >>> users, items = ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"]
        >>> ratings = Ratings.from_arrays(users, items, [[5], [3], [4]], aspects=["value"])
        >>> len(ratings.filter(users="ann")), len(ratings.filter(pl.col("value") > 3, users="ann"))
        (2, 1)
        """
        kept = np.ones(len(self), dtype=np.bool_)
        for ids, codes, wanted in (
            (self.users, self.user_codes, users),
            (self.items, self.item_codes, items),
        ):
            if wanted is not None:
                chosen = np.zeros(len(ids), dtype=np.bool_)
                chosen[ids.codes(id_list(wanted))] = True
                kept &= chosen[codes]
        if mask is not None:
            kept &= as_mask(mask, len(self), "rows")
        if expression is not None:
            kept &= self._satisfies(expression)
        return self.select(kept)

    def _satisfies(self, expression: pl.Expr) -> Bools:
        if not isinstance(expression, pl.Expr):
            raise DataError(
                f"{type(expression).__name__} is no expression: give one of Polars, such as "
                "pl.col('overall') > 3, or mask="
            )
        try:
            found = self.to_polars().select(expression.alias("kept"))["kept"]
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the expression cannot be evaluated: {first_line(error)}") from None
        known = found.fill_null(False) if found.dtype == pl.Boolean else found
        return as_mask(known, len(self), "rows")

    def compact(self) -> Ratings:
        """Drop users and items without a row; the others get new codes."""
        user_rows = np.diff(self.user_pointer)
        item_rows = rows_of.count_codes(self.item_codes, len(self.items))
        if user_rows.all() and item_rows.all():
            return self
        users, items = np.flatnonzero(user_rows), np.flatnonzero(item_rows)
        new_item_code = (np.cumsum(item_rows > 0) - 1).astype(np.int32)
        return replace(
            self,
            users=self.users.take(users),
            items=self.items.take(items),
            user_pointer=np.append(self.user_pointer[:-1][users], len(self)),
            item_codes=new_item_code[self.item_codes],
            item_names=None if self.item_names is None else self.item_names[items],
        )

    def with_ids(self, users: Ids, items: Ids, item_names: pl.Series | None) -> Ratings:
        """Give the same ratings the codes of a larger id map."""
        return Ratings.from_codes(
            users,
            items,
            users.codes(self.users)[self.user_codes],
            items.codes(self.items)[self.item_codes],
            self.values,
            aspects=self.aspects,
            scale=self.scale,
            timestamps=self.timestamps,
            item_names=item_names,
            time_unit=self.time_unit,
        )

    def in_time_unit(self, unit: TimeUnit) -> Ratings:
        """Return the same ratings with timestamps in a unit that is at least as fine."""
        if self.timestamps is None or unit == self.time_unit:
            return self
        times = Times(self.timestamps, self.time_unit).to(unit)
        return replace(self, timestamps=times, time_unit=unit)

    def k_core(self, k: int) -> Ratings:
        """Keep the users and items with at least k ratings each, iterated to a fixed point.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> len(ratings), len(ratings.k_core(5))
        (500, 461)
        """
        keep = rows_of.k_core(self.user_codes, self.item_codes, len(self.users), len(self.items), k)
        return (self if keep.all() else self.select(np.flatnonzero(keep))).compact()

    def split(
        self,
        train: float = 0.7,
        validation: float = 0.15,
        test: float = 0.15,
        *,
        seed: int = 0,
        by: rows_of.SplitBy = "random",
    ) -> Split:
        """Split the rating vectors into train, validation and test, which share one id map.

        Parameters
        ----------
        train, validation, test : float
            The shares; they add up to 1.
        seed : int
            Same seed, same split; used by `by="random"` only.
        by : {"random", "time", "time-per-user"}
            Uniformly at random; the newest rows of all users last; or each user's newest last.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> split = ratings.split(0.7, 0.15, 0.15, seed=0)
        >>> len(split.train), len(split.validation), len(split.test)
        (350, 75, 75)
        """
        shares = (train, validation, test)
        if by == "random":
            parts = rows_of.random_parts(len(self), *shares, seed)
        elif by in ("time", "time-per-user"):
            if self.timestamps is None:
                raise _needs_timestamps(by)
            if by == "time":
                parts = rows_of.time_parts(self.timestamps, *shares)
            else:
                parts = rows_of.time_per_user_parts(self.user_pointer, self.timestamps, *shares)
        else:
            known = ("random", "time", "time-per-user")
            raise ConfigError(f"split by {by!r} is not known; {did_you_mean(str(by), known)}")
        return Split(*(self.select(rows) for rows in parts))

    def leave_one_out(self, *, seed: int = 0, by: Literal["random", "time"] = "random") -> Split:
        """Hold one row of each user back for test, and another one for validation.

        A user with two rows has none for validation; the single row of a user is trained on.

        Parameters
        ----------
        seed : int
            Same seed, same split; used by `by="random"` only.
        by : {"random", "time"}
            Hold back any rows, or the newest for test and the one before for validation.

        Examples
        --------
        >>> from dmrank import make_ratings
        >>> make_ratings(100, 30, 2_000, seed=1).ratings.leave_one_out()
        Split(train 1,804, validation 97, test 99 rating vectors; 0 outside train with a cold ...)
        """
        if by == "time" and self.timestamps is None:
            raise _needs_timestamps(by)
        if by not in ("random", "time"):
            hint = did_you_mean(str(by), ("random", "time"))
            raise ConfigError(f"leave one out by {by!r} is not known; {hint}")
        at_random = np.random.default_rng(seed).random(len(self))
        order = self.timestamps if by == "time" and self.timestamps is not None else at_random
        parts = splitting.leave_one_out_parts(self.user_pointer, order)
        return Split(*(self.select(rows) for rows in parts))

    def k_fold(self, k: int = 5, *, validation: float = 0.15, seed: int = 0) -> Iterator[Split]:
        """Part the rows into k folds, and test on each in turn.

        Parameters
        ----------
        k : int
            How many folds.
        validation : float
            Share of the rows outside a fold that are held back for validation.
        seed : int
            Same seed, same folds.

        Yields
        ------
        Split
            One for each fold; all share one id map.

        Examples
        --------
        >>> from dmrank import make_ratings
        >>> ratings = make_ratings(100, 30, 2_000, seed=1).ratings
        >>> [len(split.test) for split in ratings.k_fold(3)]
        [667, 667, 666]
        """
        folds = splitting.fold_parts(len(self), k, validation, seed)
        return (Split(*(self.select(rows) for rows in parts)) for parts in folds)

    def cold_start(
        self,
        of: Side = "users",
        *,
        share: float = 0.2,
        given: int = 5,
        validation: float = 0.15,
        seed: int = 0,
    ) -> ColdStart:
        """Keep some users, or items, out of training, to be folded in and judged later.

        Parameters
        ----------
        of : {"users", "items"}
            Who is new.
        share : float
            Of those with more than `given` ratings.
        given : int
            From how many ratings each is folded in; the others are those of test.
        validation : float
            Share of the other rows.
        seed : int
            Same seed, same parts.

        Returns
        -------
        ColdStart
            Fit models on its `train`, and give it to `dmrank.evaluate`, which folds in.

        Examples
        --------
        >>> from dmrank import make_ratings
        >>> make_ratings(100, 30, 2_000, seed=1).ratings.cold_start(given=3)
        ColdStart(19 new users with 57 given rating vectors; train 1,356, validation 239, test 348)
        """
        if of not in ("users", "items"):
            raise ConfigError(f"of={of!r}: {did_you_mean(str(of), ('users', 'items'))}")
        codes = (self.user_codes, self.item_codes)
        own, others = codes if of == "users" else codes[::-1]
        parts = splitting.cold_parts(own, others, share, given, validation, seed)
        return ColdStart(of, *(self.select(rows) for rows in parts))

    def update_digest(self, digest: Digest) -> None:
        """Feed the rows to a digest of `hashlib`: who rated what, and how.

        Studies and checkpoints are found again by such digests, so that the bytes never change.

        Examples
        --------
        >>> import hashlib
        >>> ratings = Ratings.from_arrays(["ann"], ["Ritz"], [[5]], aspects=["overall"])
        >>> digest = hashlib.sha256()
        >>> ratings.update_digest(digest)
        >>> digest.hexdigest()[:16]
        '01fe3d1a3cda85ec'
        """
        for array in (self.user_pointer, self.item_codes, self.values):
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def to_polars(self) -> pl.DataFrame:
        """Return a table: user, item, then item_name and timestamp if known, then the aspects.

        Examples
        --------
        >>> ratings = Ratings.from_arrays(
        ...     ["ann", "ann", "bob"], ["Ritz", "Hilton", "Ritz"],
        ...     [[5, 4], [3, 2], [4, 4]], aspects=["overall", "service"],
        ... )
        >>> ratings.to_polars().columns
        ['user', 'item', 'overall', 'service']
        """
        columns = [
            self.users.names(self.user_codes).alias("user"),
            self.items.names(self.item_codes).alias("item"),
        ]
        if self.item_names is not None:
            columns.append(self.item_names[self.item_codes].alias("item_name"))
        if self.timestamps is not None:
            columns.append(Times(self.timestamps, self.time_unit).to_series())
        columns += [
            pl.Series(name, np.ascontiguousarray(self.values[:, k]), nan_to_null=True)
            for k, name in enumerate(self.aspects)
        ]
        return pl.DataFrame(columns)

    def to_pandas(self) -> DataFrame:
        """Return the table of :meth:`to_polars` as a pandas one (extra `pandas`)."""
        return to_pandas(self.to_polars())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of :meth:`to_polars` as dicts, None where an aspect is missing."""
        for start in range(0, len(self), _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(self)))
            yield from self.select(rows).to_polars().iter_rows(named=True)

    def write(self, path: str | os.PathLike[str], *, safe_cells: bool = False) -> Path:
        """Write a csv, tsv, jsonl (each plain or .gz) or parquet file, by the path's ending.

        The file is written beside its final place and then renamed, so that it is there whole
        or not at all. Parquet keeps the scale; the other formats do not.

        With `safe_cells`, csv and tsv files are for spreadsheets: ids and names that begin like a
        formula (``=``, ``+``, ``-``, ``@``, a tab) get an apostrophe before them.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> path = ratings.write(Path(tempfile.mkdtemp()) / "ratings.parquet")
        >>> len(dmrank.read_ratings(path))
        500
        """
        scale = dict(zip(self.aspects, self.scale.tolist(), strict=True))
        metadata = {SCALE_METADATA: json.dumps(scale)}
        return write_table(self.to_polars(), path, metadata=metadata, safe_cells=safe_cells)


@dataclass(frozen=True)
class Split:
    """Train, validation and test ratings that share one id map.

    Rows of users or items that have no training row (cold ones) are kept; :attr:`cold_users`,
    :attr:`cold_items` and :meth:`cold_rows` flag them.

    Examples
    --------
    >>> import dmrank
    >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
    >>> split
    Split(train 350, validation 75, test 75 rating vectors; 1 outside train ...)
    """

    train: Ratings
    validation: Ratings
    test: Ratings

    @cached_property
    def cold_users(self) -> Bools:
        """Whether each user has no training row."""
        cold: Bools = np.diff(self.train.user_pointer) == 0
        return cold

    @cached_property
    def cold_items(self) -> Bools:
        """Whether each item has no training row."""
        rows = rows_of.count_codes(self.train.item_codes, len(self.train.items))
        cold: Bools = rows == 0
        return cold

    def cold_rows(self, part: Ratings) -> Bools:
        """Whether each row of a part has a cold user or a cold item."""
        return self.cold_users[part.user_codes] | self.cold_items[part.item_codes]

    def __repr__(self) -> str:
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        shown = ", ".join(f"{name} {len(part):,}" for name, part in parts.items())
        cold = sum(int(self.cold_rows(part).sum()) for part in (self.validation, self.test))
        return f"Split({shown} rating vectors; {cold:,} outside train with a cold user or item)"

    def _repr_html_(self) -> str:
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        rows = [
            {
                "part": name,
                "rating vectors": len(part),
                "users": int(rows_of.has_rows(part.user_pointer).sum()),
                "items": len(np.unique(part.item_codes)),
                "of a cold user or item": int(self.cold_rows(part).sum()),
            }
            for name, part in parts.items()
        ]
        return html("Split", pl.DataFrame(rows))


@dataclass(frozen=True, repr=False)
class ColdStart:
    """Ratings whose test users, or test items, have no training row.

    Attributes
    ----------
    of : {"users", "items"}
        Who is new.
    train, validation : Ratings
        What a model is fitted on: nothing of those who are new.
    given : Ratings
        What is known of those who are new when they are folded in.
    test : Ratings
        Their other ratings.
    """

    of: Side
    train: Ratings
    validation: Ratings
    given: Ratings
    test: Ratings

    @cached_property
    def folded(self) -> Split:
        """The split on which a model is judged that was given what is known of the new ones."""
        train, given = self.train, self.given
        known = Ratings.from_codes(
            train.users,
            train.items,
            np.concatenate([train.user_codes, given.user_codes]),
            np.concatenate([train.item_codes, given.item_codes]),
            np.concatenate([train.values, given.values]),
            aspects=train.aspects,
            scale=train.scale,
            item_names=train.item_names,
        )
        return Split(known, self.validation, self.test)

    def __repr__(self) -> str:
        new = self.given.user_codes if self.of == "users" else self.given.item_codes
        return (
            f"ColdStart({len(np.unique(new)):,} new {self.of} with {len(self.given):,} given "
            f"rating vectors; train {len(self.train):,}, validation {len(self.validation):,}, "
            f"test {len(self.test):,})"
        )


def _needs_timestamps(by: str) -> DataError:
    return DataError(f"split by {by!r} needs timestamps: read the ratings with timestamp=COLUMN")


def _check_aspects(aspects: Sequence[str]) -> None:
    if not aspects:
        raise DataError("there is no aspect: implicit feedback has one, named 'interaction'")
    for name in aspects:
        if not name:
            raise DataError("an aspect has an empty name: name every aspect")
        if name in RESERVED_COLUMNS:
            raise DataError(f"an aspect cannot be named {name!r}: rename that column")
    if len(set(aspects)) != len(aspects):
        raise DataError(f"an aspect is named twice: {', '.join(aspects)}")


def _rating_table(values: ArrayLike, aspects: Sequence[str]) -> Float32s:
    try:
        table = np.array(values, dtype=np.float32)
    except (TypeError, ValueError):
        raise DataError("values are not numbers: give a rating per aspect, or NaN") from None
    if len(aspects) == 1 and table.ndim == 1:
        table = table[:, None]
    if table.size == 0:
        table = table.reshape(len(table), len(aspects))
    if table.ndim != 2 or table.shape[1] != len(aspects):
        raise DataError(
            f"ratings have the shape {table.shape}: give one row per rating vector, with "
            f"{len(aspects)} columns, one per aspect"
        )
    return table


def _times(timestamps: Any) -> Times:
    reader = TimeReader("ratings")
    try:
        objects = isinstance(timestamps, np.ndarray) and timestamps.dtype == object
        reader.add(pl.Series("timestamps", timestamps.tolist() if objects else timestamps), 1)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        raise DataError("timestamps are not times: give numbers or dates") from None
    return reader.finish()


def _same(one: pl.Series | None, other: pl.Series | None) -> bool:
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and bool((one == other).all())
