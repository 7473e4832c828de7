"""Reviews -> Ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Final

import polars as pl
from polars.io.plugins import register_io_source

from dmrank.data.ratings import Ratings
from dmrank.data.reading.opening import open_table
from dmrank.data.reading.read import read_ratings
from dmrank.data.reading.tables import Table
from dmrank.support.batches import from_batch, notes_of, to_batch
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.progress import bar, say
from dmrank.support.workers import current_workers
from dmrank.text.blocks import extract_block
from dmrank.text.extractor import Extractor, Summary
from dmrank.text.learning import learn_from_texts
from dmrank.text.lexicon import Lexicon
from dmrank.text.lexicon_files import load_lexicon
from dmrank.text.parts import PART
from dmrank.text.polarity import Polarity, lexicon_polarity
from dmrank.text.rating import Origin, rate_reviews
from dmrank.text.reviews import ReviewColumns, count_reviews, sample_reviews
from dmrank.text.scoring import Mapping

#: How many reviews polarity is learned from, at most.
LEARN_FROM: Final = 50_000
#: Bytes of reviews that a task is sent, about: it costs some milliseconds whatever its size.
_TASK: Final = 8 << 20
#: With fewer rated reviews than this the polarity of the lexicon is better than a learned one.
_FEWEST: Final = 100


def extract_aspects(
    source: object,
    *,
    text: str = "text",
    user: str = "user",
    item: str = "item",
    overall: str | None = None,
    title: str | None = None,
    timestamp: str | None = None,
    item_name: str | None = None,
    aspects: str | PathLike[str] | Lexicon = "hotels",
    polarity: Polarity | None = None,
    use_overall: bool = True,
    mapping: Mapping = "shrunk",
    fill: bool = False,
    scale: tuple[float, float] = (1, 5),
    learn_from: int = LEARN_FROM,
    threads: int | None = None,
    verbose: bool = True,
) -> Ratings:
    """Extract a rating per aspect from the text of reviews.

    Parameters
    ----------
    source : path or table
        A csv, tsv or jsonl file (plain or .gz), a parquet file, or a polars, pandas or Arrow
        table; it is streamed.
    text, user, item : str
        Columns with the review and the ids.
    overall : str, optional
        Column with an overall rating. The polarity of words is then learned from it, ratings lean
        on it, and it is kept as the aspect `overall`.
    title, timestamp, item_name : str, optional
        Columns with these; by default those of that name if there are any.
    aspects : str, path or Lexicon
        `hotels`, `restaurants`, `restaurants-coarse`, `beer`, a lexicon file, or a lexicon.
    polarity : Polarity, optional
        What :func:`dmrank.text.learn_polarity` learned, instead of learning it here; `aspects` is
        then not used.
    use_overall : bool
        Whether ratings lean on a review's own overall rating; otherwise on the tone of its text.
    mapping : {"shrunk", "efm"}
        How sentiments become ratings; see the docs.
    fill : bool
        Whether an aspect that is not mentioned gets what the overall rating suggests; otherwise it
        is missing.
    scale : (low, high)
        The scale of the overall ratings, and of those that are extracted.
    learn_from : int
        How many reviews polarity is learned from, at most; 0 keeps that of the lexicon.
    threads : int, optional
        How many threads; by default one per core. The result does not depend on it.
    verbose : bool
        Whether to show a bar and say what was found.

    Returns
    -------
    Ratings
        Missing where an aspect is not mentioned. Reviews without any rating are left out.

    Examples
    --------
    >>> reviews = pl.DataFrame({
    ...     "user": ["ann", "bob"], "item": ["Ritz", "Ritz"], "stars": [4, 2],
    ...     "text": ["Spotless, but the staff was rude.", "Great location. Tiny, noisy room!"],
    ... })
    >>> ratings = extract_aspects(reviews, overall="stars", verbose=False)
    >>> ratings.to_polars().select("user", "overall", "location", "service").to_dicts()
    [{'user': 'ann', 'overall': 4.0, 'location': None, 'service': 3.4...},
     {'user': 'bob', 'overall': 2.0, 'location': 2.5..., 'service': None}]
    """
    table = open_table(source)
    columns = ReviewColumns(text, user, item, overall, title, timestamp, item_name).resolve(table)
    known = polarity or obtain_polarity(table, columns, load_lexicon(aspects), scale, learn_from)
    extractor = Extractor(known, mapping, use_overall, fill, _pair(scale), threads)
    stream = RatingStream(table, columns, extractor)
    ratings = stream.collect()
    if verbose:
        say(f"{table.name}: {stream.summary}")
    return ratings


def learn_polarity(
    source: object,
    *,
    overall: str,
    text: str = "text",
    title: str | None = None,
    aspects: str | PathLike[str] | Lexicon = "hotels",
    scale: tuple[float, float] = (1, 5),
    learn_from: int = LEARN_FROM,
) -> Polarity:
    """Learn how good or bad each word is, from reviews with an overall rating.

    Parameters
    ----------
    source, text, title, overall, aspects, scale, learn_from
        As in :func:`extract_aspects`.

    Returns
    -------
    Polarity
        For :func:`extract_aspects`, and to save.

    Examples
    --------
    >>> reviews = pl.DataFrame({"text": ["Good room.", "Bad room."] * 60, "stars": [5, 1] * 60})
    >>> learn_polarity(reviews, overall="stars")
    Polarity(hotels, ... words, learned from 120 reviews)
    """
    table = open_table(source)
    columns = ReviewColumns(text, overall=overall, title=title).resolve(table, ids=False)
    return obtain_polarity(table, columns, load_lexicon(aspects), scale, learn_from)


def obtain_polarity(
    table: Table,
    columns: ReviewColumns,
    lexicon: Lexicon,
    scale: tuple[float, float],
    learn_from: int,
) -> Polarity:
    """Learn the polarity of words if there are enough overall ratings, else take the lexicon's."""
    if learn_from < 0:
        raise ConfigError(f"learn_from={learn_from}: give 0 or more reviews")
    if columns.overall is None or learn_from == 0:
        return lexicon_polarity(lexicon)
    drawn = sample_reviews(table, columns, learn_from, _pair(scale))
    if len(drawn) < _FEWEST:
        return lexicon_polarity(lexicon)
    return learn_from_texts(drawn["text"], drawn["overall"].to_numpy(), lexicon)


