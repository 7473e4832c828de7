"""Loading a corpus by name: from the cache, from a file, or from its publisher."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from dmrank.data.ratings import Ratings
from dmrank.data.reading.read import read_ratings
from dmrank.datasets import cache as cached
from dmrank.datasets.archives import undamaged
from dmrank.datasets.corpus import Corpus, Raw
from dmrank.datasets.registry import find
from dmrank.datasets.sources import Download, OwnFile, Source
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.files import atomic_path
from dmrank.support.progress import say

#: Raised whenever a converter changes what it makes of a file: older conversions are then ignored.
CONVERSION = 1

PathLike = str | os.PathLike[str]


def load(
    name: str,
    *,
    path: PathLike | None = None,
    cache: PathLike | None = None,
    url: str | None = None,
    columns: Sequence[str] | None = None,
    verbose: bool = True,
) -> Ratings:
    """Load the ratings of a public corpus.

    The corpus is downloaded once, converted once, and read from the cache from then on. Corpora
    without an open download (`hotelrec`, `yahoo-movies`, `yelp`) need `path`.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    path : path, optional
        The corpus as its publisher hands it out, if you have it already: a plain or compressed
        file, an archive, or the unpacked directory.
    cache : path, optional
        Directory for downloads and conversions; by default the user's cache directory.
    url : str, optional
        Another place to download the corpus from.
    columns : sequence of str, optional
        For `yahoo-movies` only: the columns of a table without a header, such as
        ``("user", "item", "overall", "acting")``; ``""`` skips a column.
    verbose : bool
        Whether to show bars and say what was taken and left out.

    Returns
    -------
    Ratings
        On the corpus's own scales. Reviews without a user, or of a pseudo user that stands for
        many, are left out.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "reviews.json").write_text(
    ...     '{"user_id": "ann", "business_id": "cafe", "stars": 4.0, "date": "2016-03-09"}'
    ... )
    >>> load("yelp", path=folder / "reviews.json", cache=folder, verbose=False)
    Ratings(1 users × 1 items × 1 aspects, 1 rating vectors)
    """
    corpus, folder, source = _locate(name, path, cache, url)
    named = _column_names(corpus, columns)
    stored = _stored_at(folder, source, named)
    if stored is not None and stored.exists():
        cached.verify(stored, cached.recorded(stored))
        ratings = read_ratings(stored, missing_values=(), verbose=False)
        if verbose:
            say(f"{name}: {ratings!r}, from {stored}")
        return ratings
    raw = Raw(source.obtain(verbose=verbose), columns=named, verbose=verbose)
    ratings = _convert(corpus, raw)
    _store(ratings, _stored_at(folder, source, named), verbose)
    return ratings


def load_reviews(
    name: str,
    *,
    path: PathLike | None = None,
    cache: PathLike | None = None,
    url: str | None = None,
    verbose: bool = True,
) -> pl.DataFrame:
    """Load the reviews of a public corpus with their texts.

    The whole table is in memory: for `hotelrec` with its 50 million reviews that is some 50 GB.

    Parameters
    ----------
    name, path, cache, url, verbose
        As in :func:`load`.

    Returns
    -------
    polars.DataFrame
        One row per review: user, item, timestamp; item_name where known; overall and the other
        aspects where known, null where missing; title where known; text.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "reviews.json").write_text(
    ...     '{"user_id": "ann", "business_id": "cafe", "stars": 4.0, "date": "2016-03-09", '
    ...     '"text": "Good cake."}'
    ... )
    >>> load_reviews("yelp", path=folder / "reviews.json", verbose=False).columns
    ['user', 'item', 'timestamp', 'overall', 'text']
    """
    corpus, _, source = _locate(name, path, cache, url)
    if not corpus.has_text:
        raise DataError(f"{name} has no review texts: load({name!r}) gives its ratings")
    raw = Raw(source.obtain(verbose=verbose), text=True, verbose=verbose)
    reviews = pl.concat(_Stream(corpus, raw))
    if verbose:
        say(f"{name}: {len(reviews):,} reviews")
        _say_left_out(name, raw)
    return reviews


def _locate(
    name: str, path: PathLike | None, cache: PathLike | None, url: str | None
) -> tuple[Corpus, Path, Source]:
    corpus = find(name)
    if path is not None and url is not None:
        raise ConfigError("give either path= or url=, not both")
    folder = (cached.default_folder() if cache is None else Path(cache)) / name
    source = Download(corpus, folder, url) if path is None else OwnFile(Path(path))
    return corpus, folder, source


def _column_names(corpus: Corpus, columns: Sequence[str] | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if corpus.name != "yahoo-movies":
        raise ConfigError(f"columns= is for yahoo-movies only: {corpus.name} names its own columns")
    return tuple(columns)


def _stored_at(folder: Path, source: Source, columns: tuple[str, ...] | None) -> Path | None:
    identity = source.identity()
    if identity is None:
        return None
    key = cached.short_hash(repr((CONVERSION, identity, columns)))
    return folder / f"ratings-{key}.parquet"


class _Stream:
    """The reviews of a raw file, frame by frame, and the number of them so far."""

    def __init__(self, corpus: Corpus, raw: Raw) -> None:
        self.raw, self.rows = raw, 0
        with undamaged(raw):
            converted = corpus.convert(raw)
        self.scale, self._frames = converted.scale, converted.frames

    def __iter__(self) -> Iterator[pl.DataFrame]:
        with undamaged(self.raw):
            for frame in self._frames:
                self.rows += len(frame)
                yield frame
        if self.rows == 0:
            raise DataError(f"{self.raw.path} has no review with a user: there is nothing to load")


def _convert(corpus: Corpus, raw: Raw) -> Ratings:
    stream = _Stream(corpus, raw)
    frames = iter(stream)
    first = next(frames)

    def batches(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        for frame in itertools.chain([first], frames):
            yield frame if columns is None else frame.select(columns)

    table = register_io_source(batches, schema=first.schema)
    ratings = read_ratings(
        table, aspects=list(stream.scale), scale=stream.scale, missing_values=(), verbose=False
    )
    if raw.verbose:
        say(f"{corpus.name}: {ratings!r}")
        _say_left_out(corpus.name, raw)
        if repeated := stream.rows - len(ratings):
            rule = "last row" if ratings.timestamps is None else "latest"
            say(f"{corpus.name}: {repeated:,} repeated (user, item) dropped, the {rule} kept")
    return ratings


def _say_left_out(name: str, raw: Raw) -> None:
    counts = [f"{count:,} {what}" for what, count in raw.left_out.items() if count]
    if counts:
        say(f"{name}: left out {' and '.join(counts)}")


def _store(ratings: Ratings, target: Path | None, verbose: bool) -> None:
    """Keep converted ratings for the next time; not being able to is no reason to fail."""
    if target is None:
        return
    try:
        with atomic_path(target) as temporary:
            ratings.write(temporary)
            cached.record(target, cached.checksum(temporary))
    except OSError as error:
        if verbose:
            say(f"the converted ratings are not kept: cannot write {target} ({error.strerror})")
