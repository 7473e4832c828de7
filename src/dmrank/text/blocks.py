"""Extraction as a function of a file and a record batch, for engines that run it anywhere."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

from dmrank.support.batches import from_batch, to_batch
from dmrank.text.extractor import Extractor
from dmrank.text.polarity import Polarity, load_polarity
from dmrank.text.rating import Origin, rate_reviews
from dmrank.text.scoring import Mapping

if TYPE_CHECKING:
    import pyarrow as pa


def extract_block(
    polarity: str | os.PathLike[str],
    reviews: pa.RecordBatch,
    origin: Origin | None = None,
    *,
    mapping: Mapping = "shrunk",
    use_overall: bool = True,
    fill: bool = False,
    scale: tuple[float, float] = (1, 5),
) -> pa.RecordBatch:
    """Extract a rating per aspect from the text of a block of reviews.

    Parameters
    ----------
    polarity : path
        A file of :meth:`dmrank.text.Polarity.save`.
    reviews : pyarrow.RecordBatch
        Columns ``user``, ``item`` and ``text``; ``title`` and ``overall`` count if they are there,
        others are kept.
    origin : Origin, optional
        Where the reviews come from, for messages.
    mapping, use_overall, fill, scale
        As in :func:`dmrank.extract_aspects`.

    Returns
    -------
    pyarrow.RecordBatch
        The reviews with a rating, without their text. What was found in all of them is beside it,
        see :func:`dmrank.support.batches.notes_of`.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from dmrank.text import lexicon_polarity, load_lexicon
    >>> words = lexicon_polarity(load_lexicon("hotels")).save(f"{tempfile.mkdtemp()}/words")
    >>> review = {"user": ["ann"], "item": ["Ritz"], "text": ["The staff was rude."]}
    >>> rated = extract_block(words, to_batch(pl.DataFrame(review)))
    >>> rated.num_rows, rated.column("service")[0].as_py() < 3
    (1, True)
    """
    words = _opened(os.fspath(polarity))
    extractor = Extractor(words, mapping, use_overall, fill, (float(scale[0]), float(scale[1])))
    rows = from_batch(reviews, "user", "item", "text")
    rated, found = rate_reviews(rows, extractor, origin or Origin())
    return to_batch(rated, found.to_dict())


@lru_cache(maxsize=4)
def _opened(path: str) -> Polarity:
    return load_polarity(path)
