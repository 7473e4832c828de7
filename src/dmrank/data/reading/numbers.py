"""Numbers that are read as text first: words for "missing", decimal commas, and what is neither."""

from __future__ import annotations

from typing import Final

import polars as pl

from dmrank.support.errors import DataError

#: What people write into a text table for "no value", besides leaving it empty.
MISSING_WORDS: Final = (
    "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "none", "-", "?",
)  # fmt: skip
_WITH_COMMA: Final = r"^[+-]?\d*,\d+$"
#: Thousands, or three digits after a decimal comma: nobody can tell.
_DOUBTFUL: Final = r"^[+-]?[1-9]\d{0,2},\d{3}$"


class NotANumberError(DataError):
    """A column of numbers has something else in it."""

    def __init__(self, message: str, column: str = "", row: int = 0, value: str = "") -> None:
        super().__init__(message)
        self.column, self.row, self.value = column, row, value


class NumberReader:
    """Turns text into float32, batch by batch.

    Parameters
    ----------
    table : str
        What error messages call the table.
    commas : bool
        Whether 4,5 may be a number. 1,500 is one only in a table that has some 4,5 as well.
    """

    def __init__(self, table: str, *, commas: bool) -> None:
        self.table, self.commas = table, commas
        self.doubtful = ""
        self.has_decimal_commas = False

    def read(self, column: pl.Series, first_row: int) -> pl.Series:
        """Return the numbers, null for words for "missing"; name the first bad value."""
        text = without_missing_words(column)
        if self.commas:
            text = self._with_points(text, column.name, first_row)
        numbers = text.cast(pl.Float32, strict=False)
        bad = numbers.is_null() & text.is_not_null()
        if bad.any():
            row = bad.arg_max() or 0
            raise self._not_a_number(column, row, first_row + row)
        return numbers.alias(column.name)

    def finish(self) -> None:
        """Raise if a number with a comma has been read that may be another."""
        if self.doubtful and not self.has_decimal_commas:
            raise DataError(self.doubtful)

    def _with_points(self, text: pl.Series, name: str, first_row: int) -> pl.Series:
        comma = text.str.contains(_WITH_COMMA).fill_null(False)
        if not comma.any():
            return text
        doubtful = text.str.contains(_DOUBTFUL).fill_null(False)
        self.has_decimal_commas |= bool((comma & ~doubtful).any())
        if doubtful.any() and not self.doubtful:
            row = doubtful.arg_max() or 0
            self.doubtful = (
                f"{self.table}: column {name!r}, row {first_row + row:,}: {text[row]!r} may "
                f"be {text[row].replace(',', '')} or {text[row].replace(',', '.')}; write numbers "
                "with a point, and without commas between thousands"
            )
        return text.str.replace(",", ".", literal=True)

    def _not_a_number(self, column: pl.Series, place: int, row: int) -> NotANumberError:
        value = column[place]
        where = f"{self.table}: column {column.name!r}, row {row:,}"
        if value.strip() == column.name:
            message = f"{where} repeats the header: take out that row"
        else:
            message = (
                f"{where}: {value!r} is not a number; mend it, or choose the aspect columns with "
                "aspects=[…]"
            )
        return NotANumberError(message, column.name, row, value)


def are_numbers(column: pl.Series, *, commas: bool) -> pl.Series:
    """Return for each text whether it is a number; null where it is a word for "missing"."""
    text = without_missing_words(column)
    if commas:
        text = text.str.replace(",", ".", literal=True)
    is_number = text.cast(pl.Float32, strict=False).is_not_null()
    return is_number.set(text.is_null(), None)


def without_missing_words(column: pl.Series) -> pl.Series:
    """Strip text, and put null for words for "missing"."""
    # Series of Polars that are named "^x$" are taken for a pattern by most of their own methods.
    text = column.alias("text").str.strip_chars()
    return text.set(text.is_in(["", *MISSING_WORDS]), None)
