"""Times of ratings as whole numbers, in seconds or finer, without losing a digit."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl

from dmrank.support.arrays import Int64s
from dmrank.support.errors import DataError

TimeUnit = Literal["s", "us", "ns"]
TICKS: Final[dict[TimeUnit, int]] = {"s": 1, "us": 10**6, "ns": 10**9}
#: A row whose timestamp is not known counts as older than every other.
NO_TIMESTAMP: Final = np.iinfo(np.int64).min
#: Day and month, or month and day; dates with dots have the day first wherever they are written.
_NUMERIC_DATE: Final = r"^\s*(\d{1,2})[/-](\d{1,2})[/-]\d{4}"
_FINER_THAN_MICROSECONDS: Final = r"\.\d{7}"


class Times(NamedTuple):
    """One whole number per row, and what it counts."""

    values: Int64s
    unit: TimeUnit

    def to(self, unit: TimeUnit) -> Int64s:
        """Return the values in a unit that is at least as fine."""
        factor = TICKS[unit] // TICKS[self.unit]
        if factor == 1:
            return self.values
        known = self.values != NO_TIMESTAMP
        largest = int(np.abs(self.values[known]).max(initial=0))
        if largest > np.iinfo(np.int64).max // factor:
            raise DataError(
                f"timestamp {largest} is too large for seconds beside times that are finer than "
                "seconds: give all of them as whole numbers, or all as dates"
            )
        return np.where(known, self.values * factor, NO_TIMESTAMP)

    def coarsest(self) -> Times:
        """Return the same times in the coarsest unit that has them all."""
        if self.unit == "s":
            return self
        known = self.values[self.values != NO_TIMESTAMP]
        for unit, ticks in TICKS.items():
            factor = TICKS[self.unit] // ticks
            if factor > 1 and not (known % factor).any():
                unknown = self.values == NO_TIMESTAMP
                return Times(np.where(unknown, NO_TIMESTAMP, self.values // factor), unit)
        return self

    def to_series(self) -> pl.Series:
        """Return whole numbers, or dates and times where seconds do not suffice."""
        series = pl.Series("timestamp", self.values)
        series = series.set(series == NO_TIMESTAMP, None)
        return series if self.unit == "s" else series.cast(pl.Datetime(self.unit))


def join_times(parts: list[Times]) -> Times:
    """Join consecutive parts in the finest of their units; the list is emptied."""
    unit = finest([part.unit for part in parts])
    joined = np.empty(sum(len(part.values) for part in parts), dtype=np.int64)
    end = len(joined)
    while parts:  # each is let go when it is copied
        values = parts.pop().to(unit)
        joined[end - len(values) : end] = values
        end -= len(values)
    return Times(joined, unit).coarsest()


def finest(units: list[TimeUnit]) -> TimeUnit:
    """Return the finest of some units."""
    return max(units, key=TICKS.__getitem__, default="s")


class TimeReader:
    """Reads a column of times batch by batch.

    Whole numbers are kept as they are; dates, and numbers with a fraction, count seconds since
    1970. Whether 03/04/2012 is in March or in April is told by another date of the column, such as
    31/04/2012, and by nothing else.
    """

    def __init__(self, table: str, missing_words: tuple[str, ...] = ()) -> None:
        self.table, self.missing_words = table, missing_words
        self.column, self.first_row = "", 1
        self.parts: list[Times] = []
        self.doubtful = ""
        self.day_first = False

    def add(self, column: pl.Series, first_row: int) -> None:
        """Take the times of some rows."""
        self.column, self.first_row = column.name, first_row
        column = column.alias("times")
        if column.dtype.is_integer() or column.dtype == pl.Null:
            times = self._of_numbers(column, column.cast(pl.Int64, strict=False))
        elif column.dtype.is_numeric():
            times = self._of_numbers(column, column.cast(pl.Float64))
        elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
            times = self._of_text(column.cast(pl.String))
        else:
            times = self._of_dates(column)
        self.parts.append(times)

    def finish(self) -> Times:
        """Return the times of all rows."""
        if self.doubtful and not self.day_first:
            raise DataError(self.doubtful)
        return join_times(self.parts)

    def _of_dates(self, column: pl.Series) -> Times:
        if not isinstance(column.dtype, pl.Date | pl.Datetime):
            raise DataError(
                f"{self.table}: column {self.column!r} is {column.dtype}, which says no date; give "
                "a number or a date such as 2012-05-31"
            )
        unit: TimeUnit = "us"
        if isinstance(column.dtype, pl.Datetime) and column.dtype.time_unit == "ns":
            unit = "ns"
        ticks = column.cast(pl.Datetime("us") if column.dtype == pl.Date else column.dtype)
        return Times(_filled(ticks.dt.epoch(unit)), unit).coarsest()

    def _of_numbers(self, shown: pl.Series, numbers: pl.Series) -> Times:
        if numbers.dtype == pl.Int64:
            self._refuse(shown, numbers.is_null() & shown.is_not_null())
            return Times(_filled(numbers), "s")
        numbers = numbers.fill_nan(None)
        self._refuse(shown, (numbers.abs() >= 2.0**63).fill_null(False))
        if (numbers == numbers.floor()).all():
            return Times(_filled(numbers.cast(pl.Int64)), "s")
        ticks = (numbers * 1e6).round()
        self._refuse(shown, (ticks.abs() >= 2.0**63).fill_null(False))
        return Times(_filled(ticks.cast(pl.Int64)), "us")

    def _of_text(self, column: pl.Series) -> Times:
        whole = column.cast(pl.Int64, strict=False)
        if not (whole.is_null() & column.is_not_null()).any():
            return Times(_filled(whole), "s")
        text = column.str.strip_chars()
        text = text.set(text.is_in(["", *self.missing_words]), None)
        whole = text.cast(pl.Int64, strict=False)
        numbers = text.cast(pl.Float64, strict=False)
        is_fraction = numbers.is_not_null() & whole.is_null()
        is_date = numbers.is_null() & text.is_not_null()
        parts = [Times(_filled(whole), "s")]
        if is_fraction.any():
            only = numbers.set(~is_fraction, None)
            parts.append(self._of_numbers(column, only))
        if is_date.any():
            parts.append(self._of_written_dates(column, text.set(~is_date, None)))
        unit = finest([part.unit for part in parts])
        return Times(np.max([part.to(unit) for part in parts], axis=0), unit)

    def _of_written_dates(self, shown: pl.Series, text: pl.Series) -> Times:
        parsed = _parse_dates(text)
        self._refuse(shown, parsed.is_null() & text.is_not_null())
        places = text.str.extract_groups(_NUMERIC_DATE).struct
        day, month = (places.field(place).cast(pl.Int64) for place in ("1", "2"))
        self.day_first |= bool((day > 12).any())
        doubtful = (day <= 12) & (day != month)
        if doubtful.any() and not self.doubtful:
            row = doubtful.arg_max() or 0
            self.doubtful = (
                f"{self._place(row)}: {shown[row]!r} may "
                "have the day or the month first; write dates as 2012-05-31"
            )
        return self._of_dates(parsed)

    def _refuse(self, shown: pl.Series, bad: pl.Series) -> None:
        if bad.any():
            row = bad.arg_max() or 0
            raise DataError(
                f"{self._place(row)}: {shown[row]!r} is not a time; give a number or a date such "
                "as 2012-05-31"
            )

    def _place(self, row: int) -> str:
        return f"{self.table}: column {self.column!r}, row {self.first_row + row:,}"


def _filled(ticks: pl.Series) -> Int64s:
    return ticks.fill_null(NO_TIMESTAMP).to_numpy()


def _parse_dates(text: pl.Series) -> pl.Series:
    try:
        parsed = text.str.to_datetime(strict=False, time_unit="us")
    except pl.exceptions.ComputeError:  # no date format that Polars knows fits
        return pl.Series([None] * len(text), dtype=pl.Datetime("us"))
    if text.str.contains(_FINER_THAN_MICROSECONDS).any():
        years = parsed.dt.year()
        # Other years do not fit into 64 bits of nanoseconds, and Polars would not say so.
        if years.is_between(1678, 2261).all():
            return text.str.to_datetime(strict=False, time_unit="ns")
    return parsed
