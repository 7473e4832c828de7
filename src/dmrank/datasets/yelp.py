"""Yelp's open dataset: `review.json`, one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dmrank.datasets.archives import members
from dmrank.datasets.corpus import Converted, Raw
from dmrank.datasets.lines import Block, blocks
from dmrank.datasets.tidy import refuse_where, tidy, times

SCALE = {"overall": (1.0, 5.0)}
SCHEMA = {
    "user_id": pl.String,
    "business_id": pl.String,
    "date": pl.String,
    "stars": pl.Float32,
}
#: Early editions have the day only.
DATES = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
EXPECTED = 'a line like {"user_id": "…", "business_id": "…", "stars": 4.0, "date": "2016-03-09", …}'


def convert(raw: Raw) -> Converted:
    """Read `review.json`, plain, compressed, or within the archive that Yelp hands out."""
    return Converted(SCALE, _frames(raw))


def _frames(raw: Raw) -> Iterator[pl.DataFrame]:
    for name, stream in members(raw, ("review.json",)):
        for block in blocks(raw, name, stream):
            yield _reviews(raw, block)


def _reviews(raw: Raw, block: Block) -> pl.DataFrame:
    schema = SCHEMA | ({"text": pl.String} if raw.text else {})
    lines = block.from_json(schema, EXPECTED)
    # Yelp's other files (business.json, tip.json, …) lack one of these.
    for key in SCHEMA:
        refuse_where(raw, lines[key], lines[key].is_null(), block.place, EXPECTED)
    frame = lines.select(
        pl.col("user_id").alias("user"),
        pl.col("business_id").alias("item"),
        times(raw, lines["date"], block.place, DATES).alias("timestamp"),
        pl.col("stars").alias("overall"),
        *(["text"] if raw.text else []),
    )
    return tidy(raw, frame, block.place, SCALE)
