"""Tables for other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from dmrank.support.errors import MissingExtraError

if TYPE_CHECKING:
    from pandas import DataFrame


def to_pandas(table: pl.DataFrame) -> DataFrame:
    """Return a table as a pandas one, which takes pandas and pyarrow.

    Examples
    --------
    >>> to_pandas(pl.DataFrame({"user": [12, 7]}))["user"].sum()
    np.int64(19)
    """
    try:
        return table.to_pandas()
    except ImportError as error:
        raise without_pandas(error) from None


def without_pandas(error: ImportError) -> MissingExtraError:
    """Return the error of a table that needs the extra `pandas`."""
    return MissingExtraError(
        f"a pandas table needs {error.name or 'pyarrow'}, which is not installed: "
        "pip install 'dmrank[pandas]'"
    )
