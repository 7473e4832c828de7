"""A block of reviews -> a block of ratings."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from dmrank.support.errors import DataError
from dmrank.text.extractor import Extractor, Summary
from dmrank.text.reviews import ReviewColumns, to_stars, with_clean_text


class Origin(NamedTuple):
    """Where a block of reviews comes from, for messages about a row of it.

    Attributes
    ----------
    name : str
        Name of the table.
    columns : ReviewColumns
        What its columns are called.
    first_row : int
        Number of the block's first row in it, from 1.
    """

    name: str = "the reviews"
    columns: ReviewColumns = ReviewColumns(overall="overall")
    first_row: int = 1


def rate_reviews(
    reviews: pl.DataFrame, extractor: Extractor, origin: Origin
) -> tuple[pl.DataFrame, Summary]:
    """Return ratings, without reviews that have none, and what was found in all of them.

    Parameters
    ----------
    reviews : polars.DataFrame
        Columns as :meth:`ReviewColumns.stream_raw` gives them.
    extractor : Extractor
        What rates them.
    origin : Origin
        Where they come from.
    """
    _check_ids(reviews, origin)
    rows = with_clean_text(reviews)
    stars = None
    if "overall" in rows.columns:
        column = origin.columns.overall or "overall"
        stars = to_stars(rows["overall"], extractor.scale, origin.name, column, origin.first_row)
    scores, found = extractor.score(rows["text"])
    columns = extractor.columns(extractor.rate(scores, stars))
    frame = rows.drop("text").with_columns(columns.values())
    own = () if stars is None else ("overall",)
    anything = pl.any_horizontal(pl.col(name).is_not_null() for name in (*own, *columns))
    return frame.filter(anything), found


def _check_ids(rows: pl.DataFrame, origin: Origin) -> None:
    for purpose, column in (("user", origin.columns.user), ("item", origin.columns.item)):
        empty = (rows[purpose] == "").fill_null(True)
        if empty.any():
            row = origin.first_row + (empty.arg_max() or 0)
            raise DataError(
                f"{origin.name}: column {column!r}, row {row:,}: the {purpose} is empty; "
                f"every review needs a {purpose} id"
            )
