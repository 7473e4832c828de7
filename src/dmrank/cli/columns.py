"""How a file of ratings is read: the same options for every command that reads one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dmrank.cli.signatures import add_options
from dmrank.support.errors import ConfigError

if TYPE_CHECKING:
    from dmrank.data.ratings import Ratings
    from dmrank.data.scale import ScaleLike

_COLUMNS = "Columns of FILE"

UserColumn = Annotated[str, typer.Option(help="User ids.", rich_help_panel=_COLUMNS)]
ItemColumn = Annotated[str, typer.Option(help="Item ids.", rich_help_panel=_COLUMNS)]
AspectsOption = Annotated[
    str | None,
    typer.Option(
        help="Rating columns, separated by commas; default: every other numeric column but counts, "
        "votes and times; '' for implicit feedback.",
        metavar="A,B,…",
        rich_help_panel=_COLUMNS,
    ),
]
AspectColumn = Annotated[
    str | None, typer.Option(help="Long table: the aspect's name.", rich_help_panel=_COLUMNS)
]
RatingColumn = Annotated[
    str | None, typer.Option(help="Long table: the rating.", rich_help_panel=_COLUMNS)
]
TimestampColumn = Annotated[
    str | None,
    typer.Option(help="Time of the rating; default: timestamp.", rich_help_panel=_COLUMNS),
]
ItemNameColumn = Annotated[
    str | None,
    typer.Option(help="Name of the item; default: item_name.", rich_help_panel=_COLUMNS),
]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Rating scale: 1:5, or overall=1:20 (repeat for more aspects); default: as observed.",
        metavar="LOW:HIGH",
        rich_help_panel=_COLUMNS,
    ),
]


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file of ratings, as given on the command line."""

    user: UserColumn = "user"
    item: ItemColumn = "item"
    aspects: AspectsOption = None
    aspect: AspectColumn = None
    rating: RatingColumn = None
    timestamp: TimestampColumn = None
    item_name: ItemNameColumn = None
    scale: ScaleOption = None

    def read(self, file: Path) -> Ratings:
        """Read the file."""
        from dmrank.data.reading.read import read_ratings

        return read_ratings(
            file,
            user=self.user,
            item=self.item,
            aspects=None if self.aspects is None else split_list(self.aspects),
            aspect=self.aspect,
            rating=self.rating,
            timestamp=self.timestamp,
            item_name=self.item_name,
            scale=parse_scale(self.scale),
        )


def reads_ratings(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`ReadOptions`, handed to it as `columns`."""
    hints = get_type_hints(ReadOptions, include_extras=True)
    options = {option.name: (hints[option.name], option.default) for option in fields(ReadOptions)}

    @wraps(command)
    def with_options(**given: Any) -> None:
        columns = ReadOptions(**{name: given.pop(name) for name in options})
        command(columns=columns, **given)

    add_options(with_options, command, options, without="columns")
    return with_options


def split_list(text: str) -> list[str]:
    """Return the names of a list that is separated by commas.

    Examples
    --------
    >>> split_list("service, value")
    ['service', 'value']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_scale(given: list[str] | None) -> ScaleLike | None:
    """Parse `1:5` or several `aspect=1:20`.

    Examples
    --------
    >>> parse_scale(["1:5"]), parse_scale(["overall=1:20", "palate=1:5"])
    ((1.0, 5.0), {'overall': (1.0, 20.0), 'palate': (1.0, 5.0)})
    """
    if not given:
        return None
    named: dict[str, tuple[float, float]] = {}
    for text in given:
        name, _, bounds = text.rpartition("=")
        if name in named:
            what = f"of {name!r} " if name else ""
            raise ConfigError(f"--scale {what}is given twice: give it once")
        low, _, high = bounds.partition(":")
        try:
            named[name] = (float(low), float(high))
        except ValueError:
            raise ConfigError(f"--scale {text!r} is not LOW:HIGH or ASPECT=LOW:HIGH") from None
    if "" in named and len(named) > 1:
        raise ConfigError("give one --scale for all aspects, or ASPECT=LOW:HIGH for each")
    return named.get("", named)
