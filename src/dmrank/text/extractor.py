"""Extracting ratings from blocks of reviews, and counting what was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from dmrank.compiled.ranges import for_ranges
from dmrank.support.arrays import Bools, Float32s, Floats, Int64s
from dmrank.support.errors import ConfigError
from dmrank.text.polarity import Polarity
from dmrank.text.reading import read_texts
from dmrank.text.scoring import Mapping as RatingMapping
from dmrank.text.scoring import Scores, rate, score

#: What one thread reads at a time: at most so many reviews and about so many bytes.
_ROWS: Final = 256
_BYTES: Final = 1 << 20


@dataclass
class Summary:
    """How many reviews had something to extract.

    Attributes
    ----------
    reviews : int
        Reviews that were read.
    empty, foreign, nothing : int
        Those without a word, not in English, and in English without a mention of an aspect.
    mentioned : dict of str to int
        Reviews that mention each aspect.
    """

    reviews: int = 0
    empty: int = 0
    foreign: int = 0
    nothing: int = 0
    mentioned: dict[str, int] = field(default_factory=dict)

    def add(self, other: Summary) -> None:
        """Count the reviews of another summary as well."""
        self.reviews += other.reviews
        self.empty += other.empty
        self.foreign += other.foreign
        self.nothing += other.nothing
        for aspect, count in other.mentioned.items():
            self.mentioned[aspect] = self.mentioned.get(aspect, 0) + count

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        shares = ", ".join(
            f"{aspect} {count / max(self.reviews, 1):.0%}".replace("%", " %")
            for aspect, count in self.mentioned.items()
        )
        without = self.empty + self.foreign + self.nothing
        reasons = (
            f"{self.empty:,} empty, {self.foreign:,} not English, {self.nothing:,} mention none"
        )
        never = [aspect for aspect, count in self.mentioned.items() if count == 0]
        warning = f"; never mentioned: {', '.join(never)}" if never and self.reviews else ""
        return (
            f"{self.reviews:,} reviews, {without:,} with nothing to extract ({reasons}); "
            f"mentions: {shares}{warning}"
        )


@dataclass(frozen=True)
class Extractor:
    """From blocks of reviews to blocks of ratings.

    Attributes
    ----------
    polarity : Polarity
        The words, with the aspects.
    mapping : {"shrunk", "efm"}
        How sentiments become ratings; see :func:`dmrank.text.scoring.rate`.
    use_overall : bool
        Whether a review's own overall rating is used, where it has one.
    fill : bool
        Whether an aspect that is not mentioned gets what the overall rating suggests.
    scale : (low, high)
        The scale of the overall ratings and of the extracted ones.
    threads : int or None
        How many threads read; None for one per core. The result does not depend on it.
    """

    polarity: Polarity
    mapping: RatingMapping = "shrunk"
    use_overall: bool = True
    fill: bool = False
    scale: tuple[float, float] = (1.0, 5.0)
    threads: int | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale).all() and self.scale[0] < self.scale[1]):
            raise ConfigError(f"scale {self.scale}: low must be below high, such as (1, 5)")

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that are extracted."""
        return self.polarity.roles.aspects

    def score(self, texts: pl.Series) -> tuple[Scores, Summary]:
        """Score clean texts and count what was found."""
        rows, aspects = len(texts), len(self.aspects)
        scores = Scores(
            np.empty((rows, aspects), dtype=np.int32),
            np.empty((rows, aspects)),
            np.empty((rows, aspects)),
            np.empty(rows),
        )
        empty, foreign = np.empty(rows, dtype=np.bool_), np.empty(rows, dtype=np.bool_)
        ranges = _ranges(texts)

        def work(first: int, last: int) -> None:
            for start, stop in ranges[first:last]:
                reading = read_texts(texts[start:stop], self.polarity.roles)
                part = score(reading, self.polarity)
                for name, values in vars(part).items():
                    getattr(scores, name)[start:stop] = values
                empty[start:stop], foreign[start:stop] = reading.empty, reading.foreign

        for_ranges(work, len(ranges), 1, self.threads)
        return scores, self._summarise(scores, empty, foreign)

    def _summarise(self, scores: Scores, empty: Bools, foreign: Bools) -> Summary:
        mentioned = scores.mentions > 0
        nothing = ~mentioned.any(axis=1) & ~empty & ~foreign
        counts = mentioned.sum(axis=0)
        return Summary(
            reviews=len(empty),
            empty=int(empty.sum()),
            foreign=int((foreign & ~empty).sum()),
            nothing=int(nothing.sum()),
            mentioned={name: int(counts[k]) for k, name in enumerate(self.aspects)},
        )

    def rate(self, scores: Scores, stars: Floats | None) -> Float32s:
        """Return ratings on the scale, NaN where an aspect is not mentioned."""
        own = stars if self.use_overall else None
        found = rate(scores, self.polarity, own, mapping=self.mapping, fill=self.fill)
        low, high = self.scale
        return (low + (high - low) * (found - 1.0) / 4.0).astype(np.float32)

    def columns(self, ratings: Float32s) -> Mapping[str, pl.Series]:
        """Return the ratings as columns of a table, null where missing."""
        return {
            name: pl.Series(name, np.ascontiguousarray(ratings[:, k]), nan_to_null=True)
            for k, name in enumerate(self.aspects)
        }


def _ranges(texts: pl.Series) -> list[tuple[int, int]]:
    """Cut texts into ranges of bounded size, so that one huge review does not take the memory."""
    ends = np.cumsum(texts.str.len_bytes().to_numpy(), dtype=np.int64)
    return list(_cut(ends))


def _cut(ends: Int64s) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + _BYTES, side="right"))
        stop = min(max(stop, start + 1), start + _ROWS)
        yield start, stop
        start = stop
