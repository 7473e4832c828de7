"""Reviews -> a file of ratings, in parts: a killed run goes on where it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dmrank.data.ratings import SCALE_METADATA
from dmrank.data.reading.tables import Table
from dmrank.support.progress import say
from dmrank.text.english import english
from dmrank.text.extract import RatingStream, obtain_polarity
from dmrank.text.extractor import Extractor, Summary
from dmrank.text.lexicon_files import load_lexicon
from dmrank.text.parts import PART, Parts
from dmrank.text.polarity import Polarity, load_polarity
from dmrank.text.reviews import ReviewColumns
from dmrank.text.scoring import Mapping


@dataclass(frozen=True)
class ExtractSettings:
    """How reviews are rated; see :func:`dmrank.extract_aspects`.

    Attributes
    ----------
    aspects : str
        Name or file of a lexicon.
    polarity, save_polarity : Path or None
        Files of the polarity of words: one that was learned before, and one to keep it in.
    mapping, use_overall, fill, scale, learn_from, threads
        As in :func:`dmrank.extract_aspects`.
    """

    aspects: str
    polarity: Path | None
    save_polarity: Path | None
    mapping: Mapping
    use_overall: bool
    fill: bool
    scale: tuple[float, float]
    learn_from: int
    threads: int | None

    def check(self) -> None:
        """Raise over what is wrong before any review is read."""
        english()
        if self.polarity is None:
            load_lexicon(self.aspects)
        else:
            load_polarity(self.polarity)

    def obtain(self, table: Table, columns: ReviewColumns) -> Polarity:
        """Load the polarity of words, or learn it."""
        if self.polarity is not None:
            return load_polarity(self.polarity)
        lexicon = load_lexicon(self.aspects)
        learned = obtain_polarity(table, columns, lexicon, self.scale, self.learn_from)
        if learned.reviews:
            say(f"learned the polarity of words from {learned.reviews:,} reviews")
        if self.save_polarity is not None:
            say(f"wrote {learned.save(self.save_polarity)}")
        return learned

    def extractor(self, polarity: Polarity) -> Extractor:
        """Return what rates reviews."""
        return Extractor(
            polarity, self.mapping, self.use_overall, self.fill, self.scale, self.threads
        )


def write_ratings(
    file: Path,
    table: Table,
    columns: ReviewColumns,
    settings: ExtractSettings,
    out: Path,
    *,
    safe_cells: bool = False,
) -> Polarity:
    """Extract the ratings of all reviews into a file, and return the polarity that they have.

    Parameters
    ----------
    file, table : Path, Table
        The reviews: where they are, and opened.
    columns : ReviewColumns
        Resolved against the table.
    settings : ExtractSettings
        How they are rated; parts of a run with other settings are refused.
    out : Path
        The file.
    safe_cells : bool
        See :func:`dmrank.support.files.write_table`.
    """
    parts = Parts(out, _identify(file, columns, settings))
    if parts.polarity_file.exists():
        polarity = load_polarity(parts.polarity_file)
    else:
        polarity = settings.obtain(table, columns)
        polarity.save(parts.polarity_file)
    if parts.reviews:
        say(f"going on after {parts.reviews:,} reviews, from {parts.folder}")
    stream = RatingStream(table, columns, settings.extractor(polarity))
    _write_parts(stream, parts)
    scale = dict.fromkeys(stream.aspects, settings.scale)
    parts.finish({SCALE_METADATA: json.dumps(scale)}, safe_cells=safe_cells)
    say(f"wrote {out}: {parts.summary}")
    return polarity


def _write_parts(stream: RatingStream, parts: Parts) -> None:
    frames: list[pl.DataFrame] = []
    found = Summary()
    for frame, summary in stream.frames(skip=parts.reviews):
        frames.append(frame)
        found.add(summary)
        if found.reviews >= PART:
            parts.add(pl.concat(frames), found)
            frames, found = [], Summary()
    if found.reviews:
        parts.add(pl.concat(frames), found)


def _identify(file: Path, columns: ReviewColumns, settings: ExtractSettings) -> dict[str, Any]:
    """Return what parts must have in common to be parts of one result."""
    status = file.stat()
    given = settings.polarity
    words = (
        load_lexicon(settings.aspects).content().encode() if given is None else given.read_bytes()
    )
    return {
        "input": [str(file.resolve()), status.st_size, status.st_mtime_ns],
        "columns": asdict(columns),
        "aspects": settings.aspects if given is None else str(given),
        "words": hashlib.sha256(words).hexdigest()[:16],
        "mapping": settings.mapping,
        "use_overall": settings.use_overall,
        "fill": settings.fill,
        "scale": list(settings.scale),
        "learn_from": settings.learn_from,
    }
