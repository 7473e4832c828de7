"""Small made-up reviews, and asking what was said about what."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from dmrank.text import Lexicon, lexicon_polarity, load_lexicon
from dmrank.text.extractor import Extractor
from dmrank.text.reading import clean_texts, read_texts

_GOOD = ("great", "lovely", "excellent", "wonderful")
_BAD = ("terrible", "awful", "bad", "poor")
_THINGS = ("room", "staff", "location", "breakfast", "bathroom", "pool")
_ENDINGS = ("We stayed for three nights.", "It was our second visit with the kids.", "")


def make_reviews(rows: int, seed: int = 0) -> pl.DataFrame:
    """Return reviews that praise or blame things, more praise with more stars."""
    random = np.random.default_rng(seed)
    stars = random.integers(1, 6, rows)
    texts = []
    for star in stars:
        said = []
        for thing in random.choice(_THINGS, size=3, replace=False):
            words = _GOOD if random.random() < (star - 0.5) / 5 else _BAD
            said.append(f"The {thing} was {random.choice(words)}.")
        texts.append(" ".join([*said, random.choice(_ENDINGS)]).strip())
    return pl.DataFrame({
        "user": [f"u{row:06d}" for row in range(rows)],
        "item": [f"h{row % 37:02d}" for row in range(rows)],
        "stars": stars,
        "text": texts,
    })  # fmt: skip


def _extractor(lexicon: str | Lexicon) -> Extractor:
    if isinstance(lexicon, Lexicon):
        return Extractor(lexicon_polarity(lexicon))
    return _included(lexicon)


@cache
def _included(name: str) -> Extractor:
    return Extractor(lexicon_polarity(load_lexicon(name)))


def said_about(text: str, lexicon: str | Lexicon = "hotels") -> dict[str, set[str]]:
    """Return the words about each aspect, those under negation with "not " before them."""
    roles = _extractor(lexicon).polarity.roles
    links = read_texts(clean_texts(pl.Series([text])), roles).links
    found: dict[str, set[str]] = {}
    for feature, aspect in zip(links.feature, links.aspect, strict=True):
        word = "not " * (feature % 2) + roles.vocabulary.name(feature // 2)
        found.setdefault(roles.aspects[aspect], set()).add(word)
    return found


def sentiment(text: str, lexicon: str | Lexicon = "hotels") -> dict[str, float]:
    """Return the sentiment about each aspect that a text mentions, by the lexicon alone."""
    extractor = _extractor(lexicon)
    scores, _ = extractor.score(clean_texts(pl.Series([text])))
    return {
        name: float(scores.sentiment[0, k])
        for k, name in enumerate(extractor.aspects)
        if scores.mentions[0, k]
    }
