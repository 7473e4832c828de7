"""BeerAdvocate and RateBeer as McAuley, Leskovec and Jurafsky (2012) published them.

One review per line, written by Python as a dict: `{'beer/name': 'Sausa Weizen', …}`. Strict JSON
is read as well.
"""

from __future__ import annotations

import ast
import html
import json
import re
from collections.abc import Callable, Iterator

import polars as pl

from dmrank.datasets.archives import members
from dmrank.datasets.corpus import Converted, Raw, Scale
from dmrank.datasets.lines import Block, Record, blocks
from dmrank.datasets.tidy import Place, numbers, refuse_where, tidy

ASPECTS = ("overall", "appearance", "aroma", "palate", "taste")
BEERADVOCATE_SCALE = dict.fromkeys(ASPECTS, (1.0, 5.0))
RATEBEER_SCALE = {
    "overall": (1.0, 20.0),
    "appearance": (1.0, 5.0),
    "aroma": (1.0, 10.0),
    "palate": (1.0, 5.0),
    "taste": (1.0, 10.0),
}
#: Column -> key.
KEYS = {
    "user": "review/profileName",
    "item": "beer/beerId",
    "timestamp": "review/time",
    "item_name": "beer/name",
    **{aspect: f"review/{aspect}" for aspect in ASPECTS},
    "text": "review/text",
}
EXPECTED = "a line like {'beer/beerId': '…', 'review/profileName': '…', 'review/overall': '4.5', …}"

#: One `'key': 'value'` of a dict as Python prints it, and what follows.
_PAIR = re.compile(
    r"""'([^'\\]*)':\ (?:'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)")(,\ |}$)""",
    re.VERBOSE,
)

Numbers = Callable[[Raw, pl.Series, Place, float], pl.Series]


def convert_beeradvocate(raw: Raw) -> Converted:
    """Read BeerAdvocate: ratings from 1 to 5 in halves."""
    return Converted(BEERADVOCATE_SCALE, _frames(raw, BEERADVOCATE_SCALE, _plain))


def convert_ratebeer(raw: Raw) -> Converted:
    """Read RateBeer: ratings as fractions, overall of 20, aroma and taste of 10, others of 5."""
    return Converted(RATEBEER_SCALE, _frames(raw, RATEBEER_SCALE, _fractions))


def _frames(raw: Raw, scale: Scale, to_numbers: Numbers) -> Iterator[pl.DataFrame]:
    for name, stream in members(raw, (".json", ".jsonl")):
        for block in blocks(raw, name, stream):
            yield _reviews(raw, block, scale, to_numbers)


def _reviews(raw: Raw, block: Block, scale: Scale, to_numbers: Numbers) -> pl.DataFrame:
    records = block.parsed(parse_line, EXPECTED)
    wanted = [column for column in KEYS if raw.text or column != "text"]
    read = pl.DataFrame(
        {column: [_text(record.get(KEYS[column])) for record in records] for column in wanted},
        schema=dict.fromkeys(wanted, pl.String),
    )
    seconds = numbers(raw, read["timestamp"], block.place, "seconds since 1970", pl.Int64)
    frame = read.with_columns(
        pl.from_epoch(seconds).cast(pl.Datetime("us")),
        *(to_numbers(raw, read[name], block.place, scale[name][1]) for name in ASPECTS),
        *(_unescaped(read[name]) for name in ("item_name", "text") if name in wanted),
    )
    return tidy(raw, frame, block.place, scale)


def _plain(raw: Raw, column: pl.Series, place: Place, highest: float) -> pl.Series:
    return numbers(raw, column, place, f"a number up to {highest:g}")


def _fractions(raw: Raw, column: pl.Series, place: Place, highest: float) -> pl.Series:
    """Take 13 from '13/20'; another denominator means another scale."""
    ending = f"/{highest:g}"
    foreign = column.is_not_null() & (column != "") & ~column.str.ends_with(ending)
    expected = f"a fraction of {highest:g} such as '3{ending}'"
    refuse_where(raw, column, foreign, place, expected)
    return numbers(raw, column.str.strip_suffix(ending), place, expected)


def parse_line(line: str) -> Record:
    r"""Parse one review, written as JSON or as Python writes a dict; never evaluates code.

    Examples
    --------
    >>> parse_line('{"beer/name": "Sausa Weizen"}') == parse_line("{'beer/name': 'Sausa Weizen'}")
    True
    """
    line = line.strip()
    if line.startswith('{"'):
        try:
            record = json.loads(line)
        except ValueError:
            record = _parse_literal(line)
    else:
        record = _parse_pairs(line) or _parse_literal(line)
    if not isinstance(record, dict):
        raise ValueError("not a dict")
    return record


def _parse_pairs(line: str) -> Record | None:
    """Parse a flat dict of strings, several times as fast as `ast`; None if it is anything else."""
    pairs = _PAIR.findall(line, 1)
    # The pairs are the whole line if their lengths, with six quotes, colon and blank each, add up.
    if not line.startswith("{") or 1 + sum(len("".join(pair)) + 6 for pair in pairs) != len(line):
        return None
    record: Record = {key: single or double for key, single, double, _ in pairs}
    if "\\" in line:
        for key, single, double, _ in pairs:
            if "\\" in record[key]:
                record[key] = _parse_literal(f"'{single}'" if single else f'"{double}"')
    return record


def _parse_literal(text: str) -> Record:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _unescaped(column: pl.Series) -> pl.Series:
    """Return text without the HTML entities, such as `&#40;`, that the crawl left in it."""
    has_entity = column.str.contains("&", literal=True).fill_null(False)
    plain = [html.unescape(text) for text in column.filter(has_entity)]
    return column.scatter(has_entity.arg_true(), plain)
