"""csv and tsv files, plain and gzipped, against Python's csv module."""

from __future__ import annotations

import csv
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path

from tests.attack.case import Case
from tests.attack.damage import damaged, gzipped, unpacked
from tests.attack.reading import (
    Cell,
    MustRefuseError,
    Reading,
    is_aspect,
    parse_number,
    parse_time,
    read,
    wrong,
)
from tests.attack.tables import TextTable, make_table, spoil

#: Stands for a carriage return within a line while Python's reader is at work.
_RETURN = "\uf8ff"
_FROM_ROW = 10_000
#: One case of so many has more rows than any reader samples.
_LONG_ONE_OF = 400


def make(rng: random.Random, folder: Path) -> Case:
    """Make a file with something odd in it."""
    ending = rng.choice([".csv", ".csv", ".tsv", ".csv.gz", ".tsv.gz"])
    separator = "\t" if ".tsv" in ending else rng.choice(",,,;|\t")
    what, table = _make_content(rng)
    text = _write(rng, table, separator)
    data = text.encode("utf-8", "surrogateescape")
    for _ in range(rng.randrange(3)):
        done, data = _spoil_text(rng, data, separator)
        what.append(done)
    if ending.endswith(".gz"):
        done, data = gzipped(rng, data)
        what.append(done)
    file = folder / f"ratings{ending}"
    file.write_bytes(data)
    aspects = table.names[2:3] if rng.random() < 0.1 else None
    options = {} if aspects is None else {"aspects": aspects}
    return Case(
        f"{ending}: {', '.join(what)}",
        lambda: read(file, **options),
        lambda answer: wrong(answer, readings(data, ending), aspects),
    )


def _make_content(rng: random.Random) -> tuple[list[str], TextTable]:
    if rng.randrange(_LONG_ONE_OF) == 0:
        table = make_table(rng, _FROM_ROW + rng.randint(1, 3_000))
        late = rng.randint(_FROM_ROW, len(table.rows) - 1)
        table.names.append("late")
        for number, row in enumerate(table.rows):
            row.append(rng.choice("12345") if number >= late else "")
        return [f"a column first filled in row {late + 1:,}"], table
    table = make_table(rng)
    return [spoil(rng, table) for _ in range(rng.randrange(3))], table


def _write(rng: random.Random, table: TextTable, separator: str) -> str:
    """Write a table as a program does, or as somebody does who has not heard of quoting."""
    ending = rng.choice(["\n", "\n", "\r\n"])
    if rng.random() < 0.25:
        return ending.join(separator.join(row) for row in [table.names, *table.rows]) + ending
    out = StringIO(newline="")
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(out, delimiter=separator, lineterminator=ending, quoting=quoting).writerows(
        [table.names, *table.rows]
    )
    return out.getvalue()


def _spoil_text(rng: random.Random, data: bytes, separator: str) -> tuple[str, bytes]:
    how = rng.randrange(20)
    if how < 8:
        return _spoil_bytes(rng, data)
    spoil_lines = _SPOILERS[how % len(_SPOILERS)]
    lines = data.split(b"\n")
    done = spoil_lines(rng, lines, separator.encode())
    return done, b"\n".join(lines)


