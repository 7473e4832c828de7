"""What each word of a vocabulary does: names an aspect, is an opinion, turns one around."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dmrank.support.arrays import Bools, Float32s
from dmrank.text.english import English, english
from dmrank.text.lexicon import Lexicon, forms_of
from dmrank.text.vocabulary import Vocabulary

#: Bits of a word's role.
NEGATOR: Final = 1
CONTRAST: Final = 2
CONJUNCTION: Final = 4
FUNCTION: Final = 8
ENGLISH: Final = 16
FOREIGN: Final = 32

#: Polarity of the opinions that a lexicon lists without a number.
_LISTED: Final = 0.4


@dataclass(frozen=True)
class Roles:
    """Arrays over the words of a vocabulary.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words.
    aspects : tuple of str
        Names of the K aspects.
    aspect : int16 array
        The aspect that a word names, −1 for none.
    is_opinion : bool array
        Whether a word that names an aspect is an opinion at the same time.
    beside : bool array, words × K
        Whether a word is an opinion about an aspect in particular.
    bits : uint8 array
        What a word does to others: NEGATOR and so on.
    intensity : float32 array
        Factor on the next opinion, 0 for words that have none.
    general : float32 array
        Polarity that holds for anything, from −1 to 1.
    polarity : float32 array, words × K
        Polarity about each aspect.
    """

    vocabulary: Vocabulary
    aspects: tuple[str, ...]
    aspect: NDArray[np.int16]
    is_opinion: Bools
    beside: Bools
    bits: NDArray[np.uint8]
    intensity: Float32s
    general: Float32s
    polarity: Float32s


def assign_roles(lexicon: Lexicon, words: Iterable[str] = ()) -> Roles:
    """Build the vocabulary of a lexicon, of English and of further words, and their roles.

    Examples
    --------
    >>> from dmrank.text.lexicon import AspectWords
    >>> roles = assign_roles(Lexicon({"room": AspectWords(terms=("room",), faults=("small",))}))
    >>> code = roles.vocabulary.code_of["rooms"]
    >>> int(roles.aspect[code]), float(roles.polarity[roles.vocabulary.code("small"), 0])
    (0, -0.4000000059604645)
    """
    known = english()
    own = [*known.entries(), *_lexicon_entries(lexicon)]
    vocabulary = Vocabulary([*words, *own, *known.foreign_words])
    size, aspects = len(vocabulary), tuple(lexicon.aspects)
    general = np.zeros(size, dtype=np.float32)
    _set(general, vocabulary, known.polarity)
    intensity = np.zeros(size, dtype=np.float32)
    _set(intensity, vocabulary, known.intensity)
    roles = Roles(
        vocabulary=vocabulary,
        aspects=aspects,
        aspect=np.full(size, -1, dtype=np.int16),
        is_opinion=np.zeros(size, dtype=np.bool_),
        beside=np.zeros((size, len(aspects)), dtype=np.bool_),
        bits=_bits(vocabulary, known, own),
        intensity=intensity,
        general=general,
        polarity=np.empty((size, len(aspects)), dtype=np.float32),
    )
    _assign_aspects(roles, lexicon)
    return roles


def _lexicon_entries(lexicon: Lexicon) -> Iterable[str]:
    for words in lexicon.aspects.values():
        for word, key in words.naming():
            yield from forms_of(word) if key == "terms" else (word,)
        yield from (*words.favours, *words.faults)


def _assign_aspects(roles: Roles, lexicon: Lexicon) -> None:
    code, general = roles.vocabulary.codes, roles.general
    for k, words in enumerate(lexicon.aspects.values()):
        for term in words.terms:
            named = code(forms_of(term))
            roles.aspect[named] = k
            general[named] = 0.0
        for sign, opinions in ((1, words.positive), (-1, words.negative)):
            named = code(opinions)
            roles.aspect[named] = k
            roles.is_opinion[named] = True
            general[named] = sign * np.maximum(_LISTED, sign * general[named])
    roles.polarity[:] = general[:, None]
    for k, words in enumerate(lexicon.aspects.values()):
        for sign, opinions in ((1, words.favours), (-1, words.faults)):
            beside = code(opinions)
            roles.beside[beside, k] = True
            roles.polarity[beside, k] = sign * _LISTED


def _set(values: Float32s, vocabulary: Vocabulary, entries: dict[str, float]) -> None:
    codes = np.array(vocabulary.codes(list(entries)))
    # A symbol that texts are not searched for has no code.
    values[codes[codes >= 0]] = np.array(list(entries.values()))[codes >= 0]


def _bits(vocabulary: Vocabulary, known: English, own: list[str]) -> NDArray[np.uint8]:
    bits = np.zeros(len(vocabulary), dtype=np.uint8)
    for bit, words in (
        (NEGATOR, known.negators),
        (CONTRAST, known.contrasts),
        (CONJUNCTION, known.conjunctions),
        (FUNCTION, known.function_words | known.contrasts | known.conjunctions),
        (ENGLISH, set(own)),
        (FOREIGN, known.foreign_words),
    ):
        codes = np.array(vocabulary.codes(sorted(words)))
        bits[codes[codes >= 0]] |= bit
    contracted = [code for code, name in enumerate(vocabulary.names) if name.endswith("n't")]
    bits[contracted] |= NEGATOR
    return bits
