"""What a public corpus is: where it comes from, and how its raw file becomes review tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from dmrank.support.errors import DataError

Scale = Mapping[str, tuple[float, float]]


@dataclass
class Raw:
    """A raw file on its way through a converter.

    Attributes
    ----------
    path : Path
        The file, archive or directory as its publisher made it.
    text : bool
        Whether titles and texts are wanted beside the ratings.
    columns : tuple of str or None
        Names of the columns, for a table that does not name them itself.
    verbose : bool
        Whether to show how far the reading is.
    left_out : Counter
        Why reviews were left out, and how many; complete when the last frame is out.
    """

    path: Path
    text: bool = False
    columns: tuple[str, ...] | None = None
    verbose: bool = False
    left_out: Counter[str] = field(default_factory=Counter)

    def refuse(self, place: str, found: str, expected: str) -> DataError:
        """Return the error about something that is not in the expected format."""
        return DataError(f"{self.path}: {place}: {found}; expected {expected}")


@dataclass(frozen=True)
class Converted:
    """The reviews of a raw file.

    Attributes
    ----------
    scale : mapping of aspect to (lowest, highest) rating
        The aspects of the corpus, in their order.
    frames : iterator of DataFrame
        Columns user, item; timestamp and item_name where known; the aspects as float32, null
        where missing; title and text where known and wanted.
    """

    scale: Scale
    frames: Iterator[pl.DataFrame]


@dataclass(frozen=True)
class Corpus:
    """A public corpus.

    Attributes
    ----------
    name : str
        The name it is loaded by.
    convert : callable
        From its raw file to reviews.
    source : str
        Where people get it: the end of a sentence.
    urls : tuple of str
        Places of the same file, the preferred one first; empty if there is no open download.
    sha256 : str or None
        The checksum of that file, if one is known.
    has_text : bool
        Whether it has review texts.
    """

    name: str
    convert: Callable[[Raw], Converted]
    source: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    has_text: bool = True
