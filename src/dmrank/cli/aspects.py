"""`dmrank aspects`: find the aspects of a corpus, and show those of a lexicon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.columns import parse_scale
from dmrank.cli.commands import CommandGroup, add_command, examples
from dmrank.cli.options import OverallColumn, OverallScale, ReviewsFile, TextColumn, TitleColumn
from dmrank.cli.output import console, make_table
from dmrank.support.errors import ConfigError
from dmrank.support.progress import say
from dmrank.support.targets import check_target

_HEADER = (
    "# Aspects found in {file}. This is a draft: rename, merge, delete and add as you see fit.\n"
    "# terms name an aspect; favours and faults are opinions about it beside one of its terms.\n\n"
)

aspects = typer.Typer(cls=CommandGroup, no_args_is_help=True)


@aspects.callback()
@examples(
    "dmrank aspects discover reviews.csv --out aspects.toml",
    "dmrank aspects show hotels",
)
def group() -> None:
    """Find the aspects that reviews are about; show lexicons."""


@examples(
    "dmrank aspects discover reviews.csv --out aspects.toml",
    "dmrank aspects discover reviews.csv --seeds hotels --min-count 20 --out aspects.toml",
)
def discover(
    file: ReviewsFile,
    out: Annotated[Path, typer.Option(help="Lexicon to write: a toml file, to be edited.")],
    text: TextColumn = "text",
    title: TitleColumn = None,
    overall: OverallColumn = None,
    scale: OverallScale = None,
    min_count: Annotated[
        int, typer.Option(help="Leave out aspects with fewer mentions (the paper: 200000).")
    ] = 100,
    most: Annotated[int, typer.Option(help="At most so many aspects.")] = 20,
    similarity: Annotated[
        float, typer.Option(help="Lower gives fewer and wider aspects (0 to 1).")
    ] = 0.2,
    seeds: Annotated[
        str | None, typer.Option(help="A lexicon whose aspects words are grouped around.")
    ] = None,
) -> None:
    """Find the aspects of a corpus of reviews and write them as a lexicon file."""
    from dmrank.support.files import atomic_path
    from dmrank.text import discover_aspects
    from dmrank.text.lexicon_files import format_lexicon

    if out.suffix != ".toml":
        raise ConfigError(f"--out {out}: name a file that ends in .toml")
    check_target(out)
    bounds = parse_scale(scale) or (1.0, 5.0)
    if not isinstance(bounds, tuple):
        raise ConfigError("the overall rating has one scale: write --scale LOW:HIGH")
    found = discover_aspects(
        file,
        text=text,
        title=title,
        overall=overall,
        scale=bounds,
        min_count=min_count,
        most=most,
        similarity=similarity,
        seeds=seeds,
    )
    with atomic_path(out) as temporary:
        content = _HEADER.format(file=file.name) + format_lexicon(found.lexicon, found.notes())
        temporary.write_text(content, encoding="utf-8")
    table = make_table("aspect", "mentions", "terms", title=f"Aspects of {file.name}")
    table.columns[2].justify, table.columns[2].no_wrap = "left", False
    for name, words in found.lexicon.aspects.items():
        table.add_row(name, f"{found.mentions[name]:,}", ", ".join(words.terms[:12]))
    console().print(table)
    say(f"wrote {out}: read it, edit it, then: dmrank extract {file} --aspects {out} --out …")


@examples("dmrank aspects show hotels", "dmrank aspects show aspects.toml")
def show(
    name: Annotated[str, typer.Argument(help="hotels, restaurants, beer or a lexicon file.")],
) -> None:
    """Show the aspects of a lexicon."""
    from dmrank.text import load_lexicon

    lexicon = load_lexicon(name)
    table = make_table("aspect", "terms", "opinions", "such as", title=f"Lexicon {lexicon.name}")
    table.columns[3].justify, table.columns[3].no_wrap = "left", False
    for aspect, words in lexicon.aspects.items():
        opinions = sum(map(len, (words.positive, words.negative, words.favours, words.faults)))
        examples = [*words.terms[:5], *words.positive[:2], *words.negative[:2]]
        table.add_row(aspect, str(len(words.terms)), str(opinions), ", ".join(examples))
    console().print(table)


for command in (discover, show):
    add_command(aspects, command)
