"""External ids and their dense codes: a frozen, two-way map."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, final, overload

import numpy as np
import polars as pl

from dmrank.data.positions import positions
from dmrank.data.stored_ids import StoredIds
from dmrank.support.arrays import Bools, Codes, Int32s, Int64s
from dmrank.support.errors import DataError, UnknownItemError, UnknownUserError, did_you_mean

Kind = Literal["user", "item"]
#: What users and items are called: what a text file has, or a column of whole numbers.
Id: TypeAlias = str | int
IdType = Literal["string", "integer"]
#: Which of many: a slice, positions, or a mask.
Places: TypeAlias = slice | Sequence[int] | Codes | Bools | pl.Series
_UNKNOWN: Mapping[Kind, type[UnknownUserError | UnknownItemError]] = {
    "user": UnknownUserError,
    "item": UnknownItemError,
}
#: With more ids than these, many at once are searched for.
_MANY: Final = 1 << 16
#: Reading all ids takes as long as finding one in so many in the file, or searching this often.
_FEW: Final = 16
_PER_SEARCH: Final = 1_280
#: Whole numbers as they are written: those of users lose nothing on their way through text.
_WHOLE: Final = re.compile(r"0|-?[1-9]\d*", re.ASCII)


def is_whole(name: object) -> bool:
    """Return whether something is a whole number; truth values are none.

    Examples
    --------
    >>> is_whole(12), is_whole(np.int64(12)), is_whole(True), is_whole("12")
    (True, True, False, False)
    """
    return isinstance(name, int | np.integer) and not isinstance(name, bool)


def id_list(names: object) -> list[Id]:
    """Return ids as a list: a single one would else be read letter by letter.

    Examples
    --------
    >>> id_list("ann"), id_list(("ann", "bob")), id_list(12)
    (['ann'], ['ann', 'bob'], [12])
    """
    if isinstance(names, str):
        return [names]
    if isinstance(names, int | np.integer) and is_whole(names):
        return [int(names)]
    if not isinstance(names, bytes) and isinstance(names, Iterable):
        try:
            return list(names)
        except TypeError:  # an array of no dimension
            pass
    raise DataError(
        f"{_shown(names)} is no id: ids are strings or whole numbers, give one or several"
    )


def id_texts(ids: Any, kind: Kind) -> tuple[pl.Series, IdType]:
    """Return ids as text, and their type.

    Examples
    --------
    >>> id_texts([12, 7], "user")[0].to_list(), id_texts(["12"], "user")[1]
    (['12', '7'], 'string')
    """
    objects = isinstance(ids, np.ndarray) and ids.dtype == object
    given = ids.tolist() if objects else ids
    try:
        series = pl.Series(kind, given)
        if not series.dtype.is_float():
            return series.cast(pl.String), "integer" if series.dtype.is_integer() else "string"
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    types = sorted({type(value).__name__ for value in given})
    if types == ["int"]:
        raise _too_large(kind, min(given), max(given))
    if len(types) > 1:
        raise DataError(
            f"{kind} ids are of several types ({', '.join(types)}): make them all strings, or all "
            "whole numbers"
        )
    odd = next(iter(given), given)
    raise DataError(f"{kind} id {_shown(odd)} is no id: ids are strings or whole numbers")


def _integers(texts: pl.Series, kind: Kind) -> pl.Series:
    """Return whole numbers that are written as text, in the narrower of two types."""
    for type_ in (pl.Int64, pl.UInt64):
        numbers = texts.cast(type_, strict=False)
        if (numbers.cast(pl.String) == texts).all() and not numbers.has_nulls():
            return numbers
    for text in texts:
        if not _WHOLE.fullmatch(text):
            raise DataError(
                f"{kind} id {text!r} is no whole number, as those of other {kind}s are: make them "
                "all whole numbers, or all strings"
            )
    numbers_of = [int(text) for text in texts]
    raise _too_large(kind, min(numbers_of), max(numbers_of))


def _too_large(kind: Kind, low: int, high: int) -> DataError:
    return DataError(
        f"{kind} ids from {low} to {high} do not fit into whole numbers of 64 bits: make them "
        "strings"
    )


def _shown(name: object) -> str:
    return " ".join(repr(name).split())[:60]


@final
class Ids:
    """The ids of users or items in ascending order; the code of an id is its position.

    The order, that of text, makes the codes a function of the set of ids alone: the same ratings in
    another row order get the same codes, and so the same models. (Ids that are added to a model
    later follow in the order they came, see :meth:`extended`.)

    Whole numbers come out as whole numbers; inside they are text like any other id.

    Parameters
    ----------
    names : iterable of str or int, or polars Series
        The distinct ids; they are sorted.
    kind : {"user", "item"}
        What they name, for error messages.
    type_ : {"string", "integer"}, optional
        What they are; by default what `names` are. Whole numbers may be given as text.

    Attributes
    ----------
    type : {"string", "integer"}
        What they are.

    Examples
    --------
    >>> items = Ids(["Ritz", "Hilton"], kind="item")
    >>> items.code("Ritz"), items[0], len(items)
    (1, 'Hilton', 2)
    >>> items.codes(["Ritz", "Ritz"])
    array([1, 1], dtype=int32)
    >>> users = Ids([7, 12], kind="user")
    >>> users.code(7), users.code("7"), users[:2].to_list()
    (1, 1, [12, 7])
    """

    def __init__(
        self, names: Iterable[Id] | pl.Series, *, kind: Kind, type_: IdType | None = None
    ) -> None:
        given = names if isinstance(names, pl.Series | np.ndarray) else list(names)
        texts, found = id_texts(given, kind)
        texts = texts.sort()
        if len(texts) and (texts.is_null().any() or texts[0] == ""):
            raise DataError(f"an {kind} id is empty: give every {kind} an id")
        if texts.n_unique() != len(texts):
            raise DataError(f"{kind} ids are repeated: give each {kind} once")
        self._take(texts, kind, type_ or found)

    @classmethod
    def from_sorted(cls, names: pl.Series, *, kind: Kind, type_: IdType = "string") -> Ids:
        """Make the map of ids, as text, that are known to be distinct, not empty and in order."""
        ids = cls.__new__(cls)
        ids._take(names, kind, type_)
        return ids

    @classmethod
    def read_later(
        cls,
        read: Callable[[], Ids],
        in_order: Callable[[], StoredIds | None],
        count: int,
        *,
        kind: Kind,
        type_: IdType,
    ) -> Ids:
        """Make the map of so many ids that are read when they are asked for.

        Millions of ids take longer to read than all else of a model, and who only asks by codes
        (as blocks of work do) never needs them. Who asks for few of them finds these in the file,
        which `in_order` opens if its ids are ascending.
        """
        ids = cls.__new__(cls)
        ids.kind, ids.type, ids._count = kind, type_, count
        ids._read, ids._in_order = read, in_order
        return ids

    #: What reads them, if they were not read yet.
    _read: Callable[[], Ids]
    _in_order: Callable[[], StoredIds | None] | None = None
    #: How often something was looked for in the file.
    _searches: int = 0

    def _take(self, texts: pl.Series, kind: Kind, type_: IdType) -> None:
        self.kind: Kind = kind
        self.type: IdType = type_
        self._count = len(texts)
        self.series = texts.rename(kind).rechunk()
        self.values = _integers(self.series, kind) if type_ == "integer" else self.series

    @cached_property
    def _ids_read(self) -> Ids:
        return self._read()

    @cached_property
    def series(self) -> pl.Series:
        """The ids as text."""
        return self._ids_read.series

    @cached_property
    def values(self) -> pl.Series:
        """The ids as they are."""
        return self._ids_read.values

    @cached_property
    def _stored(self) -> StoredIds | None:
        return self._in_order() if self._in_order is not None else None

    def _unread(self, asked: int = 0) -> StoredIds | None:
        """Return the file in which so few of many ids are found, unless all have been read.

        Who asks again and again is better off with all of them.
        """
        least = max(_MANY, asked * _FEW, self._searches * _PER_SEARCH)
        if "series" in vars(self) or len(self) <= least:
            return None
        self._searches += 1
        return self._stored

    def as_stored(self) -> StoredIds:
        """Return the ids as the bytes of a file: of the one they are in, if they were not read."""
        stored = self._unread()
        return StoredIds.of(self.series) if stored is None else stored

    def __getstate__(self) -> dict[str, Any]:
        # What reads them knows a file, which another process may not have.
        own = {"kind": self.kind, "type": self.type, "_count": self._count}
        return own | {"series": self.series, "values": self.values}

    def extended(self, names: Sequence[str]) -> Ids:
        """Return the map with further ids, whose codes follow the last one in the given order.

        The codes of the others stay, and nothing is made anew for them: a map of millions is
        extended at once.
        """
        texts = pl.Series(self.kind, names, dtype=pl.String)
        if (self.find_many(names) >= 0).any() or texts.n_unique() != len(names):
            raise DataError(f"{self.kind} ids are repeated: give each {self.kind} once")
        ids = Ids.__new__(Ids)
        ids.kind, ids.type, ids._count = self.kind, self.type, len(self) + len(names)
        ids.series = pl.concat([self.series, texts])
        ids.values = ids.series
        if self.type == "integer":
            ids.values = pl.concat([self.values, self.column(names)])
        ids.__dict__["_code_of"] = _Extended(self, names)
        return ids

    def first(self, count: int) -> Ids:
        """Return the map of the first ids: those that were there before others were added."""
        return self._part(slice(count))

    def _part(self, which: slice | Codes) -> Ids:
        ids = Ids.__new__(Ids)
        ids.kind, ids.type = self.kind, self.type
        ids.series = self.series[which].rechunk()
        ids.values = self.values[which].rechunk() if self.type == "integer" else ids.series
        ids._count = len(ids.series)
        return ids

    @cached_property
    def _code_of(self) -> Mapping[str, int]:
        return {name: code for code, name in enumerate(self.series)}

    @cached_property
    def is_ascending(self) -> bool:
        """Whether all ids are in their order, so that none was added later."""
        return bool((self.series.shift(1) < self.series).slice(1).all())

    def _is_searched(self) -> bool:
        """Return whether many ids are looked for in their order: a dictionary takes more memory."""
        return len(self) > _MANY and "_code_of" not in vars(self) and self.is_ascending

    def _searched(self, names: Sequence[Id] | pl.Series) -> Int32s | None:
        """Return the codes of many ids, −1 for unknown ones; None if a dictionary is better."""
        stored = self._unread(len(names))
        if stored is None and not self._is_searched():
            return None
        texts = pl.Series([self.text(name) for name in names], dtype=pl.String)
        return self._search(texts) if stored is None else stored.search(texts)

    def _search(self, texts: pl.Series) -> Int32s:
        """Return the codes of ids, as text, −1 for those that are not known."""
        places = self.series.search_sorted(texts).to_numpy().astype(np.int64)
        places = np.minimum(places, len(self) - 1)
        found = (self.series.gather(places) == texts).fill_null(False).to_numpy()
        return np.where(found, places, -1).astype(np.int32)

    def text(self, name: object) -> str:
        """Return an id, known or not, as text; raise if it is none of the type."""
        if self.type == "integer" and isinstance(name, int | np.integer) and is_whole(name):
            return str(int(name))
        if isinstance(name, str) and (self.type == "string" or _WHOLE.fullmatch(name)):
            return name
        raise self._unknown(name)

    def code(self, name: Id) -> int:
        """Return the code of one id.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> ratings.users.code("u000003")
        3
        """
        code = self.find(name)
        if code < 0:
            raise self._unknown(name)
        return code

    def find(self, name: Id) -> int:
        """Return the code of one id, or −1 if it is not known."""
        return self._code_of.get(self.text(name), -1)

    def find_many(self, names: Iterable[Id]) -> Int32s:
        """Return the codes of many ids, −1 for those that are not known."""
        given = list(names)
        found = self._searched(given)
        if found is not None:
            return found
        return np.array([self.find(name) for name in given], dtype=np.int32)

    def codes(self, names: Iterable[Id]) -> Int32s:
        """Return the codes of many ids."""
        names = names.series if isinstance(names, Ids) else names
        names = names if isinstance(names, Sequence | pl.Series) else list(names)
        found = self._searched(names)
        if found is not None:
            for unknown in np.flatnonzero(found < 0)[:1]:
                raise self._unknown(names[int(unknown)])
            return found
        code_of: Mapping[Any, int] = self._code_of
        try:
            return np.fromiter((code_of[name] for name in names), dtype=np.int32)
        except (KeyError, TypeError):  # not known, or not text
            return np.array([self.code(name) for name in names], dtype=np.int32)

    def find_all(self, others: Ids) -> Int64s:
        """Return the codes of the ids of another map, −1 for those that this one does not have."""
        if self._is_searched():
            return self._search(others.series).astype(np.int64)
        return np.array([self._code_of.get(name, -1) for name in others.series], dtype=np.int64)

    def names(self, codes: Codes) -> pl.Series:
        """Return the ids that belong to codes.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(50, 20, 500, seed=1).ratings
        >>> ratings.users.names([0, 3]).to_list()
        ['u000000', 'u000003']
        """
        stored = self._unread(len(codes)) if self.type == "string" else None
        return self.values[codes] if stored is None else stored.some(codes).rename(self.kind)

    def column(self, names: Iterable[Id]) -> pl.Series:
        """Return ids, known or not, as a column of the type of these."""
        texts = pl.Series(self.kind, [self.text(name) for name in names], dtype=pl.String)
        if self.type == "string":
            return texts
        column = texts.cast(self.values.dtype, strict=False)
        if column.has_nulls():
            odd = texts.filter(column.is_null())[0]
            raise DataError(
                f"{self.kind} {odd} is outside of the range of whole numbers of the other "
                f"{self.kind}s: make ids strings"
            )
        return column

    def take(self, codes: Codes) -> Ids:
        """Return the map of a subset, given by ascending codes."""
        return self._part(codes)

    def _unknown(self, name: object) -> UnknownUserError | UnknownItemError:
        unknown, kind = _UNKNOWN[self.kind], self.kind
        if self.type == "string":
            if not isinstance(name, str):
                return unknown(
                    f"{kind} {_shown(name)} is not a string: ids are strings, "
                    f"try {_shown(str(name))}"
                )
            hint = did_you_mean(name, self.series)
        elif is_whole(name) or (isinstance(name, str) and _WHOLE.fullmatch(name)):
            hint = did_you_mean(str(name), self.series).replace("'", "")
        else:
            return unknown(
                f"{kind} {_shown(name)} is no whole number: {kind} ids are whole numbers, such as "
                f"{self.values.first()!r}"
            )
        return unknown(f"{kind} {name!r} is not in the ratings; {hint}")

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, which: int) -> Id: ...

    @overload
    def __getitem__(self, which: Places) -> pl.Series: ...

    def __getitem__(self, which: Any) -> Id | pl.Series:
        if is_whole(which) and -len(self) <= which < len(self):
            return self.values[int(which)]
        asked = [which] if is_whole(which) else which
        return self.values[positions(asked, len(self), f"{self.kind}s")]

    def __iter__(self) -> Iterator[Id]:
        return iter(self.values)

    def __contains__(self, name: object) -> bool:
        try:
            return self.text(name) in self._code_of
        except KeyError:
            return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        if (self.kind, self.type, len(self)) != (other.kind, other.type, len(other)):
            return False
        stored = self._unread()
        return self.series.equals(other.series) if stored is None else stored.equals(other.series)

    def __hash__(self) -> int:
        return hash((self.kind, len(self), self[0] if len(self) else ""))

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self.values.head(3))
        return f"Ids({len(self):,} {self.kind}s: {shown}{', …' if len(self) > 3 else ''})"


class _Extended(Mapping[str, int]):
    """Codes of ids that were added to others, which are asked for theirs when these are wanted."""

    def __init__(self, older: Ids, names: Iterable[str]) -> None:
        self._older = older
        self._new = {name: len(older) + place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        if name in self._new:
            return self._new[name]
        code = int(self._older.find_many([name])[0])
        if code < 0:
            raise KeyError(name)
        return code

    def __iter__(self) -> Iterator[str]:
        yield from self._older.series
        yield from self._new

    def __len__(self) -> int:
        return len(self._older) + len(self._new)
