"""`dmrank extract`: aspect ratings from the text of reviews."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from dmrank.cli.clusters import runs_on_cluster
from dmrank.cli.columns import parse_scale
from dmrank.cli.commands import examples
from dmrank.cli.options import (
    OverallColumn,
    OverallScale,
    ReviewsFile,
    SafeCells,
    TextColumn,
    TitleColumn,
)
from dmrank.cli.output import console
from dmrank.cli.stopping import stopping
from dmrank.support.errors import ConfigError
from dmrank.support.progress import say
from dmrank.support.targets import check_target
from dmrank.support.terminal import printable, printable_lines

if TYPE_CHECKING:
    import polars as pl

    from dmrank.data.reading.tables import Table
    from dmrank.text.extractor import Extractor
    from dmrank.text.reviews import ReviewColumns
    from dmrank.text.showing import Shown

#: Reviews on a page if --show does not say how many.
_ON_PAGE: Final = 50


class RatingMapping(StrEnum):
    """How the sentiment about an aspect becomes a rating."""

    SHRUNK = "shrunk"
    EFM = "efm"


@examples(
    "dmrank extract reviews.csv --overall stars --show 5",
    "dmrank extract reviews.csv --overall stars --out extracted.parquet",
)
@runs_on_cluster
def extract(
    file: ReviewsFile,
    out: Annotated[Path | None, typer.Option(help="Ratings to write, by the ending.")] = None,
    text: TextColumn = "text",
    user: Annotated[str, typer.Option(help="Column with user ids.")] = "user",
    item: Annotated[str, typer.Option(help="Column with item ids.")] = "item",
    overall: OverallColumn = None,
    title: TitleColumn = None,
    timestamp: Annotated[
        str | None, typer.Option(help="Column with the time; default: timestamp.")
    ] = None,
    item_name: Annotated[
        str | None, typer.Option(help="Column with a name of the item; default: item_name.")
    ] = None,
    aspects: Annotated[
        str, typer.Option(help="hotels, restaurants, restaurants-coarse, beer or a lexicon file.")
    ] = "hotels",
    polarity: Annotated[
        Path | None, typer.Option(help="Polarity of words that was learned before.")
    ] = None,
    save_polarity: Annotated[
        Path | None, typer.Option(help="Keep the learned polarity of words here.")
    ] = None,
    mapping: Annotated[
        RatingMapping, typer.Option(help="How sentiments become ratings.")
    ] = RatingMapping.SHRUNK,
    use_overall: Annotated[
        bool, typer.Option(help="Whether ratings lean on the review's own overall rating.")
    ] = True,
    fill: Annotated[
        bool, typer.Option("--fill", help="Rate aspects that are not mentioned, too.")
    ] = False,
    scale: OverallScale = None,
    learn_from: Annotated[
        int, typer.Option(help="Most reviews to learn from; 0: only the lexicon.")
    ] = 50_000,
    threads: Annotated[int | None, typer.Option(help="Default: every core.")] = None,
    show: Annotated[int, typer.Option(help="Print the first N reviews, coloured.")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write the same as a page (50 reviews without --show).")
    ] = None,
    safe_cells: SafeCells = False,
) -> None:
    """Extract aspect ratings from the text of reviews; a killed run goes on where it was."""
    from dmrank.data.reading.opening import open_table
    from dmrank.support.files import check_table
    from dmrank.text.file_extraction import ExtractSettings, write_ratings
    from dmrank.text.reviews import ReviewColumns

    # What is wrong is said before anything is read.
    if out is None and not show and html is None:
        raise ConfigError("nothing to do: give --out FILE for the ratings, or --show N, or --html")
    if out is not None:
        check_table(out, safe_cells=safe_cells)
    for target in (save_polarity, html):
        if target is not None:
            check_target(target)
    settings = ExtractSettings(
        aspects=aspects,
        polarity=polarity,
        save_polarity=save_polarity,
        mapping=mapping.value,
        use_overall=use_overall,
        fill=fill,
        scale=_one_scale(scale),
        learn_from=learn_from,
        threads=threads,
    )
    settings.check()
    table = open_table(file)
    named = ReviewColumns(text, user, item, overall, title, timestamp, item_name)
    columns = named.resolve(table)
    known = None
    if out is not None:
        with stopping(f"what is done is in {out}.parts, from where the same command goes on"):
            known = write_ratings(file, table, columns, settings, out, safe_cells=safe_cells)
    if show or html is not None:
        extractor = settings.extractor(known or settings.obtain(table, columns))
        _show(table, columns, extractor, show, html)


def _one_scale(given: list[str] | None) -> tuple[float, float]:
    scale = parse_scale(given) or (1.0, 5.0)
    if not isinstance(scale, tuple):
        raise ConfigError("extracted ratings have one scale: write --scale LOW:HIGH")
    return scale


def _show(
    table: Table, columns: ReviewColumns, extractor: Extractor, show: int, html: Path | None
) -> None:
    from dmrank.support.files import atomic_path
    from dmrank.text.reviews import to_stars
    from dmrank.text.showing import html_page, show_reviews

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
    import polars as pl

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
        text.append(
            printable_lines(span.text), f"{'underline' * span.mention} {colour}".strip() or None
        )
        sign = "" if coloured or not colour else "+" if span.polarity > 0 else "−"
        label = f"[{span.aspect}{sign}]" if span.mention else sign and f"({sign})"
        text.append(printable(label), "dim")
    text.rstrip()
    rated = [f"{name} {value:.1f}" for name, value in review.ratings.items()]
    if review.overall is not None:
        rated.insert(0, f"overall {review.overall:g} (given)")
    if not review.ratings:
        rated.append(f"nothing to extract{': ' * bool(review.note)}{review.note}")
    text.append(f"\n{printable(' · '.join(rated))}\n", "bold")
    return text
