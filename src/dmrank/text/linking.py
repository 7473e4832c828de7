"""Which word is said about which aspect: every word goes to the nearest mention in its sentence.

Distance counts words, and more where a comma, a conjunction or a contrast ("clean but tiny") lies
between. Words that name an aspect are about that aspect. A negator turns around the words that
follow it in its clause, and an intensifier strengthens or weakens the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Bools, Float32s, Int32s, Int64s
from dmrank.text.roles import CONJUNCTION, CONTRAST, FUNCTION, NEGATOR, Roles
from dmrank.text.vocabulary import CLAUSE_BREAK, SENTENCE_BREAK, WordCodes

#: How many words a negator reaches.
_NEGATION_REACH: Final = 4
#: Distances, in words.
_CLAUSE_COST: Final = 3.0
_CONJUNCTION_COST: Final = 1.5
_CONTRAST_COST: Final = 8.0
_FARTHEST: Final = 12.0
#: An opinion that names its aspect draws other words less than a noun does.
_OPINION_COST: Final = 4.0
#: A word that the lexicon lists beside an aspect is drawn to it.
_LISTED_GAIN: Final = 4.0
#: At this distance a word counts half.
_HALF_DISTANCE: Final = 4.0


@dataclass(frozen=True)
class Links:
    """What is said about which aspect, one link per word.

    Attributes
    ----------
    token : int64 array
        The word.
    row : int32 array
        Its text.
    aspect : int16 array
        What it is about.
    feature : int32 array
        2 × its code, + 1 under negation.
    strength : float32 array
        How much it counts: less with distance.
    intensity : float32 array
        Factor on its polarity.
    """

    token: Int64s
    row: Int32s
    aspect: NDArray[np.int16]
    feature: Int32s
    strength: Float32s
    intensity: Float32s


def mark_features(codes: WordCodes, roles: Roles) -> Int32s:
    """Return 2 × the code of each token, + 1 under negation; −1 for tokens that are no word."""
    features = np.empty(len(codes.words), dtype=np.int32)
    _mark(codes.words, roles.bits, features)
    return features


def link(codes: WordCodes, features: Int32s, roles: Roles) -> Links:
    """Link the words of every text to aspects."""
    most = len(codes.words)
    links = Links(
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int16),
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.float32),
        np.empty(most, dtype=np.float32),
    )
    count = _link(
        (codes.words, codes.pointer, features),
        (roles.aspect, roles.is_opinion, roles.beside, roles.bits, roles.intensity),
        (links.token, links.row, links.aspect, links.feature, links.strength, links.intensity),
    )
    return Links(*(array[:count] for array in vars(links).values()))


@cached
def _mark(words: Int32s, bits: NDArray[np.uint8], features: Int32s) -> None:
    reach = 0
    for token in range(len(words)):
        word = words[token]
        features[token] = -1
        if word <= CLAUSE_BREAK:
            reach = 0
            continue
        if word >= 0:
            if bits[word] & CONTRAST:
                reach = 0
            features[token] = 2 * word + (1 if reach > 0 else 0)
        reach -= 1
        if word >= 0 and bits[word] & NEGATOR:
            reach = _NEGATION_REACH


@cached
def _survey(
    words: Int32s,
    aspect: NDArray[np.int16],
    bits: NDArray[np.uint8],
    intensity: Float32s,
    place: Float32s,
    factor: Float32s,
    mentions: Int64s,
) -> int:
    """Note where each word of a sentence is, its intensity, and the words that name an aspect."""
    count, at, pending = 0, 0.0, 1.0
    for position in range(len(words)):
        word = words[position]
        at += 1.0
        factor[position] = pending
        pending = 1.0
        if word == CLAUSE_BREAK:
            at += _CLAUSE_COST
        elif word >= 0:
            if bits[word] & CONTRAST:
                at += _CONTRAST_COST
            elif bits[word] & CONJUNCTION:
                at += _CONJUNCTION_COST
            if intensity[word] > 0:
                pending = intensity[word]
            if aspect[word] >= 0:
                mentions[count] = position
                count += 1
        place[position] = at
    return count


@cached
def _nearest(
    words: Int32s,
    position: int,
    place: Float32s,
    mentions: Int64s,
    near: int,
    aspect: NDArray[np.int16],
    is_opinion: Bools,
    beside: Bools,
) -> tuple[int, int, float]:
    """Return the first mention within reach, the aspect of the nearest (or −1), and how far it is.

    Mentions before `near` were out of reach for the words before this one.
    """
    word, here, reach = words[position], place[position], _FARTHEST + _LISTED_GAIN
    while near + 1 < len(mentions) and here - place[mentions[near]] > reach:
        near += 1
    best, least = -1, _FARTHEST
    for other in mentions[near:]:
        # An opinion stands before its noun more often than after it.
        away = here - place[other] if other < position else place[other] - here - 0.5
        if other > position and away > reach:
            break
        named = words[other]
        if is_opinion[named]:
            away += _OPINION_COST
        if beside[word, aspect[named]]:
            away -= _LISTED_GAIN
        if away < least:
            best, least = aspect[named], away
    return near, best, max(least, 0.5)


@cached
def _link(
    tokens: tuple[Int32s, Int64s, Int32s],
    roles: tuple[NDArray[np.int16], Bools, Bools, NDArray[np.uint8], Float32s],
    links: tuple[Int64s, Int32s, NDArray[np.int16], Int32s, Float32s, Float32s],
) -> int:
    """Write the links of all tokens, by the arrays of `WordCodes`, `Roles` and `Links`."""
    words, pointer, features = tokens
    aspect, is_opinion, beside, bits, intensity = roles
    token, row, about, feature, strength, degree = links
    longest = 0
    for r in range(len(pointer) - 1):
        longest = max(longest, pointer[r + 1] - pointer[r])
    place = np.empty(longest, dtype=np.float32)
    factor = np.empty(longest, dtype=np.float32)
    mentions = np.empty(longest, dtype=np.int64)
    count = 0
    for r in range(len(pointer) - 1):
        start = pointer[r]
        for end in range(start, pointer[r + 1]):
            if words[end] != SENTENCE_BREAK:
                continue
            sentence = words[start:end]
            found = _survey(sentence, aspect, bits, intensity, place, factor, mentions)
            near = 0
            for position in range(len(sentence)) if found else range(0):
                word = sentence[position]
                if word < 0 or bits[word] & FUNCTION or intensity[word] > 0:
                    continue
                best, distance = aspect[word], 0.0
                if best < 0:
                    near, best, distance = _nearest(
                        sentence,
                        position,
                        place,
                        mentions[:found],
                        near,
                        aspect,
                        is_opinion,
                        beside,
                    )
                if best < 0:
                    continue
                token[count], row[count], about[count] = start + position, r, best
                feature[count] = features[start + position]
                strength[count] = 1.0 / (1.0 + distance / _HALF_DISTANCE)
                degree[count] = factor[position]
                count += 1
            start = end + 1
    return count