@dataclass
class RatingStream:
    """Ratings of a table of reviews, frame by frame; `summary` counts those that are out."""

    table: Table
    columns: ReviewColumns
    extractor: Extractor
    summary: Summary = field(default_factory=Summary)

    @property
    def aspects(self) -> tuple[str, ...]:
        """The names of the rating columns."""
        own = () if self.columns.overall is None else ("overall",)
        return (*own, *self.extractor.aspects)

    def frames(self, skip: int = 0) -> Iterator[tuple[pl.DataFrame, Summary]]:
        """Yield ratings with what was found in them, after skipping so many reviews."""
        total = count_reviews(self.table, self.columns)
        done = skip
        with bar("reading reviews", total) as progress:
            for frame, found in self._rated(skip):
                self.summary.add(found)
                yield frame, found
                done += found.reviews
                progress.update(done)

    def _rated(self, skip: int) -> Iterator[tuple[pl.DataFrame, Summary]]:
        workers = current_workers()
        if workers is None:
            for rows, origin in self._blocks(skip):
                yield rate_reviews(rows, self.extractor, origin)
            return
        extractor = self.extractor
        words = extractor.polarity.save(workers.new_folder() / "polarity")
        rate = partial(
            extract_block,
            words,
            mapping=extractor.mapping,
            use_overall=extractor.use_overall,
            fill=extractor.fill,
            scale=extractor.scale,
        )
        calls = ((to_batch(rows), origin) for rows, origin in self._tasks(skip))
        for rated in workers.run(rate, calls):
            yield from_batch(rated), Summary(**notes_of(rated))

    def _tasks(self, skip: int) -> Iterator[tuple[pl.DataFrame, Origin]]:
        """Give what follows in the same way, several blocks at once; none is in two parts."""
        held: list[tuple[pl.DataFrame, Origin]] = []
        reviews = size = 0
        for rows, origin in self._blocks(skip):
            held.append((rows, origin))
            reviews, size = reviews + len(rows), size + int(rows.estimated_size())
            if size >= _TASK or reviews >= PART:
                yield _together(held)
                held, size = [], 0
                reviews = 0 if reviews >= PART else reviews
        if held:
            yield _together(held)

    def _blocks(self, skip: int) -> Iterator[tuple[pl.DataFrame, Origin]]:
        """Give blocks of reviews, after skipping so many, and where they come from."""
        done = 0
        for block in self.columns.stream_raw(self.table):
            rows = block[max(skip - done, 0) :]
            done += len(block)
            if len(rows):
                yield rows, Origin(self.table.name, self.columns, done - len(rows) + 1)

    def collect(self) -> Ratings:
        """Extract everything into memory."""
        low, high = self.extractor.scale
        frames = self.frames()
        first = next((frame for frame, _ in frames if len(frame)), None)
        if first is None:
            raise DataError(
                f"{self.table.name}: nothing to extract in any of {self.summary.reviews:,} "
                "reviews; is this the column with the text, and the right lexicon?"
            )

        def batches(names: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
            yield first if names is None else first.select(names)
            for frame, _found in frames:
                yield frame if names is None else frame.select(names)

        return read_ratings(
            register_io_source(batches, schema=first.schema),
            aspects=self.aspects,
            scale=dict.fromkeys(self.aspects, (low, high)),
            missing_values=(),
            verbose=False,
        )


def _together(blocks: list[tuple[pl.DataFrame, Origin]]) -> tuple[pl.DataFrame, Origin]:
    return pl.concat([rows for rows, _ in blocks]), blocks[0][1]


def _pair(scale: tuple[float, float]) -> tuple[float, float]:
    low, high = scale
    return float(low), float(high)
