"""jsonl files, plain and gzipped, against Python's json module."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.attack.case import Case
from tests.attack.damage import damaged, gzipped, unpacked
from tests.attack.reading import (
    GUESS,
    Cell,
    MustRefuseError,
    Reading,
    Word,
    is_aspect,
    parse_number,
    parse_time,
    read,
    wrong,
)
from tests.attack.tables import ODD_IDS, ODD_NAMES, ODD_NUMBERS, ODD_TIMES, make_table

_ODD_VALUES: tuple[Any, ...] = (
    True, False, None, [], [4], {}, {"stars": 4}, [[1, 2], [3]], float("nan"), float("inf"), 10**30,
    2**63, 1e300, -1, 0, 4.25, "4", "", 9007199254740993, -(2**63), 1e-60, {"a": {"b": [1]}},
    *ODD_IDS[:12], *ODD_NUMBERS[:20],
)  # fmt: skip
_FROM_ROW = 10_000
_LONG_ONE_OF = 400


def make(rng: random.Random, folder: Path) -> Case:
    """Make a file with something odd in it."""
    ending = rng.choice([".jsonl", ".jsonl", ".jsonl.gz"])
    what, rows = _make_content(rng)
    data = "".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) + "\n" for row in rows).encode()
    for _ in range(rng.randrange(3)):
        done, data = _spoil_text(rng, data)
        what.append(done)
    if ending.endswith(".gz"):
        done, data = gzipped(rng, data)
        what.append(done)
    file = folder / f"ratings{ending}"
    file.write_bytes(data)
    return Case(
        f"{ending}: {', '.join(what)}",
        lambda: read(file),
        lambda answer: wrong(answer, readings(data), None),
    )


def _make_content(rng: random.Random) -> tuple[list[str], list[dict[str, Any]]]:
    long = rng.randrange(_LONG_ONE_OF) == 0
    table = make_table(rng, _FROM_ROW + rng.randint(1, 3_000) if long else None)
    rows = [
        {name: _typed(name, cell) for name, cell in zip(table.names, row, strict=True)}
        for row in table.rows
    ]
    if long:
        late = rng.randint(_FROM_ROW, len(rows) - 1)
        for row in rows[late:]:
            row["late"] = rng.randint(1, 5)
        return [f"a key first seen in line {late + 1:,}"], rows
    return [_spoil(rng, rows) for _ in range(rng.randrange(3))], rows


def _typed(name: str, cell: str) -> Any:
    number = parse_number(cell)
    if name in ("user", "item", "item_name", "text") or not isinstance(number, float):
        return cell or None
    return int(number) if number.is_integer() else number


def _spoil(rng: random.Random, rows: list[dict[str, Any]]) -> str:
    row = rng.choice(rows)
    name = rng.choice(list(row))
    how = rng.randrange(6)
    if how == 0:
        del row[name]
        return f"no {name!r} in a line"
    if how == 1:
        row[rng.choice(ODD_NAMES)] = rng.choice([3, 4.5, "x", None])
        return "a key of its own in a line"
    if how == 2 and "timestamp" in row:
        row["timestamp"] = rng.choice([*ODD_TIMES, 9007199254740993, 1e30, float("nan"), -1.5])
        return f"{row['timestamp']!r} as a time"
    if how == 3:
        rows.append({**row, name: rng.choice(_ODD_VALUES)})
        return f"a repeated line with {str(rows[-1][name])[:40]!r} for {name!r}"
    if how == 4:
        value = rng.choice(_ODD_VALUES)
        for each in rows:
            each[name] = value
        return f"{str(value)[:40]!r} everywhere for {name!r}"
    row[name] = rng.choice(_ODD_VALUES)
    return f"{str(row[name])[:40]!r} for {name!r}"


def _spoil_text(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    if rng.random() < 0.5:
        return _spoil_line(rng, data)
    if rng.random() < 0.5:
        return damaged(rng, data)
    code = rng.choice(["utf-16", "utf-16-le", "latin-1"])
    array = b"[" + b",".join(filter(None, data.split(b"\n"))) + b"]\n"
    return rng.choice([
        ("one array instead of lines", array),
        ("carriage returns alone", data.replace(b"\n", b"\r")),
        ("a byte order mark", b"\xef\xbb\xbf" + data),
        ("spread over several lines", data.replace(b", ", b",\n ")),
        (code, data.decode("utf-8", "replace").encode(code, "replace")),
    ])  # fmt: skip


def _spoil_line(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    line = lines[number]
    done, lines[number] = rng.choice([
        ("cut off", line[: rng.randint(0, len(line))]),
        ("of another kind", rng.choice([b"", b" ", b"{}", b"null", b"[]", b"garbage", b"5"])),
        ("with a comma", line + b","),
        ("twice on one line", line + line),
        ("with single quotes", line.replace(b'"', b"'")),
        ("in brackets", b"[" + line + b"]"),
        ("with a key twice", line.replace(b"{", b'{"overall": 2, ', 1)),
    ])  # fmt: skip
    return f"line {number + 1:,} {done}", b"\n".join(lines)


def readings(data: bytes) -> list[Reading]:
    """Return the right reading of a file; none if it can only be refused."""
    try:
        return [_read(unpacked(data))]
    except (MustRefuseError, ValueError, RecursionError):
        return []


def _read(data: bytes) -> Reading:
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rows = [json.loads(line, object_pairs_hook=_object) for line in lines if line.strip()]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise MustRefuseError
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    if "user" not in columns or "item" not in columns:
        raise MustRefuseError
    cells = {
        name: [_cell(value) for value in column]
        for name, column in columns.items()
        if is_aspect(name)
    }
    times = (
        [parse_time(value) for value in columns["timestamp"]] if "timestamp" in columns else None
    )
    users, items = ([id_texts(value) for value in columns[name]] for name in ("user", "item"))
    return Reading(users, items, times, cells)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs; which of two equal keys counts is nobody's to say."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise MustRefuseError
    return dict(pairs)


def id_texts(value: Any) -> frozenset[str]:
    """Return what may be made of an id: nothing else than its text."""
    if isinstance(value, str) and value:
        return frozenset([value])
    if isinstance(value, int) and not isinstance(value, bool):
        return frozenset([str(value)])
    raise MustRefuseError


def _cell(value: Any) -> Cell:
    if value is None:
        return None
    if isinstance(value, bool):
        return Word(str(value))
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e308 or value != value else Word(str(value))  # noqa: PLR0124
    if isinstance(value, str):
        # A number in quotes is one to some, and a text to others.
        number = parse_number(value)
        return GUESS if isinstance(number, float) or number is None else number
    return Word(str(value))
