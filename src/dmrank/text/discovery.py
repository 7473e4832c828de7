"""Finding the aspects of a corpus: frequent things that people have opinions about.

No tagger: a word is a candidate if it stands where nouns with opinions stand ("the great pool",
"the pool was great") far more often than chance. Candidates that keep the same company are one
aspect; each aspect is named after its most frequent word, its seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dmrank.data.ratings import RESERVED_COLUMNS
from dmrank.support.arrays import Float32s, Floats, Int64s
from dmrank.support.errors import ConfigError, DataError
from dmrank.text.collocations import Positions, company_of, find_positions
from dmrank.text.english import english
from dmrank.text.learning import frequent_words, learn_from_texts
from dmrank.text.lexicon import AspectWords, Lexicon, forms_of
from dmrank.text.polarity import Polarity
from dmrank.text.vocabulary import Vocabulary, split_entries

#: A noun stands after a determiner, or with an opinion, in at least this share of its occurrences.
_NOUN_SHARE: Final = 0.3
#: A verb stands after "to", a pronoun or a modal; a noun hardly ever does.
_VERB_SHARE: Final = 0.12
#: Share of the occurrences with an opinion right beside them, against the share of all words.
_OPINION_LIFT: Final = 1.3
#: An adjective stands after "is", "was" or "very" in at least this share of its occurrences.
_ADJECTIVE_SHARE: Final = 0.12
#: The candidates that are grouped: the most frequent ones.
_MOST_CANDIDATES: Final = 400
#: How many opinions about an aspect are listed on either side.
_MOST_OPINIONS: Final = 15
_LEAST_POLARITY: Final = 0.08


@dataclass(frozen=True)
class Discovered:
    """Aspects that were found in a corpus.

    Attributes
    ----------
    lexicon : Lexicon
        The aspects with their terms and opinions.
    mentions : dict of str to int
        How often the terms of each aspect occur in the reviews that were read.
    """

    lexicon: Lexicon
    mentions: Mapping[str, int]

    def notes(self) -> dict[str, str]:
        """Return a note per aspect, for the lexicon file."""
        return {name: f"{count:,} mentions" for name, count in self.mentions.items()}


def discover(
    texts: pl.Series,
    stars: Floats | None = None,
    *,
    min_count: int = 100,
    most: int = 20,
    similarity: float = 0.2,
    seeds: Lexicon | None = None,
) -> Discovered:
    """Find the aspects that clean texts are about.

    Parameters
    ----------
    texts : polars Series
        Reviews, as :func:`dmrank.text.reading.clean_texts` gives them.
    stars : float array, optional
        Overall ratings from 1 to 5; opinions about each aspect are then listed too.
    min_count : int
        Aspects with fewer mentions are left out.
    most : int
        At most so many aspects, the most frequent.
    similarity : float
        How similar, from 0 to 1, the company of two words must be for one aspect.
    seeds : Lexicon, optional
        Aspects to group other words around, beside those that are found.
    """
    if min_count < 1 or most < 1 or not 0 < similarity < 1:
        raise ConfigError("give min_count and most of at least 1, and a similarity within 0 and 1")
    vocabulary = Vocabulary([*frequent_words(texts), *english().entries()])
    positions = find_positions(texts, vocabulary)
    candidates = _candidates(positions, vocabulary, seeds)
    if len(candidates) == 0:
        raise DataError("no word is frequent and has opinions beside it: give more reviews")
    vectors = company_of(texts, vocabulary, candidates)
    groups = _group(candidates, vectors, positions.total, vocabulary, similarity, seeds)
    counted = {
        name: int(positions.total[codes].sum())
        for name, codes in groups.items()
        if positions.total[codes].sum() >= min_count or (seeds and name in seeds.aspects)
    }
    kept = sorted(counted, key=lambda name: (-counted[name], name))[:most]
    if not kept:
        raise too_few(min_count, max(int(positions.total[c].sum()) for c in groups.values()))
    terms = {name: _terms(groups[name], vocabulary) for name in kept}
    lexicon = Lexicon({name: AspectWords(terms=words) for name, words in terms.items()})
    if stars is not None:
        learned = learn_from_texts(texts, stars, lexicon)
        lexicon = _with_opinions(lexicon, learned, positions, vocabulary)
    return Discovered(lexicon, {name: counted[name] for name in kept})


def too_few(wanted: int, most: int) -> DataError:
    """Return the error that no aspect is frequent enough."""
    return DataError(
        f"no aspect has {wanted:,} mentions; the most frequent has {most:,}: lower min_count"
    )


def _candidates(positions: Positions, vocabulary: Vocabulary, seeds: Lexicon | None) -> Int64s:
    """Return the words that look like nouns with opinions, the most frequent first."""
    known = english()
    total = np.maximum(positions.total, 1)
    noun = (positions.after_determiner + positions.beside_opinion) / total
    verb = positions.after_subject / total
    opinion = positions.beside_opinion / total
    usual = positions.beside_opinion.sum() / max(int(positions.total.sum()), 1)
    good = (noun >= _NOUN_SHARE) & (verb <= _VERB_SHARE) & (opinion >= _OPINION_LIFT * usual)
    barred = known.entries() | {"overall", *RESERVED_COLUMNS}
    good &= np.array([_is_word(name) and name not in barred for name in vocabulary.names])
    codes = np.flatnonzero(good)
    codes = codes[np.argsort(-positions.total[codes], kind="stable")][:_MOST_CANDIDATES]
    named = [code for words in _seed_codes(seeds, vocabulary).values() for code in words]
    return np.array(list(dict.fromkeys([*named, *codes.tolist()])), dtype=np.int64)


def _is_word(name: str) -> bool:
    return name.isalpha() and len(name) > 2


def _seed_codes(seeds: Lexicon | None, vocabulary: Vocabulary) -> dict[str, list[int]]:
    """Return the single words of each seed aspect that the corpus has."""
    found = {}
    for name, words in seeds.aspects.items() if seeds else ():
        forms = [form for term in words.terms for form in forms_of(term)]
        singles = [split[0] for split in split_entries(forms) if len(split) == 1]
        codes = [vocabulary.code_of[word] for word in singles if word in vocabulary.code_of]
        if codes:
            found[name] = list(dict.fromkeys(codes))
    return found


def _group(
    candidates: Int64s,
    vectors: Float32s,
    counts: Int64s,
    vocabulary: Vocabulary,
    similarity: float,
    seeds: Lexicon | None,
) -> dict[str, list[int]]:
    """Put each candidate to the group whose company is most like its own, or make it a seed."""
    row_of = {int(code): row for row, code in enumerate(candidates)}
    groups: dict[str, list[int]] = {}
    group_of: dict[str, int] = {}
    centres = np.zeros_like(vectors)

    def join(name: str, code: int) -> None:
        if name not in groups:
            groups[name] = []
        for form in forms_of(vocabulary.name(code)):
            group_of.setdefault(form, list(groups).index(name))
        groups[name].append(code)
        # Frequent members say more about what the group is.
        centres[list(groups).index(name)] += np.sqrt(counts[code]) * vectors[row_of[code]]

    for name, codes in _seed_codes(seeds, vocabulary).items():
        for code in codes:
            join(name, code)
    taken = {code for codes in groups.values() for code in codes}
    for code in (code for code in candidates.tolist() if code not in taken):
        word = vocabulary.name(code)
        known = centres[: len(groups)]
        likeness = known @ vectors[row_of[code]] / np.maximum(np.linalg.norm(known, axis=1), 1e-9)
        best = group_of.get(word, int(np.argmax(likeness)) if groups else -1)
        if word in group_of or (best >= 0 and likeness[best] >= similarity):
            join(list(groups)[best], code)
        else:
            join(word, code)
    return groups


def _terms(codes: Sequence[int], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the words, without plurals of words that are there."""
    words = [vocabulary.name(code) for code in codes]
    plurals = {plural for word in words for plural in forms_of(word)[1:]}
    return tuple(word for word in words if word not in plurals)


