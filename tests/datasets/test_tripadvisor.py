from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import datasets
from dmrank.datasets import tripadvisor
from dmrank.support.errors import DataError
from tests.datasets.raw_samples import hotel, hotel_review, tar_of, zip_of

REAL = Path(__file__).parents[3] / "shared/data/tripadvisor-reviews.parquet"
TWO_HOTELS = {
    "json/86978.json": hotel(hotel_review("ann"), hotel_review("bob", Overall="2.0", Value="-1")),
    "json/87031.json": hotel(hotel_review("ann", Rooms="3"), hotel_id="87031", name=None),
}


def write(tmp_path: Path, data: bytes, name: str = "TripAdvisorJson.tar.bz2") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_aspects_are_named_as_everywhere_in_dmrank(tmp_path: Path, cache: Path) -> None:
    review = hotel_review(
        Overall="1.0", Value="2", Rooms="3", Location="4", Cleanliness="5", Service="1",
        **{
            "Sleep Quality": "2",
            "Check in / front desk": "3",
            "Business service (e.g., internet access)": "4",
        },
    )  # fmt: skip
    path = write(tmp_path, hotel(review), "1.json")
    ratings = datasets.load("tripadvisor", path=path, cache=cache)
    assert ratings.aspects == (
        "overall", "value", "rooms", "location", "cleanliness", "service", "sleep_quality",
        "checkin", "business",
    )  # fmt: skip
    assert ratings.values.tolist() == [[1, 2, 3, 4, 5, 1, 2, 3, 4]]
    assert ratings.scale.tolist() == [[1, 5]] * 9


def test_minus_one_and_absent_aspects_are_missing(tmp_path: Path, cache: Path) -> None:
    ratings = datasets.load("tripadvisor", path=write(tmp_path, tar_of(TWO_HOTELS)), cache=cache)
    bob = ratings.of_user("bob").values[0]
    assert bob[ratings.aspect("overall")] == 2
    assert bob[ratings.aspect("service")] == 4
    assert np.isnan(bob[ratings.aspect("value")])
    assert np.isnan(bob[ratings.aspect("rooms")])


def test_hotels_have_names_where_the_corpus_has_them(tmp_path: Path, cache: Path) -> None:
    ratings = datasets.load("tripadvisor", path=write(tmp_path, tar_of(TWO_HOTELS)), cache=cache)
    assert [ratings.item_name(code) for code in range(2)] == ["Ritz", "87031"]


def test_reviews_are_free_of_what_the_crawler_left(tmp_path: Path) -> None:
    reviews = datasets.load_reviews("tripadvisor", path=write(tmp_path, tar_of(TWO_HOTELS)))
    assert reviews["timestamp"].unique().to_list() == [datetime(2012, 1, 3)]
    assert reviews["title"].unique().to_list() == ["Worth it"]
    assert reviews["text"].unique().to_list() == ["Quiet rooms."]


def test_archive_zip_and_directory_are_the_same(tmp_path: Path, cache: Path) -> None:
    archive = datasets.load("tripadvisor", path=write(tmp_path, tar_of(TWO_HOTELS)), cache=cache)
    zipped = write(tmp_path, zip_of(TWO_HOTELS), "hotels.zip")
    assert datasets.load("tripadvisor", path=zipped, cache=cache) == archive
    folder = tmp_path / "json"
    folder.mkdir()
    for name, data in TWO_HOTELS.items():
        (tmp_path / name).write_bytes(data)
    assert datasets.load("tripadvisor", path=folder, cache=cache) == archive


def test_reviews_of_nobody_are_left_out_and_counted(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authors = ["A TripAdvisor Member", "", None, "ann", " A TripAdvisor Member "]
    data = hotel(*(hotel_review(author) for author in authors))
    ratings = datasets.load("tripadvisor", path=write(tmp_path, data, "1.json"), cache=cache)
    assert list(ratings.users) == ["ann"]
    assert "left out 4 reviews without a user" in capsys.readouterr().err


def test_an_unreadable_date_is_missing_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews = [hotel_review("ann") | {"Date": "some day"}, hotel_review("bob")]
    path = write(tmp_path, hotel(*reviews), "1.json")
    table = datasets.load_reviews("tripadvisor", path=path)
    assert table["timestamp"].to_list() == [None, datetime(2012, 1, 3)]
    assert "left out 1 unreadable dates" in capsys.readouterr().err


def test_many_hotels_stream_in_several_frames(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, tar_of(TWO_HOTELS))
    whole = datasets.load("tripadvisor", path=path, cache=cache)
    monkeypatch.setattr(tripadvisor, "REVIEWS_AT_A_TIME", 1)
    assert datasets.load("tripadvisor", path=path, cache=cache / "other") == whole


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"not json", r"json/2\.json: it is not JSON"),
        (b'{"Reviews": []}', r"json/2\.json: its structure differs \(KeyError: 'HotelInfo'\)"),
        (b"[]", r"json/2\.json: its structure differs"),
        (hotel({"Author": "ann"}), r"json/2\.json: its structure differs \(KeyError: 'Ratings'\)"),
        (
            hotel(hotel_review(), hotel_review(Value="good")),
            r"json/2\.json, review 2: value is 'good'; expected a number",
        ),
        (hotel(hotel_review(Rooms="7")), r"json/2\.json, review 1: rooms is 7\.0; expected a rat"),
    ],
)
def test_a_hotel_in_another_format_is_named(tmp_path: Path, data: bytes, found: str) -> None:
    path = write(tmp_path, tar_of({"json/1.json": hotel(hotel_review()), "json/2.json": data}))
    with pytest.raises(DataError, match=rf"TripAdvisorJson\.tar\.bz2: {found}"):
        datasets.load_reviews("tripadvisor", path=path)


@pytest.mark.skipif(not REAL.exists(), reason="the shared data is not here")
def test_real_reviews_in_the_raw_format_come_back(tmp_path: Path, cache: Path) -> None:
    real = pl.read_parquet(REAL, n_rows=2000)
    files = {}
    for (item,), rows in real.group_by("item"):
        reviews = [
            {
                "Author": row["user"],
                "Date": f"{row['timestamp']:%B} {row['timestamp'].day}, {row['timestamp'].year}",
                "Ratings": {
                    key: "-1" if row[aspect] is None else f"{row[aspect]:g}"
                    for aspect, key in tripadvisor.KEYS.items()
                },
            }
            for row in rows.iter_rows(named=True)
        ]
        files[f"json/{item}.json"] = json.dumps(
            {"Reviews": reviews, "HotelInfo": {"HotelID": item, "Name": f"Hotel {item}"}}
        ).encode()
    path = write(tmp_path, tar_of(files))
    loaded = datasets.load("tripadvisor", path=path, cache=cache)
    expected = dmrank.read_ratings(
        real.with_columns(item_name="Hotel " + pl.col("item")), scale=(1, 5)
    )
    assert loaded == expected