def _spoil_bytes(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    how = rng.randrange(6)
    if how == 0:
        return "carriage returns alone", data.replace(b"\r\n", b"\n").replace(b"\n", b"\r")
    if how == 1:
        return "a byte order mark", b"\xef\xbb\xbf" + data
    if how == 2:
        code = rng.choice(["utf-16", "utf-16-le", "utf-32", "latin-1"])
        return code, data.decode("utf-8", "replace").encode(code, "replace")
    if how == 3:
        return "no last end of line", data.rstrip(b"\r\n")
    return damaged(rng, data)


def _stray_quote(rng: random.Random, lines: list[bytes], separator: bytes) -> str:
    number = rng.randrange(len(lines))
    cells = lines[number].split(separator)
    place = rng.randrange(len(cells))
    before, after = rng.choice(
        [(b'"', b""), (b"", b'"'), (b'"5" ', b'"'), (b'5" ', b""), (b'"', b'" x'), (b"'", b"'")]
    )
    cells[place] = before + cells[place] + after
    lines[number] = separator.join(cells)
    return f"a stray quote in line {number + 1:,}"


def _stray_character(rng: random.Random, lines: list[bytes], separator: bytes) -> str:
    number = rng.randrange(len(lines))
    place = rng.randint(0, len(lines[number]))
    odd = rng.choice([b'"', b",", b";", b"\t", b"\x00", b"\r", b"\xe9", b"\x1b"])
    lines[number] = lines[number][:place] + odd + lines[number][place:]
    return f"a stray {odd!r} in line {number + 1:,}"


def _ragged(rng: random.Random, lines: list[bytes], separator: bytes) -> str:
    number = rng.randrange(len(lines))
    cells = lines[number].split(separator)
    fewer = rng.random() < 0.5
    cells = cells[: rng.randrange(len(cells))] if fewer else [*cells, b"5"]
    lines[number] = separator.join(cells)
    return f"{len(cells)} cells in line {number + 1:,}"


def _line_of_nothing(rng: random.Random, lines: list[bytes], separator: bytes) -> str:
    number = rng.randint(0, len(lines))
    lines.insert(number, rng.choice([b"", b" ", b"# a comment", separator * 3, b'""', b"\r"]))
    return f"{lines[number]!r} as line {number + 1:,}"


def _header_again(rng: random.Random, lines: list[bytes], separator: bytes) -> str:
    lines.insert(rng.randint(0, len(lines)), lines[0])
    return "the header once more"


def _name_twice(rng: random.Random, lines: list[bytes], separator: bytes) -> str:
    names = lines[0].split(separator)
    names[rng.randrange(len(names))] = rng.choice(names)
    lines[0] = separator.join(names)
    return "a name of a column twice"


_SPOILERS: tuple[Callable[[random.Random, list[bytes], bytes], str], ...] = (
    _stray_quote, _stray_quote, _stray_character, _ragged, _line_of_nothing, _header_again,
    _name_twice,
)  # fmt: skip


def readings(data: bytes, ending: str) -> list[Reading]:
    """Return the right readings of a file; none if it can only be refused."""
    # A file may be what its name does not say: to read it all the same is right.
    data = unpacked(data)
    text = data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    found = []
    for lines in _ways_to_end_lines(text):
        with suppress(MustRefuseError):
            found.append(_read(lines, ending))
    return found


def _ways_to_end_lines(text: str) -> Iterator[str]:
    """A carriage return alone ends a line, as in old files, or is a character like others."""
    yield text
    lone = re.compile("\r(?!\n)")
    if lone.search(text):
        yield lone.sub(_RETURN, text)


def _read(text: str, ending: str) -> Reading:
    separator = "\t" if ".tsv" in ending else _separator(re.split("[\r\n]", text, maxsplit=1)[0])
    # A line without a cell is no row, and not the header either.
    names, *content = [row for row in _split(text, separator) if row] or [[]]
    if len(set(names)) < len(names) or any(len(row) > len(names) for row in content):
        raise MustRefuseError
    if not content or "user" not in names or "item" not in names:
        raise MustRefuseError
    columns = {
        name: [row[place] if place < len(row) else "" for row in content]
        for place, name in enumerate(names)
    }
    return _interpret(columns, separator)


def _split(text: str, separator: str) -> list[list[str]]:
    """Return the cells; where a quote is never closed, what is between separators on a line."""
    # Cells may be long here, and stay limited for everybody else in this process.
    limit = csv.field_size_limit(sys.maxsize)
    try:
        rows = [*csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)]
    except csv.Error:
        rows = [
            [re.sub('^"(.*)"$', r"\1", cell) for cell in line.split(separator)]
            for line in re.split("\r\n|\r|\n", text)
            if line
        ]
    finally:
        csv.field_size_limit(limit)
    return [[cell.replace(_RETURN, "\r") for cell in row] for row in rows]


def _separator(header: str) -> str:
    found = max(";\t|", key=header.count)
    return "," if "," in header or found not in header else found


def _interpret(columns: dict[str, list[str]], separator: str) -> Reading:
    if "" in columns["user"] or "" in columns["item"]:
        raise MustRefuseError
    cells: dict[str, list[Cell]] = {
        name: [parse_number(cell, decimal_comma=separator != ",") for cell in column]
        for name, column in columns.items()
        if is_aspect(name)
    }
    times = [parse_time(cell) for cell in columns["timestamp"]] if "timestamp" in columns else None
    ids = [[frozenset([cell]) for cell in columns[name]] for name in ("user", "item")]
    return Reading(ids[0], ids[1], times, cells)
