from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from dmrank import datasets
from dmrank.datasets import lines
from dmrank.datasets.corpus import Raw
from dmrank.datasets.hotelrec import convert
from dmrank.support.errors import DataError
from tests.datasets.raw_samples import hotelrec_line, zip_of

ASPECTS = (
    "overall",
    "value",
    "rooms",
    "location",
    "cleanliness",
    "service",
    "sleep_quality",
    "checkin",
    "business",
)


def write(tmp_path: Path, *rows: str, name: str = "HotelRec.txt") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(rows))
    return path


def test_ratings_names_and_times_are_read(tmp_path: Path, cache: Path) -> None:
    ratings = datasets.load("hotelrec", path=write(tmp_path, hotelrec_line()), cache=cache)
    assert ratings.aspects == ASPECTS
    assert ratings.scale.tolist() == [[1, 5]] * 9
    nan = np.nan
    np.testing.assert_array_equal(ratings.values, [[4, 5, nan, nan, nan, nan, 4, 2, nan]])
    assert (ratings.users[0], ratings.items[0]) == ("ann", "1121769")
    assert ratings.item_name(0) == "Hotel Baltic"
    assert ratings.timestamps is not None
    assert ratings.timestamps.tolist() == [
        int(np.datetime64("2010-02-01").astype("M8[s]").astype(int))
    ]


def test_reviews_have_title_and_text(tmp_path: Path) -> None:
    reviews = datasets.load_reviews("hotelrec", path=write(tmp_path, hotelrec_line()))
    assert reviews.columns == [
        "user", "item", "timestamp", "item_name", *ASPECTS, "title", "text",
    ]  # fmt: skip
    assert reviews["timestamp"].to_list() == [datetime(2010, 2, 1)]
    assert reviews.select("title", "text").row(0) == ("Great service", "Good restaurant.")


@pytest.mark.parametrize("properties", [{}, None, {"unheard of": 3.0}])
def test_a_review_without_aspects_keeps_its_overall_rating(
    tmp_path: Path, properties: object
) -> None:
    path = write(tmp_path, hotelrec_line(property_dict=properties), hotelrec_line())
    reviews = datasets.load_reviews("hotelrec", path=path)
    assert reviews["overall"].to_list() == [4.0, 4.0]
    assert reviews["value"].to_list() == [None, 5.0]


@pytest.mark.parametrize("key", ["business service", "business service (e.g., internet access)"])
def test_business_service_goes_by_two_names(tmp_path: Path, key: str) -> None:
    path = write(tmp_path, hotelrec_line(property_dict={key: 3.0}))
    assert datasets.load_reviews("hotelrec", path=path)["business"].to_list() == [3.0]


def test_plain_compressed_and_zipped_files_are_the_same(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, hotelrec_line(), hotelrec_line(author="bob", rating=1.0))
    packed = tmp_path / "HotelRec.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    zipped = tmp_path / "HotelRec.zip"
    zipped.write_bytes(zip_of({"HotelRec/HotelRec.txt": path.read_bytes()}))
    plain = datasets.load("hotelrec", path=path, cache=cache)
    assert datasets.load("hotelrec", path=packed, cache=cache) == plain
    assert datasets.load("hotelrec", path=zipped, cache=cache) == plain


def test_a_large_file_is_never_in_memory_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, *(hotelrec_line(author=f"u{n}") for n in range(200)))
    monkeypatch.setattr(lines, "BLOCK_BYTES", 4000)
    frames = convert(Raw(path)).frames
    sizes = [len(frame) for frame in frames]
    assert sum(sizes) == 200
    assert max(sizes) < 20


def test_the_pseudo_user_is_left_out_and_counted(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [hotelrec_line(author=author) for author in ("A TripAdvisor Member", "", None, "ann")]
    ratings = datasets.load("hotelrec", path=write(tmp_path, *rows), cache=cache)
    assert list(ratings.users) == ["ann"]
    assert "hotelrec: left out 3 reviews without a user" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("[", r"'\['"),
        (hotelrec_line(hotel_url="https://example.org"), "hotel_url is 'https://example.org'"),
        (hotelrec_line(rating=6.0), "overall is 6.0"),
        (
            hotelrec_line(property_dict={"rooms": 50}),
            "rooms is 50.0; expected a rating from 1 to 5",
        ),
        (hotelrec_line(date="1 May"), "date is '1 May'"),
    ],
)
def test_what_is_not_a_hotelrec_review_is_named(tmp_path: Path, line: str, found: str) -> None:
    path = write(tmp_path, hotelrec_line(), hotelrec_line(), line)
    with pytest.raises(DataError, match=rf"HotelRec\.txt: line 3: {found}"):
        datasets.load_reviews("hotelrec", path=path)
