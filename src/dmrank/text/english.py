"""English as far as opinions need it: negators, intensity, contrasts, and the VADER lexicon."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from dmrank.support.extras import require

#: VADER's valences run from −4 to 4.
_HIGHEST_VALENCE: Final = 4.0


@dataclass(frozen=True)
class English:
    """Words by what they do to an opinion.

    Attributes
    ----------
    negators, contrasts, conjunctions, function_words, foreign_words : frozenset of str
        As described in lexicons/english.toml.
    intensity : dict of str to float
        Factors on the strength of the next opinion.
    polarity : dict of str to float
        Opinions that hold for anything, from −1 to 1.
    """

    negators: frozenset[str]
    contrasts: frozenset[str]
    conjunctions: frozenset[str]
    function_words: frozenset[str]
    foreign_words: frozenset[str]
    intensity: dict[str, float]
    polarity: dict[str, float]

    def entries(self) -> set[str]:
        """Return every word and phrase of English."""
        lists = (self.negators, self.contrasts, self.conjunctions, self.function_words)
        return set().union(*lists, self.intensity, self.polarity)


@cache
def english() -> English:
    """Return what is known about English; it is read once.

    Examples
    --------
    >>> known = english()
    >>> known.polarity["great"], known.polarity["ugly"] < 0, "never" in known.negators
    (0.7, True, True)
    """
    text = (files("dmrank.text") / "lexicons" / "english.toml").read_text(encoding="utf-8")
    own = tomllib.loads(text)
    names = ("negators", "contrasts", "conjunctions", "function_words", "foreign_words")
    return English(
        **{name: frozenset(own[name]) for name in names},
        intensity=own["intensity"],
        polarity=_vader_polarity()
        | {word: group["polarity"] for group in own["opinions"] for word in group["words"]},
    )


def _vader_polarity() -> dict[str, float]:
    """Return the words and emoji of the VADER lexicon; its emoticons are not tokens here."""
    require("vaderSentiment", "reading reviews")
    folder = files("vaderSentiment")
    valence: dict[str, float] = {}
    for line in (folder / "vader_lexicon.txt").read_text(encoding="utf-8").splitlines():
        word, mean, *_ = line.split("\t")
        if word.replace("'", "").replace("-", "").isalpha() and len(word) > 1:
            valence[word] = float(mean)
    for line in (folder / "emoji_utf8_lexicon.txt").read_text(encoding="utf-8").splitlines():
        emoji, description = line.split("\t")
        value = sum(valence.get(word, 0.0) for word in description.split())
        if len(emoji) == 1 and value:
            valence[emoji] = value
    return {word: max(-1.0, min(1.0, v / _HIGHEST_VALENCE)) for word, v in valence.items()}
