"""How good or bad every word is, about anything and about each aspect."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
from pydantic import FiniteFloat, NonNegativeInt

from dmrank.support.arrays import Float32s
from dmrank.support.containers import read_container, write_container
from dmrank.support.errors import DmrankError, ModelFileError
from dmrank.support.layouts import checked_arrays, floats, length_of
from dmrank.support.metadata import Metadata, unreadable
from dmrank.text.lexicon import Lexicon
from dmrank.text.roles import FUNCTION, Roles, assign_roles

#: Under negation an opinion counts so much: "not good" is less bad than "good" is good.
_NEGATED: Final = -0.6
#: Stars that one unit of polarity moves the predicted overall rating by, before any learning.
STARS_PER_UNIT: Final = 1.65
#: Middle of the scale from 1 to 5 stars, which is used inside.
_MIDDLE: Final = 3.0
#: A word that is no opinion is this much evidence about an aspect; an opinion is 1.
_PLAIN_EVIDENCE: Final = 0.1


@dataclass(frozen=True, eq=False)
class Polarity:
    """The polarity of words, from a lexicon and, if learned, from reviews with overall ratings.

    Made by :func:`lexicon_polarity` or :func:`dmrank.text.learn_polarity`. Weights have one row per
    word and, after it, one for the same word under negation.

    Attributes
    ----------
    lexicon : Lexicon
        The aspects.
    words : tuple of str
        Words that were added to those of the lexicon.
    roles : Roles
        What each word does.
    tone : float32 array, 2 × words
        Stars by which a word moves the predicted overall rating.
    weights : float32 array, 2 × words × K
        Polarity of a word about each aspect.
    evidence : float32 array, 2 × words × K
        How much a word counts as evidence about each aspect.
    mean_stars : float
        The overall rating of a review that says nothing.
    mean_weight : float
        Weight of a typical word, by evidence.
    reviews : int
        How many reviews it was learned from.
    """

    lexicon: Lexicon
    words: tuple[str, ...]
    roles: Roles
    tone: Float32s
    weights: Float32s
    evidence: Float32s
    mean_stars: float = _MIDDLE
    mean_weight: float = 0.0
    reviews: int = 0

    def __repr__(self) -> str:
        origin = f"learned from {self.reviews:,} reviews" if self.reviews else "of the lexicon"
        return f"Polarity({self.lexicon.name}, {len(self.roles.vocabulary):,} words, {origin})"

    def of(self, aspect: str, word: str) -> float:
        """Return the polarity of a word about an aspect, 0 for words that are not known."""
        code = self.roles.vocabulary.code(word)
        k = self.roles.aspects.index(aspect)
        return float(self.weights[2 * code, k]) if code >= 0 else 0.0

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything into one file, whole or not at all."""
        metadata: dict[str, Any] = {
            "kind": "polarity",
            "lexicon": self.lexicon.content(),
            "name": self.lexicon.name,
            "words": list(self.words),
            "mean_stars": self.mean_stars,
            "mean_weight": self.mean_weight,
            "reviews": self.reviews,
        }
        arrays = {"tone": self.tone, "weights": self.weights, "evidence": self.evidence}
        return write_container(path, arrays, metadata, content="polarity")


class _About(Metadata):
    """What the header of a file of polarity says."""

    content: ClassVar[str] = "a learned polarity"

    kind: Literal["polarity"]
    lexicon: str
    name: str
    words: list[str]
    mean_stars: FiniteFloat
    mean_weight: FiniteFloat
    reviews: NonNegativeInt


def load_polarity(path: str | os.PathLike[str]) -> Polarity:
    """Read what :meth:`Polarity.save` wrote."""
    container = read_container(path, content="polarity")
    about = _About.read(container.metadata, path)
    try:
        lexicon = Lexicon.from_content(about.lexicon, about.name)
    except (DmrankError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise unreadable(path, about.content, f"its lexicon: {error}") from None
    roles = assign_roles(lexicon, tuple(about.words))
    rows, aspects = 2 * len(roles.vocabulary), len(roles.aspects)
    if length_of(container.shapes, "tone") != rows:
        raise ModelFileError(
            f"{path} was learned with another version of dmrank's English: learn it again"
        )
    layout = {name: floats(rows, aspects) for name in ("weights", "evidence")}
    arrays = checked_arrays(container.arrays, {"tone": floats(rows), **layout}, path)
    tone, weights, evidence = (np.array(arrays[n]) for n in ("tone", "weights", "evidence"))
    return Polarity(
        lexicon, tuple(about.words), roles, tone, weights, evidence,
        about.mean_stars, about.mean_weight, about.reviews,
    )  # fmt: skip


def lexicon_polarity(lexicon: Lexicon, words: tuple[str, ...] = ()) -> Polarity:
    """Return the polarity that the lexicon and VADER give, without learning.

    Examples
    --------
    >>> from dmrank.text.lexicon_files import load_lexicon
    >>> polarity = lexicon_polarity(load_lexicon("hotels"))
    >>> round(polarity.of("rooms", "small"), 1), round(polarity.of("rooms", "lovely"), 2)
    (-0.4, 0.65)
    """
    roles = assign_roles(lexicon, words)
    weights = negated_too(roles.polarity)
    evidence = np.where(weights != 0, 1.0, _PLAIN_EVIDENCE).astype(np.float32)
    plain = (roles.bits & FUNCTION) > 0
    evidence[np.repeat(plain, 2)] = 0.0
    return Polarity(
        lexicon, words, roles, STARS_PER_UNIT * negated_too(roles.general), weights, evidence
    )


def negated_too(polarity: Float32s) -> Float32s:
    """Put after each row the same row under negation."""
    both = np.repeat(polarity, 2, axis=0)
    both[1::2] *= np.float32(_NEGATED)
    return both
