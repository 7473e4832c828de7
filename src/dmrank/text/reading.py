"""Reading reviews: from texts to what is said about which aspect."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Bools, Int32s, Int64s
from dmrank.text.linking import Links, link, mark_features
from dmrank.text.roles import ENGLISH, FOREIGN, FUNCTION, Roles
from dmrank.text.tokens import Tokens, join_texts, tokenize
from dmrank.text.vocabulary import WordCodes

_ENTITY: Final = r"&(#[0-9]+|#x[0-9a-fA-F]+|[a-zA-Z][a-zA-Z0-9]*);"
#: English text is mostly function words, opinions and words of the lexicon; a text of at least so
#: many words with a smaller share of these is not English. Short ones may be mostly names.
_ENGLISH_SHARES: Final = ((5, 0.14), (20, 0.30))
#: How many times as much a word counts in a title.
_TITLE_WEIGHT: Final = 3.0
#: A text with more letters beyond ASCII than this share of its bytes is not English.
_FOREIGN_SHARE: Final = 0.25


@dataclass(frozen=True)
class Reading:
    """What was found in a number of texts.

    Attributes
    ----------
    tokens : Tokens
        The words, with the text that they are in.
    codes : WordCodes
        The words as codes, phrases merged.
    features : int32 array
        2 × the code of each token, + 1 under negation; −1 for tokens that are no word.
    links : Links
        Words and the aspects that they are about.
    empty : bool array, rows
        Whether a text has no words.
    foreign : bool array, rows
        Whether a text is not English; nothing is linked in it.
    """

    tokens: Tokens
    codes: WordCodes
    features: Int32s
    links: Links
    empty: Bools
    foreign: Bools

    def __len__(self) -> int:
        return len(self.empty)


def clean_texts(texts: pl.Series, titles: pl.Series | None = None) -> pl.Series:
    r"""Put titles, or nothing, on a line before their texts, and unescape HTML entities.

    Examples
    --------
    >>> clean_texts(pl.Series(["Bed &amp; breakfast", None]), pl.Series(["Nice", None])).to_list()
    ['Nice\nBed & breakfast', '\n']
    """
    joined = texts.cast(pl.String).fill_null("")
    if titles is None:
        joined = "\n" + joined
    else:
        one_line = titles.cast(pl.String).fill_null("").str.replace_all(r"[\r\n]+", " ")
        joined = one_line + "\n" + joined
    escaped = joined.str.contains(_ENTITY)
    if escaped.any():
        unescaped = pl.Series([html.unescape(text) for text in joined.filter(escaped)])
        joined = joined.scatter(escaped.arg_true(), unescaped)
    return joined


def read_texts(texts: pl.Series, roles: Roles) -> Reading:
    """Read texts as :func:`clean_texts` gives them.

    Examples
    --------
    >>> from dmrank.text.lexicon_files import load_lexicon
    >>> from dmrank.text.roles import assign_roles
    >>> roles = assign_roles(load_lexicon("hotels"))
    >>> texts = clean_texts(pl.Series(["The staff was rude but the rooms were nice."]))
    >>> links = read_texts(texts, roles).links
    >>> [(roles.vocabulary.name(f // 2), roles.aspects[k])
    ...  for f, k in zip(links.feature, links.aspect)]
    [('staff', 'service'), ('rude', 'service'), ('rooms', 'rooms'), ('nice', 'rooms')]
    """
    text, pointer = join_texts(texts)
    tokens = tokenize(text, pointer)
    codes = roles.vocabulary.encode(tokens)
    words, foreign = _judge_language(codes, roles)
    foreign |= tokens.foreign > _FOREIGN_SHARE * texts.str.len_bytes().to_numpy()
    features = mark_features(codes, roles)
    _forget(features, codes.pointer, foreign)
    links = _link_english(codes, features, roles, foreign)
    titles_end = pointer[:-1] + texts.str.find("\n", literal=True).fill_null(0).to_numpy()
    links.strength[codes.starts[links.token] < titles_end[links.row]] *= _TITLE_WEIGHT
    return Reading(tokens, codes, features, links, words == 0, foreign)


def _judge_language(codes: WordCodes, roles: Roles) -> tuple[Int64s, Bools]:
    """Return the number of words of each text, and whether they are not English."""
    counts = _count(codes.words, codes.pointer, roles.bits)
    words, known, function, other = counts
    foreign: Bools = (other > function) & (other >= 2)
    for least, share in _ENGLISH_SHARES:
        foreign |= (words >= least) & (known < share * words)
    return words, foreign


def _link_english(codes: WordCodes, features: Int32s, roles: Roles, foreign: Bools) -> Links:
    links = link(codes, features, roles)
    if not foreign.any():
        return links
    keep = ~foreign[links.row]
    return Links(*(array[keep] for array in vars(links).values()))


@cached
def _count(words: Int32s, pointer: Int64s, bits: NDArray[np.uint8]) -> Int64s:
    """Count in each text all words, those known as English, function words, and foreign ones."""
    rows = len(pointer) - 1
    counts = np.zeros((4, rows), dtype=np.int64)
    for row in range(rows):
        for token in range(pointer[row], pointer[row + 1]):
            word = words[token]
            counts[0, row] += word >= -1
            if word >= 0:
                counts[1, row] += (bits[word] & ENGLISH) > 0
                counts[2, row] += (bits[word] & FUNCTION) > 0
                counts[3, row] += (bits[word] & FOREIGN) > 0
    return counts


@cached
def _forget(features: Int32s, pointer: Int64s, rows: Bools) -> None:
    for row in range(len(pointer) - 1):
        if rows[row]:
            features[pointer[row] : pointer[row + 1]] = -1
