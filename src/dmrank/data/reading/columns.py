"""Which column of a table means what."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from dmrank.data.reading.found_aspects import called_like
from dmrank.data.reading.tables import Table
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.terminal import printable


@dataclass(frozen=True)
class Columns:
    """Which column of a table means what; the defaults are the names dmrank itself writes.

    Attributes
    ----------
    user, item, aspects, aspect, rating, timestamp, item_name
        See `read_ratings`.
    meant : collection of str
        Columns that are aspects if they are numeric, whatever they are called and hold.
    left_out : dict of str to str
        Numeric columns that are no aspects, and why, once that is resolved.
    found : bool
        Whether the aspects were found, not named.
    """

    user: str = "user"
    item: str = "item"
    aspects: tuple[str, ...] | None = None
    aspect: str | None = None
    rating: str | None = None
    timestamp: str | None = None
    item_name: str | None = None
    meant: Collection[str] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    found: bool = False

    def resolve(self, table: Table, *, text: Collection[str] = ()) -> Columns:
        """Check the columns against a table and fill in those that are taken by default.

        Columns that are known to be text are no aspects.
        """
        if (self.aspect is None) != (self.rating is None):
            raise ConfigError(
                "a long table needs both aspect= and rating=: the columns with the aspect's name "
                "and its rating"
            )
        table.require(self.user, "user")
        table.require(self.item, "item")
        for column, purpose in ((self.aspect, "aspect"), (self.rating, "rating")):
            if column is not None:
                table.require(column, purpose)
        timestamp = _given_or_present(table, self.timestamp, "timestamp")
        item_name = _given_or_present(table, self.item_name, "item_name")
        found = replace(self, timestamp=timestamp, item_name=item_name)
        return found if self.aspect is not None else found._with_aspects(table, text)

    def _with_aspects(self, table: Table, text: Collection[str]) -> Columns:
        optional = (self.timestamp, self.item_name)
        others = {self.user, self.item, *(name for name in optional if name is not None)}
        if self.aspects is None:
            numeric = table.number_columns(without={*others, *text})
            if not numeric:
                raise DataError(
                    f"{table.name}: no column beside {self.user!r} and {self.item!r} is numeric, "
                    "so there is no aspect; aspects=[] means implicit feedback"
                )
            left_out = {
                name: meaning
                for name in numeric
                if name not in self.meant and (meaning := called_like(name))
            }
            aspects = tuple(name for name in numeric if name not in left_out)
            if not aspects:
                raise no_aspects(table.name, left_out)
            return replace(self, aspects=aspects, left_out=left_out, found=True)
        aspects = tuple(table.require(name, "aspects") for name in self.aspects)
        for name in aspects:
            if name in others:
                raise ConfigError(f"column {name!r} cannot be an aspect: it has another use")
            if aspects.count(name) > 1:
                raise ConfigError(f"aspect {name!r} is named twice: name each aspect once")
            if table.schema[name].is_temporal() or table.schema[name].is_nested():
                raise DataError(
                    f"{table.name}: column {name!r} is {table.schema[name]}, not numeric; "
                    "choose the aspect columns with aspects=[…]"
                )
        return replace(self, aspects=aspects)


def no_aspects(table: str, left_out: Mapping[str, str]) -> DataError:
    """Return the error of a table whose numeric columns are all no ratings."""
    return DataError(
        f"{table}: no numeric column looks like ratings ({in_words(left_out)}): name the aspects "
        "with aspects=[…]"
    )


def in_words(left_out: Mapping[str, str]) -> str:
    """Return columns that are no aspects, and why.

    Examples
    --------
    >>> in_words({"helpful": "a vote", "price": "from 7 to 120"})
    'helpful: a vote, price: from 7 to 120'
    """
    return ", ".join(f"{printable(name)}: {why}" for name, why in left_out.items())


def _given_or_present(table: Table, given: str | None, name: str) -> str | None:
    if given is not None:
        return table.require(given, name)
    return name if name in table.schema else None
