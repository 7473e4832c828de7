"""From raw columns to the columns of a review table, naming what is not as it should be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import polars as pl

from dmrank.datasets.corpus import Raw, Scale

#: No scale of any corpus has these: they stand for "not rated".
NOT_RATED = (-1.0, 0.0)
#: What is counted while a file is read.
NO_USER, NO_DATE = "reviews without a user", "unreadable dates"

Place = Callable[[int], str]


def tidy(
    raw: Raw, frame: pl.DataFrame, place: Place, scale: Scale, anonymous: Collection[str] = ()
) -> pl.DataFrame:
    """Check a frame of reviews and leave out those of nobody in particular.

    Parameters
    ----------
    raw : Raw
        The file, for messages and for the count of what is left out.
    frame : DataFrame
        Columns user, item, and one per aspect of the scale.
    place : callable
        From a row of the frame to where it is in the file.
    scale : mapping of aspect to (lowest, highest) rating
        A rating outside it is an error; -1 and 0 become null.
    anonymous : collection of str
        Pseudo users that stand for many people.
    """
    no_item = frame["item"].is_null() | (frame["item"] == "")
    refuse_where(raw, frame["item"], no_item, place, "the id of what is reviewed")
    ratings = [_within_scale(raw, frame[name], place, scale[name]) for name in scale]
    user = frame["user"].str.strip_chars()
    nobody = user.is_null() | user.is_in(["", *anonymous])
    raw.left_out[NO_USER] += int(nobody.sum())
    return frame.with_columns(user, *ratings).filter(~nobody)


def refuse_where(raw: Raw, column: pl.Series, bad: pl.Series, place: Place, expected: str) -> None:
    """Raise about the first row of a column that is bad, if there is one."""
    if bad.any():
        row = bad.arg_max() or 0
        raise raw.refuse(place(row), f"{column.name} is {column[row]!r}", expected)


def numbers(
    raw: Raw,
    column: pl.Series,
    place: Place,
    expected: str,
    type_: type[pl.DataType] = pl.Float32,
) -> pl.Series:
    """Turn a column of text into numbers; empty becomes null."""
    text = column.str.strip_chars()
    text = text.set(text == "", None)
    values = text.cast(type_, strict=False)
    refuse_where(raw, column, text.is_not_null() & values.is_null(), place, expected)
    return values


def times(raw: Raw, column: pl.Series, place: Place, formats: Sequence[str]) -> pl.Series:
    """Turn a column of text into times, by the first format that fits; empty becomes null."""
    text = column.set(column == "", None)
    values = _first_fit(text, formats)
    unread = text.is_not_null() & values.is_null()
    refuse_where(raw, column, unread, place, f"a date like {formats[0]}")
    return values


def readable_times(raw: Raw, column: pl.Series, formats: Sequence[str]) -> pl.Series:
    """Turn a column of text into times; what does not fit becomes null and is counted."""
    values = _first_fit(column, formats)
    unread = column.is_not_null() & (column != "") & values.is_null()
    raw.left_out[NO_DATE] += int(unread.sum())
    return values


def _first_fit(text: pl.Series, formats: Sequence[str]) -> pl.Series:
    read = [
        pl.lit(text).str.to_datetime(format_, strict=False, time_unit="us") for format_ in formats
    ]
    return pl.select(pl.coalesce(read).alias(text.name)).to_series()


def _within_scale(
    raw: Raw, ratings: pl.Series, place: Place, bounds: tuple[float, float]
) -> pl.Series:
    low, high = bounds
    rated = ratings.set(ratings.is_in(NOT_RATED), None)
    outside = ~rated.is_between(low, high).fill_null(True)
    expected = f"a rating from {low:g} to {high:g}, or -1 or 0 for none"
    refuse_where(raw, ratings, outside, place, expected)
    return rated
