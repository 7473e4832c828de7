"""`dmrank extract`: aspect ratings from the text of reviews."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from rich.text import Text

from dmrank.cli.options import parse_scale
from dmrank.cli.output import console
from dmrank.data.ratings import SCALE_METADATA
from dmrank.data.reading.tables import Table, open_table
from dmrank.support.errors import ConfigError
from dmrank.support.files import atomic_path, table_format
from dmrank.support.progress import say
from dmrank.text.extract import RatingStream, obtain_polarity
from dmrank.text.extractor import Extractor, Summary
from dmrank.text.lexicon_files import load_lexicon
from dmrank.text.parts import Parts
from dmrank.text.polarity import Polarity, load_polarity
from dmrank.text.reviews import ReviewColumns, to_stars
from dmrank.text.scoring import Mapping
from dmrank.text.showing import Shown, html_page, show_reviews

#: Reviews in one part on disk: what a killed run loses, a few seconds of work.
_PART: Final = 20_480
#: Reviews on a page if --show does not say how many.
_ON_PAGE: Final = 50


@dataclass(frozen=True)
class ExtractOptions:
    """What the command line asks for."""

    aspects: str
    polarity: Path | None
    save_polarity: Path | None
    mapping: Mapping
    use_overall: bool
    fill: bool
    scale: list[str] | None
    learn_from: int
    threads: int | None

    def bounds(self) -> tuple[float, float]:
        """Return the one scale of all ratings."""
        scale = parse_scale(self.scale)
        if scale is None:
            return 1.0, 5.0
        if not isinstance(scale, tuple):
            raise ConfigError("extracted ratings have one scale: write --scale LOW:HIGH")
        return scale

    def check(self) -> None:
        """Raise over what is wrong before any review is read."""
        self.bounds()
        if self.polarity is None:
            load_lexicon(self.aspects)
        else:
            load_polarity(self.polarity)

    def obtain(self, table: Table, columns: ReviewColumns) -> Polarity:
        """Load the polarity of words, or learn it."""
        if self.polarity is not None:
            return load_polarity(self.polarity)
        lexicon = load_lexicon(self.aspects)
        learned = obtain_polarity(table, columns, lexicon, self.bounds(), self.learn_from)
        if learned.reviews:
            say(f"learned the polarity of words from {learned.reviews:,} reviews")
        if self.save_polarity is not None:
            say(f"wrote {learned.save(self.save_polarity)}")
        return learned

    def extractor(self, polarity: Polarity) -> Extractor:
        """Return what rates reviews."""
        scale = self.bounds()
        return Extractor(polarity, self.mapping, self.use_overall, self.fill, scale, self.threads)


def run(
    file: Path,
    columns: ReviewColumns,
    options: ExtractOptions,
    out: Path | None,
    show: int,
    html: Path | None,
) -> None:
    """Write ratings, or show what is found; what is wrong is said before anything is read."""
    if out is None and not show and html is None:
        raise ConfigError("nothing to do: give --out FILE for the ratings, or --show N, or --html")
    if out is not None:
        table_format(out)
    options.check()
    table = open_table(file)
    columns = columns.resolve(table)
    polarity = None
    if out is not None:
        polarity = _write_ratings(file, table, columns, options, out)
    if show or html is not None:
        polarity = polarity or options.obtain(table, columns)
        _show(table, columns, options.extractor(polarity), show, html)


def _write_ratings(
    file: Path, table: Table, columns: ReviewColumns, options: ExtractOptions, out: Path
) -> Polarity:
    parts = Parts(out, _identify(file, columns, options))
    if parts.polarity_file.exists():
        polarity = load_polarity(parts.polarity_file)
    else:
        polarity = options.obtain(table, columns)
        polarity.save(parts.polarity_file)
    if parts.reviews:
        say(f"going on after {parts.reviews:,} reviews, from {parts.folder}")
    stream = RatingStream(table, columns, options.extractor(polarity))
    _write_parts(stream, parts)
    scale = dict.fromkeys(stream.aspects, options.bounds())
    parts.finish({SCALE_METADATA: json.dumps(scale)})
    say(f"wrote {out}: {parts.summary}")
    return polarity


def _write_parts(stream: RatingStream, parts: Parts) -> None:
    frames: list[pl.DataFrame] = []
    found = Summary()
    for frame, summary in stream.frames(skip=parts.reviews):
        frames.append(frame)
        found.add(summary)
        if found.reviews >= _PART:
            parts.add(pl.concat(frames), found)
            frames, found = [], Summary()
    if found.reviews:
        parts.add(pl.concat(frames), found)


def _identify(file: Path, columns: ReviewColumns, options: ExtractOptions) -> dict[str, Any]:
    """Return what parts must have in common to be parts of one result."""
    status = file.stat()
    given = options.polarity
    words = (
        load_lexicon(options.aspects).content().encode() if given is None else given.read_bytes()
    )
    return {
        "input": [str(file.resolve()), status.st_size, status.st_mtime_ns],
        "columns": asdict(columns),
        "aspects": options.aspects if given is None else str(given),
        "words": hashlib.sha256(words).hexdigest()[:16],
        "mapping": options.mapping,
        "use_overall": options.use_overall,
        "fill": options.fill,
        "scale": list(options.bounds()),
        "learn_from": options.learn_from,
    }


def _show(
    table: Table, columns: ReviewColumns, extractor: Extractor, show: int, html: Path | None
) -> None:
    rows = _first_rows(columns.stream(table), show or _ON_PAGE)
    stars = None
    if columns.overall is not None:
        stars = to_stars(rows["overall"], extractor.scale, table.name, columns.overall, 1)
    shown = show_reviews(rows["text"], stars, extractor)
    if show:
        screen = console()
        for review in shown:
            screen.print(_as_text(review, coloured=screen.is_terminal))
    if html is not None:
        with atomic_path(html) as temporary:
            temporary.write_text(html_page(shown, Path(table.name).name), encoding="utf-8")
        say(f"wrote {html}: {len(shown):,} reviews")


def _first_rows(blocks: Iterator[pl.DataFrame], count: int) -> pl.DataFrame:
    kept: list[pl.DataFrame] = []
    for block in blocks:
        kept.append(block.head(count - sum(map(len, kept))))
        if sum(map(len, kept)) == count:
            break
    return pl.concat(kept)


def _as_text(review: Shown, *, coloured: bool) -> Text:
    """Return a review for the terminal: mentions underlined, good green and bad red.

    Without colours, what is good or bad has a sign after it.
    """
    text = Text()
    for span in review.spans:
        colour = "green" if span.polarity > 0 else "red" if span.polarity < 0 else ""
        text.append(span.text, f"{'underline' * span.mention} {colour}".strip() or None)
        sign = "" if coloured or not colour else "+" if span.polarity > 0 else "−"
        label = f"[{span.aspect}{sign}]" if span.mention else sign and f"({sign})"
        text.append(label, "dim")
    text.rstrip()
    rated = [f"{name} {value:.1f}" for name, value in review.ratings.items()]
    if review.overall is not None:
        rated.insert(0, f"overall {review.overall:g} (given)")
    if not review.ratings:
        rated.append(f"nothing to extract{': ' * bool(review.note)}{review.note}")
    text.append("\n" + " · ".join(rated) + "\n", "bold")
    return text
