"""Reviews -> a lexicon of their aspects."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import Final

import numpy as np

from dmrank.data.reading.opening import open_table
from dmrank.data.reading.tables import Table
from dmrank.support.arrays import Int64s
from dmrank.support.errors import DataError
from dmrank.support.progress import bar
from dmrank.text.discovery import Discovered, discover, too_few
from dmrank.text.lexicon import Lexicon
from dmrank.text.lexicon_files import load_lexicon
from dmrank.text.reviews import ReviewColumns, count_reviews, sample_reviews
from dmrank.text.roles import assign_roles
from dmrank.text.tokens import join_texts, tokenize

#: How many reviews aspects are found in, at most; their mentions are counted in all.
_DISCOVER_FROM: Final = 50_000
_ROWS: Final = 512


def discover_aspects(
    source: object,
    *,
    text: str = "text",
    title: str | None = None,
    overall: str | None = None,
    scale: tuple[float, float] = (1, 5),
    min_count: int = 100,
    most: int = 20,
    similarity: float = 0.2,
    seeds: str | PathLike[str] | Lexicon | None = None,
) -> Discovered:
    """Find the aspects that a corpus of reviews is about.

    Frequent words that people have opinions about are grouped by the company they keep. The result
    is a draft: a person should read the lexicon file and edit it.

    Parameters
    ----------
    source, text, title, overall, scale
        As in :func:`dmrank.extract_aspects`; with `overall`, opinions about each aspect are listed.
    min_count : int
        Aspects with fewer mentions are left out.
    most : int
        At most so many aspects, the most frequent.
    similarity : float
        How similar, from 0 to 1, the company of two words must be for one aspect; lower gives fewer
        and wider aspects.
    seeds : str, path or Lexicon, optional
        A lexicon whose aspects other words are grouped around.

    Returns
    -------
    Discovered
        The lexicon, and the number of mentions of each aspect.
    """
    table = open_table(source)
    columns = ReviewColumns(text, overall=overall, title=title).resolve(table, ids=False)
    around = None if seeds is None else load_lexicon(seeds)
    rows = count_reviews(table, columns)
    drawn = sample_reviews(table, columns, _DISCOVER_FROM, scale)
    if len(drawn) == 0:
        raise DataError(f"{table.name}: no review has text: there is nothing to find aspects in")
    stars = None if overall is None else drawn["overall"].to_numpy()
    whole = len(drawn) < _DISCOVER_FROM
    share = 1.0 if whole else len(drawn) / rows
    found = discover(
        drawn["text"],
        stars,
        min_count=max(1, round(min_count * share)),
        most=most,
        similarity=similarity,
        seeds=around,
    )
    return found if whole else _recount(found, table, columns, rows, min_count)


def _recount(
    found: Discovered, table: Table, columns: ReviewColumns, rows: int, min_count: int
) -> Discovered:
    """Count mentions in all reviews, and drop the aspects that turn out to have too few."""
    mentions = _count_mentions(found.lexicon, table, columns, rows)
    counted = dict(zip(found.lexicon.aspects, mentions.tolist(), strict=True))
    kept = [name for name, count in counted.items() if count >= min_count]
    if not kept:
        raise too_few(min_count, max(counted.values()))
    lexicon = replace(found.lexicon, aspects={name: found.lexicon.aspects[name] for name in kept})
    return Discovered(lexicon, {name: counted[name] for name in kept})


def _count_mentions(lexicon: Lexicon, table: Table, columns: ReviewColumns, rows: int) -> Int64s:
    roles = assign_roles(lexicon)
    mentions = np.zeros(len(lexicon.aspects), dtype=np.int64)
    done = 0
    with bar("counting mentions", rows) as progress:
        for block in columns.stream(table, ids=False):
            for start in range(0, len(block), _ROWS):
                texts = block["text"][start : start + _ROWS]
                words = roles.vocabulary.encode(tokenize(*join_texts(texts))).words
                named = roles.aspect[words[words >= 0]]
                mentions += np.bincount(named[named >= 0], minlength=len(mentions))
            done += len(block)
            progress.update(done)
    return mentions
