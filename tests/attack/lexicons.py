"""Lexicons: toml files that people edit, against Python's tomllib."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import polars as pl

import dmrank
from dmrank.text.lexicon import Lexicon
from tests.attack.case import Case
from tests.attack.damage import damaged

_PLAIN = """# a lexicon of one's own
[aspects.room]
terms = ["room", "bed", "front room"]
negative = ["cramped"]
faults = ["small"]

[aspects.staff]
terms = ["staff", "waiter"]
positive = ["helpful"]

[aspects]
food = ["food", "breakfast"]

[groups]
all = ["room", "staff"]
"""
_ODD_LINES = (
    'room = 5', "[aspects]", "[aspects.room]", 'terms = "room"', "terms = []", "terms = [5]",
    'terms = [""]',
    "[aspects.'']", 'x = ["y"]', "[groups]", 'g = ["nobody"]', "groups = 3", "aspects = []",
    "[[aspects]]",
    'terms = ["!!!"]', 'faults = ["room"]', "[aspects.user]", "[aspects.overall]",
    "date = 2012-05-31",
    'terms = ["a b c d e f g h"]', '[aspects."\\u001b[31m"]', 'terms = ["x\\u0000"]', "= 5",
    "terms = [nan]",
    'terms = ["ROOM", "room"]', "[aspects.room.terms]", 'terms = ["' + "x" * 5_000 + '"]',
    "a.b.c.d = 1",
    '"^x$" = ["pool"]', '"a\\nb" = ["pool"]', '"score" = ["pool"]', "[aspects.a.b]", "x = inf",
    'terms = [["a"]]',
    "groups.g = 'room'", "aspects.room = 1", 'positive = ["helpful"]', "x = {}",
    "[aspects.x]\nterms=['İ']",
    "# a note", "", "[aspects.pool]\nterms = ['pool', 'sauna']\nfavours = ['warm']",
    "'spa' = ['spa']",
    "x = " + "[" * 2_000 + "]" * 2_000,
)  # fmt: skip
_REVIEWS = pl.DataFrame({
    "user": ["a", "b"], "item": ["x", "y"],
    "text": ["A lovely room with a small bed, helpful staff.", "Cramped. The breakfast was bad."],
})  # fmt: skip


def make(rng: random.Random, folder: Path) -> Case:
    """Edit a lexicon as somebody does who is in a hurry, or who means harm."""
    data, what = _PLAIN.encode(), []
    for _ in range(rng.randint(1, 2)):
        if rng.random() < 0.6:
            lines = data.split(b"\n")
            line = rng.choice(_ODD_LINES)
            lines.insert(rng.randint(0, len(lines)), line.encode())
            data = b"\n".join(lines)
            what.append(line[:40].replace("\n", " "))
        elif rng.random() < 0.1:
            data = data.decode("utf-8", "replace").encode("utf-16")
            what.append("utf-16")
        else:
            done, data = damaged(rng, data)
            what.append(done)
    file = folder / "mine.toml"
    file.write_bytes(data)
    return Case(", ".join(what), lambda: _use(file), lambda lexicon: _wrong(lexicon, data))


def _use(file: Path) -> Lexicon:
    lexicon = dmrank.load_lexicon(file)
    extracted = dmrank.extract_aspects(_REVIEWS, aspects=lexicon, verbose=False)
    assert set(extracted.aspects) <= {*lexicon.aspects, "overall"}
    return lexicon


def _wrong(lexicon: Lexicon, data: bytes) -> str | None:
    try:
        content = tomllib.loads(data.decode().replace("\r\n", "\n").replace("\r", "\n"))
    except (ValueError, RecursionError):
        return "it was read, and is no toml"
    tables = content["aspects"]
    if list(lexicon.aspects) != list(tables):
        return f"the aspects are {list(lexicon.aspects)!r}, not {list(tables)!r}"
    for aspect, table in tables.items():
        lists: dict[str, Any] = table if isinstance(table, dict) else {"terms": table}
        for name, words in lists.items():
            plain = [" ".join(word.lower().split()) for word in words]
            if list(getattr(lexicon.aspects[aspect], name)) != plain:
                return f"{name} of {aspect!r} are {getattr(lexicon.aspects[aspect], name)!r}"
    return None
