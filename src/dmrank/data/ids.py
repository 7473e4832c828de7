"""External ids and their dense codes: a frozen, two-way map."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from typing import Literal, final

import numpy as np
import polars as pl

from dmrank.support.arrays import Codes, Int32s
from dmrank.support.errors import DataError, UnknownItemError, UnknownUserError, did_you_mean

Kind = Literal["user", "item"]
_UNKNOWN: Mapping[Kind, type[UnknownUserError | UnknownItemError]] = {
    "user": UnknownUserError,
    "item": UnknownItemError,
}


def id_list(names: object) -> list[str]:
    """Return ids as a list: a single one would else be read letter by letter.

    Examples
    --------
    >>> id_list("ann"), id_list(("ann", "bob"))
    (['ann'], ['ann', 'bob'])
    """
    if isinstance(names, str):
        return [names]
    if isinstance(names, bytes) or not isinstance(names, Iterable):
        raise DataError(f"{names!r} is no id: ids are strings, give one or several")
    return list(names)


@final
class Ids:
    """The ids of users or items in ascending order; the code of an id is its position.

    The order makes the codes a function of the set of ids alone: the same ratings in another
    row order get the same codes, and so the same models. (Ids that are added to a model later
    follow in the order they came, see :meth:`extended`.)

    Parameters
    ----------
    names : iterable of str or polars Series
        The distinct ids; they are sorted.
    kind : {"user", "item"}
        What they name, for error messages.

    Examples
    --------
    >>> items = Ids(["Ritz", "Hilton"], kind="item")
    >>> items.code("Ritz"), items[0], len(items)
    (1, 'Hilton', 2)
    >>> items.codes(["Ritz", "Ritz"])
    array([1, 1], dtype=int32)
    """

    def __init__(self, names: Iterable[str] | pl.Series, *, kind: Kind) -> None:
        series = names if isinstance(names, pl.Series) else pl.Series(list(names), dtype=pl.String)
        self.kind: Kind = kind
        self.series = series.rename(kind).sort().rechunk()
        if len(series) and (self.series.is_null().any() or self.series[0] == ""):
            raise DataError(f"an {kind} id is empty: give every {kind} an id")
        if self.series.n_unique() != len(series):
            raise DataError(f"{kind} ids are repeated: give each {kind} once")

    @classmethod
    def from_sorted(cls, names: pl.Series, *, kind: Kind) -> Ids:
        """Make the map of ids that are known to be distinct, not empty and in order."""
        ids = cls.__new__(cls)
        ids.kind = kind
        ids.series = names.rename(kind).rechunk()
        return ids

    def extended(self, names: Sequence[str]) -> Ids:
        """Return the map with further ids, whose codes follow the last one in the given order.

        The codes of the others stay, and nothing is made anew for them: a map of millions is
        extended at once.
        """
        ids = Ids.from_sorted(pl.Series(self.kind, names, dtype=pl.String), kind=self.kind)
        if any(name in self for name in names) or ids.series.n_unique() != len(names):
            raise DataError(f"{self.kind} ids are repeated: give each {self.kind} once")
        new = {name: len(self) + place for place, name in enumerate(names)}
        ids.series = pl.concat([self.series, ids.series])
        ids.__dict__["_code_of"] = ChainMap(new, self._code_of)
        return ids

    def first(self, count: int) -> Ids:
        """Return the map of the first ids: those that were there before others were added."""
        return Ids.from_sorted(self.series[:count], kind=self.kind)

    @cached_property
    def _code_of(self) -> MutableMapping[str, int]:
        return {name: code for code, name in enumerate(self.series)}

    def code(self, name: str) -> int:
        """Return the code of one id."""
        try:
            return self._code_of[name]
        except KeyError:
            raise self._unknown(name) from None

    def find(self, name: str) -> int:
        """Return the code of one id, or −1 if it is not known."""
        if not isinstance(name, str):
            raise self._unknown(name)
        return self._code_of.get(name, -1)

    def codes(self, names: Iterable[str]) -> Int32s:
        """Return the codes of many ids."""
        code_of = self._code_of
        try:
            return np.fromiter((code_of[name] for name in names), dtype=np.int32)
        except KeyError as error:
            raise self._unknown(error.args[0]) from None

    def names(self, codes: Codes) -> pl.Series:
        """Return the ids that belong to codes."""
        return self.series[codes]

    def take(self, codes: Codes) -> Ids:
        """Return the map of a subset, given by ascending codes."""
        return Ids.from_sorted(self.series[codes], kind=self.kind)

    def _unknown(self, name: object) -> UnknownUserError | UnknownItemError:
        if not isinstance(name, str):
            return _UNKNOWN[self.kind](
                f"{self.kind} {name!r} is not a string: ids are strings, try {str(name)!r}"
            )
        return _UNKNOWN[self.kind](
            f"{self.kind} {name!r} is not in the ratings; {did_you_mean(name, self.series)}"
        )

    def __len__(self) -> int:
        return len(self.series)

    def __getitem__(self, code: int) -> str:
        return str(self.series[int(code)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.series)

    def __contains__(self, name: object) -> bool:
        return name in self._code_of

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        return self.kind == other.kind and self.series.equals(other.series)

    def __hash__(self) -> int:
        return hash((self.kind, len(self), self[0] if len(self) else ""))

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self.series.head(3))
        return f"Ids({len(self):,} {self.kind}s: {shown}{', …' if len(self) > 3 else ''})"
