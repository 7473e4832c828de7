"""TripAdvisor, the LARA set of Wang, Lu and Zhai (2011): one JSON file per hotel."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from dmrank.datasets.archives import members
from dmrank.datasets.corpus import Converted, Raw
from dmrank.datasets.tidy import numbers, readable_times, tidy

#: Aspect -> its key in `Ratings`.
KEYS = {
    "overall": "Overall",
    "value": "Value",
    "rooms": "Rooms",
    "location": "Location",
    "cleanliness": "Cleanliness",
    "service": "Service",
    "sleep_quality": "Sleep Quality",
    "checkin": "Check in / front desk",
    "business": "Business service (e.g., internet access)",
}
SCALE = dict.fromkeys(KEYS, (1.0, 5.0))
#: The name that all reviewers without an account share.
ANONYMOUS = ("A TripAdvisor Member",)
DATES = ("%B %d, %Y", "%b %d, %Y")
EXPECTED = 'one hotel like {"Reviews": [{"Ratings": {…}, "Author": "…", …}], "HotelInfo": {…}}'
#: What the crawler caught of the page's own script.
SCRIPT = r"\s*showReview\(\d+, 'full'\);\s*"
REVIEWS_AT_A_TIME = 50_000

Row = dict[str, str | None]


def convert(raw: Raw) -> Converted:
    """Read the hotels, from the archive or from a directory."""
    return Converted(SCALE, _frames(raw))


def _frames(raw: Raw) -> Iterator[pl.DataFrame]:
    rows: list[Row] = []
    places: list[str] = []
    for name, stream in members(raw, (".json",)):
        reviews = _hotel_reviews(raw, name, stream.read())
        rows += reviews
        places += [f"{name}, review {k:,}".lstrip(", ") for k in range(1, len(reviews) + 1)]
        if len(rows) >= REVIEWS_AT_A_TIME:
            yield _tidied(raw, rows, places)
            rows, places = [], []
    if rows:
        yield _tidied(raw, rows, places)


def _hotel_reviews(raw: Raw, name: str, data: bytes) -> list[Row]:
    try:
        hotel = json.loads(data)
        info = hotel["HotelInfo"]
        item, item_name = str(info["HotelID"]), info.get("Name")
        return [_row(review, item, item_name, raw.text) for review in hotel["Reviews"]]
    except ValueError as error:
        raise raw.refuse(name or "the file", f"it is not JSON ({error})", EXPECTED) from None
    except (KeyError, TypeError, AttributeError) as error:
        found = f"its structure differs ({type(error).__name__}: {error})"
        raise raw.refuse(name or "the file", found, EXPECTED) from None


def _row(review: dict[str, Any], item: str, item_name: str | None, text: bool) -> Row:
    ratings = review["Ratings"]
    row = {aspect: _text(ratings.get(key)) for aspect, key in KEYS.items()}
    row |= {
        "user": _text(review.get("Author")),
        "item": item,
        "item_name": item_name,
        "timestamp": _text(review.get("Date")),
    }
    if text:
        row |= {"title": _text(review.get("Title")), "text": _text(review.get("Content"))}
    return row


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _tidied(raw: Raw, rows: list[Row], places: list[str]) -> pl.DataFrame:
    columns = ["user", "item", "timestamp", "item_name", *KEYS, *(("title", "text") * raw.text)]
    read = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))
    frame = read.with_columns(
        readable_times(raw, read["timestamp"], DATES),
        *(numbers(raw, read[aspect], places.__getitem__, "a number") for aspect in KEYS),
    )
    if raw.text:
        frame = frame.with_columns(
            pl.col("title").str.strip_chars("“”\"' "),
            pl.col("text").str.replace_all(SCRIPT, " ").str.strip_chars(),
        )
    return tidy(raw, frame, places.__getitem__, SCALE, ANONYMOUS)
