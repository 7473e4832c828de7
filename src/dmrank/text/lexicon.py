"""Lexicons: which words name an aspect, and which say something good or bad about it.

What is wrong with a lexicon is said when it is made, before any review is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from dmrank.data.ratings import RESERVED_COLUMNS
from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.support.terminal import printable

#: Ending of the name of a lexicon with merged aspects.
COARSE: Final = "-coarse"
#: The lists of an aspect.
LISTS: Final = ("terms", "positive", "negative", "favours", "faults")
#: An aspect is found by these; the other lists count only beside one of them.
_NAMING: Final = ("terms", "positive", "negative")
_LONGEST_PHRASE: Final = 6


@dataclass(frozen=True)
class AspectWords:
    """The words of one aspect.

    Attributes
    ----------
    terms : tuple of str
        Words and phrases that name the aspect; plurals are matched as well.
    positive, negative : tuple of str
        Opinions that name the aspect by themselves ("spotless", "overpriced").
    favours, faults : tuple of str
        Opinions about the aspect only where one of its words is near ("a small room").
    """

    terms: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    favours: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()

    def naming(self) -> Iterator[tuple[str, str]]:
        """Give each word that names the aspect, with the list that it is in."""
        for name in _NAMING:
            for word in getattr(self, name):
                yield word, name


@dataclass(frozen=True)
class Lexicon:
    """Aspects and their words; made by :func:`dmrank.text.load_lexicon`, or by hand.

    Attributes
    ----------
    aspects : mapping of str to AspectWords
        The words of each aspect.
    groups : mapping of str to tuple of str
        Coarser aspects, each a list of aspects; :meth:`coarse` merges them.
    name : str
        What messages call it.

    Examples
    --------
    >>> lexicon = Lexicon({"room": AspectWords(terms=("room", "bed"), negative=("cramped",))})
    >>> list(lexicon.aspects)
    ['room']
    """

    aspects: Mapping[str, AspectWords]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = "lexicon"

    def __post_init__(self) -> None:
        if not self.aspects:
            raise ConfigError(f"{self.name}: no aspect; give at least one under [aspects]")
        for aspect, words in self.aspects.items():
            _check_aspect(self.name, aspect, words)
        _check_overlap(self)
        for group, members in self.groups.items():
            for member in members:
                if member not in self.aspects:
                    hint = did_you_mean(member, self.aspects)
                    raise ConfigError(f"{self.name}: group {group!r} has {member!r}; {hint}")

    def coarse(self) -> Lexicon:
        """Merge the aspects of each group into one; aspects in no group are left out."""
        if not self.groups:
            raise ConfigError(f"{self.name}: it has no [groups], so there are no coarser aspects")
        merged = {}
        for group, members in self.groups.items():
            words = [self.aspects[member] for member in members]
            lists = {
                name: tuple(dict.fromkeys(word for part in words for word in getattr(part, name)))
                for name in LISTS
            }
            # What favours one member and faults another says nothing about the whole.
            both = set(lists["favours"]) & set(lists["faults"])
            for name in ("favours", "faults"):
                lists[name] = tuple(word for word in lists[name] if word not in both)
            merged[group] = AspectWords(**lists)
        return Lexicon(merged, name=f"{self.name}{COARSE}")

    def content(self) -> str:
        """Return everything that matters as one text, the same for the same lexicon."""
        words = {
            aspect: {name: list(getattr(words, name)) for name in LISTS}
            for aspect, words in self.aspects.items()
        }
        return json.dumps(words)

    @classmethod
    def from_content(cls, content: str, name: str) -> Lexicon:
        """Make the lexicon that :meth:`content` wrote."""
        stored = json.loads(content)
        aspects = {
            aspect: AspectWords(**{key: tuple(value) for key, value in lists.items()})
            for aspect, lists in stored.items()
        }
        return cls(aspects, name=name)


def _check_aspect(name: str, aspect: str, words: AspectWords) -> None:
    if not aspect.strip() or aspect == "overall" or aspect in RESERVED_COLUMNS:
        raise ConfigError(f"{name}: an aspect cannot be called {aspect!r}: choose another name")
    if not any(True for _ in words.naming()):
        raise ConfigError(f"{name}: aspect {aspect!r} has no words: give it some terms")
    for key in LISTS:
        for word in getattr(words, key):
            if not any(letter.isalnum() for letter in word):
                raise ConfigError(f"{name}: aspect {aspect!r}: {word!r} in {key} is no word")
            if len(word.split()) > _LONGEST_PHRASE:
                raise ConfigError(
                    f"{name}: aspect {aspect!r}: {word!r} is longer than {_LONGEST_PHRASE} words"
                )


def _check_overlap(lexicon: Lexicon) -> None:
    """Refuse a word with two places: which aspect or polarity is meant would be a guess."""
    places: dict[str, str] = {}
    for aspect, words in lexicon.aspects.items():
        for word, key in words.naming():
            for form in forms_of(word) if key == "terms" else (word,):
                _take_place(lexicon.name, form, _place(aspect, key), places)
    for aspect, words in lexicon.aspects.items():
        beside: dict[str, str] = {}
        for key in ("favours", "faults"):
            for word in getattr(words, key):
                if word in places:
                    raise ConfigError(
                        f"{lexicon.name}: {word!r} is in {_place(aspect, key)} and names an aspect "
                        f"in {places[word]}: keep one of the two"
                    )
                _take_place(lexicon.name, word, _place(aspect, key), beside)


def _place(aspect: str, key: str) -> str:
    return f"{printable(aspect)}.{key}"


def _take_place(name: str, word: str, place: str, places: dict[str, str]) -> None:
    if word in places:
        twice = f"twice in {place} (plurals of terms are matched without being listed)"
        where = twice if places[word] == place else f"in {places[word]} and in {place}"
        raise ConfigError(f"{name}: {word!r} is {where}: keep one of the two")
    places[word] = place


def forms_of(term: str) -> tuple[str, ...]:
    """Return a term and its plural.

    Examples
    --------
    >>> forms_of("front desk"), forms_of("lobby"), forms_of("dish")
    (('front desk', 'front desks'), ('lobby', 'lobbies'), ('dish', 'dishes'))
    """
    if term.endswith("s") or not term[-1].isalpha():
        return (term,)
    if term.endswith("y") and term[-2:-1] not in "aeiou":
        return (term, term[:-1] + "ies")
    return (term, term + ("es" if term.endswith(("ch", "sh", "x", "z")) else "s"))