def _with_opinions(
    lexicon: Lexicon, learned: Polarity, positions: Positions, vocabulary: Vocabulary
) -> Lexicon:
    """List adjectives that are good or bad beside one aspect more than beside the others."""
    names = learned.roles.vocabulary.names
    barred = english().entries() | {
        form for words in lexicon.aspects.values() for t in words.terms for form in forms_of(t)
    }
    predicate = positions.as_predicate >= _ADJECTIVE_SHARE * np.maximum(positions.total, 1)
    adjectives = {vocabulary.name(int(code)) for code in np.flatnonzero(predicate)} - barred
    free = [code for code, word in enumerate(names) if _is_word(word) and word in adjectives]
    weights = learned.weights[::2][free]
    # What a word says anywhere is its weight for most aspects.
    specific = weights - np.median(weights, axis=1, keepdims=True)
    aspects = {}
    for k, (name, words) in enumerate(lexicon.aspects.items()):
        order = np.argsort(-np.abs(specific[:, k]), kind="stable")
        clear = order[np.abs(specific[order, k]) >= _LEAST_POLARITY]
        clear = clear[np.sign(specific[clear, k]) == np.sign(weights[clear, k])]
        listed: dict[bool, list[str]] = {True: [], False: []}
        for row in clear.tolist():
            listed[bool(specific[row, k] > 0)].append(names[free[row]])
        aspects[name] = AspectWords(
            terms=words.terms,
            favours=tuple(listed[True][:_MOST_OPINIONS]),
            faults=tuple(listed[False][:_MOST_OPINIONS]),
        )
    return Lexicon(aspects)
