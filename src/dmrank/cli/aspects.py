"""`dmrank aspects`: find the aspects of a corpus, and show those of a lexicon."""

from __future__ import annotations

from pathlib import Path

from dmrank.cli.options import parse_scale
from dmrank.cli.output import console, make_table
from dmrank.support.errors import ConfigError
from dmrank.support.files import atomic_path
from dmrank.support.progress import say
from dmrank.text import discover_aspects, load_lexicon
from dmrank.text.lexicon_files import format_lexicon

_HEADER = (
    "# Aspects found in {file}. This is a draft: rename, merge, delete and add as you see fit.\n"
    "# terms name an aspect; favours and faults are opinions about it beside one of its terms.\n\n"
)


def discover(
    file: Path,
    text: str,
    title: str | None,
    overall: str | None,
    scale: list[str] | None,
    min_count: int,
    most: int,
    similarity: float,
    seeds: str | None,
    out: Path,
) -> None:
    """Write a lexicon file of the aspects that reviews are about."""
    if out.is_dir() or out.suffix != ".toml":
        raise ConfigError(f"--out {out}: name a file that ends in .toml")
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


def show(name: str) -> None:
    """Print the aspects of a lexicon."""
    lexicon = load_lexicon(name)
    table = make_table("aspect", "terms", "opinions", "such as", title=f"Lexicon {lexicon.name}")
    table.columns[3].justify, table.columns[3].no_wrap = "left", False
    for aspect, words in lexicon.aspects.items():
        opinions = sum(map(len, (words.positive, words.negative, words.favours, words.faults)))
        examples = [*words.terms[:5], *words.positive[:2], *words.negative[:2]]
        table.add_row(aspect, str(len(words.terms)), str(opinions), ", ".join(examples))
    console().print(table)
