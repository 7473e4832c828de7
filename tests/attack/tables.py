"""Small tables of ratings, and the odd things that people and programs put into them."""

from __future__ import annotations

import random
from dataclasses import dataclass

ODD_IDS = (
    "NaN", "nan", "null", "None", "1.0", "1", "01", "1e5", " a", "a ", "\ta", "ä", "日本",
    "a\u0301", "\u202eevil", "\x1b[31mred", "a\x07b", "a,b", "a;b", 'say "x"', '"', "'", "a|b",
    "\ufeffa",
    "=1+1",
    "@cmd", "-", "?", "\\", "\\N", "a\x00b", "x" * 3_000, "😀", "true", "2012-05-31", "#a", "^x$",
    "*",
)  # fmt: skip
ODD_NUMBERS = (
    "4 stars", "4/5", "80%", "five", "1_000", "0x10", "1,5", "1,500", "1.500,5", "inf", "-inf",
    "nan",
    "NAN", "Infinity", "1e39", "1e300", "-1e39", "1e-60", "1e400", "+4", "4.", ".5", "- 4", "４",
    "∞",
    "4\u00a0", " 4 ", "--4", "true", "N/A", "NA", "null", "-", "?", "-1", "-0", "3.5.1", "4e", "١",
    "99999999999999999999999", "0.1000000000000000055511151231257827", "\x1b[1m4", "#REF!", "4\x00",
)  # fmt: skip
ODD_TIMES = (
    "9007199254740993", "9007199254740992", "9223372036854775807", "9223372036854775808", "1e30",
    "nan", "inf", "-5", "0", "2012-05-31", "2012-05-31T12:00:00", "2012-05-31 12:00:00.25",
    "03/04/2012", "31.05.2012", "2012-02-30", "yesterday", "1338422400.75", "1,338,422,400", "",
    "0000-00-00", "99999-01-01", "2012-05-31T12:00:00+02:00", "1338422400123456789",
)  # fmt: skip
ODD_NAMES = (
    "^x$", "*", "a b", 'in"ches', "ä", "x" * 300, "1", "user ", "User", "score", "rank", "literal",
    "a,b", "\x1b[31m", "a\nb", "index", "", " ", "overall_rating", "all", "personal",
    "__metadata__",
)  # fmt: skip
WORDS = ("a small room", "nice", '5" tv', 'they said "fine"', "ok, but dear", "12", "so; so", "")


@dataclass
class TextTable:
    """Names of columns, and rows of texts; the first two columns are user and item."""

    names: list[str]
    rows: list[list[str]]


def make_table(rng: random.Random, rows: int | None = None) -> TextTable:
    """Make a table that is in order: ids, one to four aspects, and at times more columns."""
    names = [
        "user",
        "item",
        *rng.sample(["overall", "service", "value", "room"], rng.randint(1, 4)),
    ]
    extra = [name for name in ("timestamp", "item_name", "text") if rng.random() < 0.35]
    count = rng.randint(2, 30) if rows is None else rows
    table = TextTable(names + extra, [_row(rng, names, extra, count) for _ in range(count)])
    if rng.random() < 0.3:
        order = [*range(len(table.names))]
        rng.shuffle(order)
        table.names = [table.names[place] for place in order]
        table.rows = [[row[place] for place in order] for row in table.rows]
    return table


def _row(rng: random.Random, names: list[str], extra: list[str], count: int) -> list[str]:
    ratings = [
        rng.choice(["1", "2", "3", "4", "5", "3.5", "", "5.0"]) for _ in range(len(names) - 2)
    ]
    others = {
        "timestamp": str(rng.randint(1_300_000_000, 1_400_000_000)),
        "item_name": f"Hotel {rng.randrange(9)}",
        "text": rng.choice(WORDS),
    }
    ids = [f"u{rng.randrange(count // 2 + 2)}", f"i{rng.randrange(count // 2 + 2)}"]
    return ids + ratings + [others[name] for name in extra]


def spoil(rng: random.Random, table: TextTable) -> str:
    """Put something odd into a table, and say what."""
    how = rng.choice(("number", "number", "id", "time", "name", "repeat", "words", "empty id"))
    row = rng.choice(table.rows)
    place = rng.randrange(len(row))
    kind = table.names[place]
    if how == "name":
        table.names[place] = rng.choice(ODD_NAMES)
        return f"a column called {table.names[place]!r}"[:60]
    if how == "repeat":
        table.rows.append(list(row))
        table.rows[-1][place] = rng.choice(ODD_NUMBERS + ODD_TIMES)
        return f"a repeated row with {table.rows[-1][place]!r} for {kind!r}"
    if how == "words":
        for each in table.rows:
            each[place] = rng.choice(WORDS + ODD_NUMBERS)
        return f"words in column {kind!r}"
    if how == "empty id":
        row[place] = ""
        return f"nothing in column {kind!r}"
    row[place] = rng.choice({"number": ODD_NUMBERS, "id": ODD_IDS, "time": ODD_TIMES}[how])
    return f"{row[place][:40]!r} in column {kind!r}"
