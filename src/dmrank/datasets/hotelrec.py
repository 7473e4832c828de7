"""HotelRec (Antognini and Faltings 2020): 50 million TripAdvisor reviews, one JSON per line."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from dmrank.datasets.archives import members
from dmrank.datasets.corpus import Converted, Raw
from dmrank.datasets.lines import Block, Schema, blocks
from dmrank.datasets.tidy import refuse_where, tidy, times
from dmrank.datasets.tripadvisor import ANONYMOUS, SCALE

#: Aspect -> its keys in `property_dict`, named as in the older TripAdvisor corpus.
PROPERTIES = {
    "value": ("value",),
    "rooms": ("rooms",),
    "location": ("location",),
    "cleanliness": ("cleanliness",),
    "service": ("service",),
    "sleep_quality": ("sleep quality",),
    "checkin": ("check in / front desk",),
    "business": ("business service", "business service (e.g., internet access)"),
}
SCHEMA: Schema = {
    "hotel_url": pl.String(),
    "author": pl.String(),
    "date": pl.String(),
    "rating": pl.Float32(),
    "property_dict": pl.Struct({key: pl.Float32 for keys in PROPERTIES.values() for key in keys}),
}
TEXTS: Schema = {"title": pl.String(), "text": pl.String()}
DATES = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")
#: Hotel_Review-g194775-d1121769-Reviews-Hotel_Baltic-Giulianova_Province_of_Teramo.html
HOTEL_URL = r"-d(?<item>\d+)-Reviews-(?:or\d+-)?(?<item_name>[^-]*)"
EXPECTED = (
    'a line like {"hotel_url": "Hotel_Review-g1-d2-Reviews-NAME-PLACE.html", "author": "…", '
    '"date": "2019-01-01T00:00:00", "rating": 4.0, "property_dict": {"value": 4.0, …}, …}'
)


def convert(raw: Raw) -> Converted:
    """Read the json-lines, plain, compressed or in an archive.

    The item is the number after `-d` in the hotel's address, which is TripAdvisor's own id of the
    hotel, as in the corpus `tripadvisor`.
    """
    return Converted(SCALE, _frames(raw))


def _frames(raw: Raw) -> Iterator[pl.DataFrame]:
    for name, stream in members(raw, (".txt", ".json", ".jsonl", ".ndjson")):
        for block in blocks(raw, name, stream):
            yield _reviews(raw, block)


def _reviews(raw: Raw, block: Block) -> pl.DataFrame:
    lines = block.from_json({**SCHEMA, **(TEXTS if raw.text else {})}, EXPECTED)
    hotel = lines["hotel_url"].str.extract_groups(HOTEL_URL).struct.unnest()
    refuse_where(raw, lines["hotel_url"], hotel["item"].is_null(), block.place, EXPECTED)
    ratings = pl.col("property_dict").struct
    frame = lines.select(
        pl.col("author").alias("user"),
        hotel["item"],
        times(raw, lines["date"], block.place, DATES).alias("timestamp"),
        hotel["item_name"].str.replace_all("_", " ", literal=True),
        pl.col("rating").alias("overall"),
        *(
            pl.coalesce(ratings.field(key) for key in keys).alias(aspect)
            for aspect, keys in PROPERTIES.items()
        ),
        *(TEXTS if raw.text else ()),
    )
    return tidy(raw, frame, block.place, SCALE, ANONYMOUS)
