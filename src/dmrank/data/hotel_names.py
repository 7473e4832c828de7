"""Hotel-like names for synthetic items."""

from __future__ import annotations

import numpy as np
import polars as pl

_STYLES = (
    "Grand", "Royal", "Little", "Old", "Golden", "Silver", "Blue", "White", "Park", "Palm",
    "Imperial", "Quiet", "Sunny", "Northern", "Southern", "Modern", "Green",
)  # fmt: skip
_PLACES = (
    "Harbour", "Garden", "Station", "Market", "River", "Castle", "Bridge", "Beach", "Lake",
    "Valley", "Square", "Mountain", "Cathedral", "Terrace", "Bay", "Orchard", "Mill", "Forest",
    "Tower",
)  # fmt: skip
_KINDS = (
    "Hotel", "Inn", "Lodge", "Suites", "Resort", "Guest House", "Palace", "Plaza", "Retreat",
    "Residence", "Court", "Manor", "House",
)  # fmt: skip


def hotel_names(count: int) -> pl.Series:
    """Return distinct hotel-like names.

    Examples
    --------
    >>> hotel_names(2).to_list()
    ['Grand Harbour Hotel', 'Royal Garden Inn']
    """
    first, second, third = len(_STYLES), len(_PLACES), len(_KINDS)
    number = np.arange(count)
    # Steps through all combinations of style, place and kind before a numeral is added.
    combination = number % (first * second * third)
    round_ = number // (first * second * third)
    frame = pl.DataFrame(
        {
            "style": combination % first,
            "place": (combination + combination // first) % second,
            "kind": (combination + combination // (first * second)) % third,
            "round": round_,
        }
    )
    words = [
        pl.col(column).replace_strict(dict(enumerate(names)), return_dtype=pl.String)
        for column, names in (("style", _STYLES), ("place", _PLACES), ("kind", _KINDS))
    ]
    numeral = (
        pl.when(pl.col("round") > 0)
        .then(pl.format(" {}", pl.col("round") + 1))
        .otherwise(pl.lit(""))
    )
    return frame.select(
        pl.concat_str(pl.concat_str(words, separator=" "), numeral).alias("item_name")
    )["item_name"]
