"""Small files in the formats of the public corpora."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any


def yelp_line(user: str = "ann", item: str = "cafe", stars: float = 4.0, **others: Any) -> str:
    line = {
        "review_id": "r1",
        "user_id": user,
        "business_id": item,
        "stars": stars,
        "useful": 0,
        "text": "Good cake.",
        "date": "2016-03-09 12:20:01",
    }
    return json.dumps(line | others)


YELP = "\n".join([yelp_line(), yelp_line("bob", stars=2.0), yelp_line("ann", "bar", 5)]).encode()


def hotelrec_line(**others: Any) -> str:
    line = {
        "hotel_url": "Hotel_Review-g194775-d1121769-Reviews-Hotel_Baltic-Giulianova_Abruzzo.html",
        "author": "ann",
        "date": "2010-02-01T00:00:00",
        "rating": 4.0,
        "title": "Great service",
        "text": "Good restaurant.",
        "property_dict": {"sleep quality": 4.0, "value": 5.0, "check in / front desk": 2.0},
    }
    return json.dumps(line | others)


def beer(overall: str, **others: str | None) -> dict[str, str]:
    review = {
        "beer/name": "Sausa Weizen",
        "beer/beerId": "47986",
        "beer/brewerId": "10325",
        "beer/ABV": "5.00",
        "review/appearance": overall,
        "review/aroma": overall,
        "review/palate": overall,
        "review/taste": overall,
        "review/overall": overall,
        "review/time": "1234817823",
        "review/profileName": "stcules",
        "review/text": "A lot of foam.",
    }
    changed = review | {key.replace("_", "/", 1): value for key, value in others.items()}
    return {key: value for key, value in changed.items() if value is not None}


def ratebeer(**others: str | None) -> dict[str, str]:
    ratings = {"review_overall": "13/20", "review_aroma": "6/10", "review_taste": "7/10"}
    return beer("3/5", **{**ratings, **others})


def python_lines(*reviews: Mapping[str, str]) -> bytes:
    return "".join(f"{dict(review)!r}\n" for review in reviews).encode()


def hotel(*reviews: dict[str, Any], hotel_id: str = "86978", name: str | None = "Ritz") -> bytes:
    info = {"HotelID": hotel_id} | ({} if name is None else {"Name": name})
    return json.dumps({"Reviews": reviews, "HotelInfo": info}).encode()


def hotel_review(author: str | None = "ann", **ratings: str) -> dict[str, Any]:
    review = {
        "Ratings": {"Overall": "5.0", "Service": "4"} | ratings,
        "Title": "“Worth it”",
        "Content": "Quiet rooms.   showReview(738667, 'full');",
        "Date": "January 3, 2012",
        "ReviewID": "UR1",
    }
    return review if author is None else review | {"Author": author}


def tar_of(files: Mapping[str, bytes], compression: str = "bz2") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{compression}") as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
    return packed.getvalue()


def zip_of(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return packed.getvalue()
