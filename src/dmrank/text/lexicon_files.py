"""Lexicon files: small toml files that a person can read and edit."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.text.lexicon import COARSE, LISTS, AspectWords, Lexicon

#: The lexicons that come with dmrank.
INCLUDED: Final = ("hotels", "restaurants", "beer")
_WIDTH: Final = 100


def load_lexicon(source: str | os.PathLike[str] | Lexicon) -> Lexicon:
    """Load a lexicon by name (`hotels`, `restaurants`, `beer`) or from a toml file.

    Examples
    --------
    >>> list(load_lexicon("beer").aspects)
    ['appearance', 'aroma', 'palate', 'taste']
    >>> list(load_lexicon("restaurants-coarse").aspects)
    ['food', 'service', 'price', 'ambience']
    """
    if isinstance(source, Lexicon):
        return source
    name = os.fspath(source)
    if (base := name.removesuffix(COARSE)) in INCLUDED:
        text = (files("dmrank.text") / "lexicons" / f"{base}.toml").read_text(encoding="utf-8")
        lexicon = parse_lexicon(text, base)
        return lexicon.coarse() if name.endswith(COARSE) else lexicon
    path = Path(name)
    if not path.suffix and not path.exists():
        raise ConfigError(f"there is no lexicon {name!r}; {did_you_mean(name, INCLUDED)}")
    try:
        return parse_lexicon(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"lexicon {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"lexicon {path} is not UTF-8 text: convert it first") from None


def parse_lexicon(text: str, name: str) -> Lexicon:
    r"""Make a lexicon of the text of a toml file.

    An aspect is a list of terms, or a table with some of the lists of :class:`AspectWords`.

    Examples
    --------
    >>> lexicon = parse_lexicon('[aspects]\nstaff = ["staff", "waiter"]', "mine")
    >>> lexicon.aspects["staff"].terms
    ('staff', 'waiter')
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not a toml file: {error}") from None
    except RecursionError:
        raise ConfigError(f"{name} is not a lexicon: its lists are nested too deeply") from None
    for key in content:
        if key not in ("aspects", "groups"):
            hint = did_you_mean(key, ("aspects", "groups"))
            raise ConfigError(f"{name}: {key!r} is not known; {hint}")
    tables = content.get("aspects", {})
    if not isinstance(tables, dict):
        raise ConfigError(f"{name}: aspects should be a table, with a list of words per aspect")
    aspects = {aspect: _parse_aspect(name, aspect, table) for aspect, table in tables.items()}
    grouped = content.get("groups", {})
    if not isinstance(grouped, dict):
        raise ConfigError(f"{name}: groups should be a table, with a list of aspects per group")
    groups = {
        group: _word_list(name, f"group {group!r}", members) for group, members in grouped.items()
    }
    return Lexicon(aspects, groups, name)


def _parse_aspect(name: str, aspect: str, table: Any) -> AspectWords:
    if isinstance(table, list):
        table = {"terms": table}
    if not isinstance(table, dict):
        raise ConfigError(f"{name}: aspect {aspect!r} should be a list of words or a table")
    for key in table:
        if key not in LISTS:
            hint = did_you_mean(key, LISTS)
            raise ConfigError(f"{name}: aspect {aspect!r} has no list {key!r}; {hint}")
    place = f"aspect {aspect!r}"
    return AspectWords(**{key: _word_list(name, place, value) for key, value in table.items()})


def _word_list(name: str, place: str, words: Any) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ConfigError(f'{name}: {place}: give a list of words, such as ["staff", "waiter"]')
    return tuple(" ".join(word.lower().split()) for word in words)


def format_lexicon(lexicon: Lexicon, notes: Mapping[str, str] | None = None) -> str:
    """Return the text of a lexicon file, with a comment before each aspect that has a note.

    Examples
    --------
    >>> lexicon = Lexicon({"room": AspectWords(terms=("room", "bed"), faults=("small",))})
    >>> print(format_lexicon(lexicon, {"room": "1,200 mentions"}), end="")
    # 1,200 mentions
    [aspects.room]
    terms = ["room", "bed"]
    faults = ["small"]
    """
    tables = []
    for aspect, words in lexicon.aspects.items():
        note = (notes or {}).get(aspect)
        lines = [f"# {note}"] if note else []
        lines.append(f"[aspects.{_key(aspect)}]")
        lines += [_format_list(key, getattr(words, key)) for key in LISTS if getattr(words, key)]
        tables.append("\n".join(lines))
    if lexicon.groups:
        groups = [_format_list(_key(name), members) for name, members in lexicon.groups.items()]
        tables.insert(0, "\n".join(["[groups]", *groups]))
    return "\n\n".join(tables) + "\n"


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "")
    return name if plain.isascii() and plain.isalnum() else json.dumps(name, ensure_ascii=False)


def _format_list(key: str, words: Sequence[str]) -> str:
    quoted = [json.dumps(word, ensure_ascii=False) for word in words]
    line = f"{key} = [{', '.join(quoted)}]"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"{key} = [", *_wrap(quoted), "]"])


def _wrap(quoted: Sequence[str]) -> Iterator[str]:
    line = " "
    for word in quoted:
        if len(line) + len(word) + 2 > _WIDTH:
            yield line
            line = " "
        line += f" {word},"
    yield line
