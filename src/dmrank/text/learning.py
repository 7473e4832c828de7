"""Learning polarity from overall ratings: words mean different things about different aspects.

Two things are learned from reviews with an overall rating, both started at the lexicon's polarity:

- the tone of every word: a ridge regression of the overall rating on the words of the review;
- the polarity of every (aspect, word) pair: whether the word keeps good or bad company, that is
  what the rest of the review says about this aspect beyond what its overall rating makes expect
  ("far" in the company of praise or of complaints about the location).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from dmrank.support.arrays import Float32s, Floats
from dmrank.support.errors import DataError
from dmrank.text.lexicon import Lexicon
from dmrank.text.linking import Links
from dmrank.text.polarity import STARS_PER_UNIT, Polarity, lexicon_polarity
from dmrank.text.reading import read_texts
from dmrank.text.scoring import PRIOR_EVIDENCE, distinct_features
from dmrank.text.tokens import CLAUSE_END, join_texts, tokenize

#: Words in fewer reviews than this are not learned about.
_LEAST_REVIEWS: Final = 5
_MOST_WORDS: Final = 50_000
_LONGEST_WORD: Final = 30
#: Ridge penalty on the tone of a word.
_PENALTY: Final = 1.0
#: How much of a word's tone, and of its company, goes into its polarity about an aspect.
_TONE_SHARE: Final = 0.4
_COMPANY_SHARE: Final = 3.0
#: So many occurrences of a pair count for nothing; fewer are shrunk towards the lexicon.
_COMPANY_PRIOR: Final = 30.0
_ROWS: Final = 512


def learn_from_texts(texts: pl.Series, stars: Floats, lexicon: Lexicon) -> Polarity:
    """Learn from texts, as :func:`clean_texts` gives them, with overall ratings from 1 to 5."""
    known = ~np.isnan(stars)
    texts, stars = texts.filter(pl.Series(known)), stars[known]
    if len(stars) == 0:
        raise DataError("no review has an overall rating: there is nothing to learn polarity from")
    start = lexicon_polarity(lexicon, frequent_words(texts))
    corpus = _read_corpus(texts, start)
    tone, unit, mean = _learn_tone(corpus, stars, start)
    weights = start.weights + np.float32(_TONE_SHARE / unit) * tone[:, None]
    weights = np.where(start.evidence > 0, weights, 0).astype(np.float32)
    learned = replace(start, tone=tone, weights=weights, mean_stars=mean, reviews=len(stars))
    company = _company(corpus, stars, learned)
    weights = weights + np.float32(_COMPANY_SHARE) * company.astype(np.float32)
    return replace(learned, weights=weights, mean_weight=_mean_weight(corpus, learned, weights))


@dataclass(frozen=True)
class _Corpus:
    """All links, with rows of the corpus, and which features each review has."""

    links: Links
    bags: sparse.csr_array


def frequent_words(texts: pl.Series) -> tuple[str, ...]:
    """Return the words of enough reviews, the most frequent first if there are too many."""
    reviews: dict[int, int] = {}
    spelling: dict[int, str] = {}
    for start in range(0, len(texts), _ROWS):
        tokens = tokenize(*join_texts(texts[start : start + _ROWS]))
        row = np.repeat(np.arange(len(tokens.pointer) - 1), np.diff(tokens.pointer))
        is_word = (tokens.hashes > CLAUSE_END) & (tokens.ends - tokens.starts <= _LONGEST_WORD)
        order = np.flatnonzero(is_word)
        order = order[np.lexsort((row[order], tokens.hashes[order]))]
        hashes, rows = tokens.hashes[order], row[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1])
        values, first, counts = np.unique(hashes[new], return_index=True, return_counts=True)
        for value, token, count in zip(
            values.tolist(), order[new][first].tolist(), counts.tolist(), strict=True
        ):
            if value not in reviews:
                spelling[value] = tokens.spelling(token)
            reviews[value] = reviews.get(value, 0) + count
    frequent = [(-n, spelling[h]) for h, n in reviews.items() if n >= _LEAST_REVIEWS]
    return tuple(sorted(word for _, word in sorted(frequent)[:_MOST_WORDS]))


def _read_corpus(texts: pl.Series, polarity: Polarity) -> _Corpus:
    size = len(polarity.tone)
    links: list[Links] = []
    bag_rows, bag_features = [], []
    for start in range(0, len(texts), _ROWS):
        reading = read_texts(texts[start : start + _ROWS], polarity.roles)
        links.append(replace(reading.links, row=reading.links.row + np.int32(start)))
        row, feature = distinct_features(reading, size)
        bag_rows.append(row + np.int32(start))
        bag_features.append(feature)
    row, feature = np.concatenate(bag_rows), np.concatenate(bag_features)
    count = np.bincount(row, minlength=len(texts))
    values = (1.0 / np.sqrt(count + 1.0))[row]
    bags = sparse.csr_array((values, (row, feature)), shape=(len(texts), size))
    names = vars(links[0])
    joined = {name: np.concatenate([getattr(part, name) for part in links]) for name in names}
    return _Corpus(Links(**joined), bags)


def _learn_tone(corpus: _Corpus, stars: Floats, start: Polarity) -> tuple[Float32s, float, float]:
    """Return the stars of each word, those of one unit of the lexicon's polarity, and the mean.

    With the lexicon's polarity p: stars = mean + X (u p + v), minimising squares + penalty · |v|².
    """
    mean = float(stars.mean())
    lexical = corpus.bags @ start.tone.astype(np.float64)
    size = len(start.tone)

    def forward(v: Floats) -> Floats:
        return corpus.bags @ v[:size] + lexical * v[size]

    def normal(v: Floats) -> Floats:
        fitted = forward(v)
        back = np.append(corpus.bags.T @ fitted, lexical @ fitted)
        back[:size] += _PENALTY * v[:size]
        return back

    residual = stars - mean
    target = np.append(corpus.bags.T @ residual, lexical @ residual)
    operator = LinearOperator((size + 1, size + 1), matvec=normal, dtype=np.float64)
    found, _ = cg(operator, target, rtol=1e-4, maxiter=300)
    # A lexicon that has nothing to say about these reviews keeps the unit it came with.
    unit = max(float(found[size]), 0.1)
    return (found[:size] + unit * start.tone).astype(np.float32), unit * STARS_PER_UNIT, mean


def _company(corpus: _Corpus, stars: Floats, learned: Polarity) -> Floats:
    """Return, for each (word, aspect), the mean of what the rest of the review says about it.

    The rest: the shrunk sentiment about the aspect without this word, beyond its regression on the
    overall rating.
    """
    links, (size, aspects) = corpus.links, learned.weights.shape
    cell = links.row.astype(np.int64) * aspects + links.aspect
    pair = links.feature.astype(np.int64) * aspects + links.aspect
    said = learned.weights.ravel()[pair].astype(np.float64) * links.strength
    said *= links.intensity
    weight = learned.evidence.ravel()[pair].astype(np.float64) * links.strength
    cells = len(stars) * aspects
    rest = np.bincount(cell, said, cells)[cell] - said
    rest /= np.bincount(cell, weight, cells)[cell] - weight + PRIOR_EVIDENCE
    overall = stars[links.row]
    for k in range(aspects):
        of_aspect = links.aspect == k
        if of_aspect.any():
            rest[of_aspect] -= _regression(overall[of_aspect], rest[of_aspect])
    strength = links.strength.astype(np.float64)
    total = np.bincount(pair, rest * strength, size * aspects)
    count = np.bincount(pair, strength, size * aspects)
    return (total / (count + _COMPANY_PRIOR)).reshape(size, aspects)


def _regression(x: Floats, y: Floats) -> Floats:
    """Return the fitted values of y on x; the mean where x does not vary."""
    spread = x - x.mean()
    variance = float(spread @ spread)
    slope = float(spread @ y) / variance if variance > 0 else 0.0
    return y.mean() + slope * spread


def _mean_weight(corpus: _Corpus, learned: Polarity, weights: Float32s) -> float:
    links, aspects = corpus.links, weights.shape[1]
    pair = links.feature.astype(np.int64) * aspects + links.aspect
    evidence = learned.evidence.ravel()[pair] * links.strength
    said = weights.ravel()[pair] * links.strength * links.intensity
    return float(said.sum() / max(float(evidence.sum()), 1e-9))
