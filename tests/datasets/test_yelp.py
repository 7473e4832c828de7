from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from dmrank import datasets
from dmrank.support.errors import DataError
from tests.datasets.raw_samples import YELP, tar_of, yelp_line, zip_of


def write(tmp_path: Path, data: bytes | str, name: str = "review.json") -> Path:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_load_gives_the_overall_rating(tmp_path: Path, cache: Path) -> None:
    ratings = datasets.load("yelp", path=write(tmp_path, YELP), cache=cache)
    assert ratings.aspects == ("overall",)
    assert ratings.scale.tolist() == [[1, 5]]
    assert ratings.to_polars().select("user", "item", "overall").rows() == [
        ("ann", "bar", 5.0),
        ("ann", "cafe", 4.0),
        ("bob", "cafe", 2.0),
    ]
    assert ratings.timestamps is not None
    assert ratings.timestamps[0] == np.datetime64("2016-03-09T12:20:01").astype(int)


def test_load_reviews_gives_the_text(tmp_path: Path) -> None:
    reviews = datasets.load_reviews("yelp", path=write(tmp_path, YELP))
    assert reviews.columns == ["user", "item", "timestamp", "overall", "text"]
    assert reviews.row(0) == ("ann", "cafe", datetime(2016, 3, 9, 12, 20, 1), 4.0, "Good cake.")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("review.json.gz", gzip.compress(YELP)),
        ("yelp.tar", tar_of({"business.json": b"{}", "yelp_academic_dataset_review.json": YELP})),
        ("yelp.tgz", tar_of({"yelp_academic_dataset_review.json": YELP}, "gz")),
        (
            "Yelp-JSON.zip",
            zip_of({"y.tar": tar_of({"yelp_academic_dataset_review.json": YELP}, "")}),
        ),
    ],
)
def test_every_way_yelp_packs_it_is_read(
    tmp_path: Path, cache: Path, name: str, data: bytes
) -> None:
    plain = datasets.load("yelp", path=write(tmp_path, YELP), cache=cache)
    assert datasets.load("yelp", path=write(tmp_path, data, name), cache=cache) == plain


def test_early_editions_have_the_day_only(tmp_path: Path) -> None:
    reviews = datasets.load_reviews("yelp", path=write(tmp_path, yelp_line(date="2011-07-04")))
    assert reviews["timestamp"].to_list() == [datetime(2011, 7, 4)]


def test_blank_lines_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    data = f"{yelp_line()}\r\n\r\n{yelp_line('bob')}\r\n"
    assert datasets.load_reviews("yelp", path=write(tmp_path, data))["user"].to_list() == [
        "ann",
        "bob",
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("user_id,stars", r"'user_id,stars' \("),
        (yelp_line(stars=9), "overall is 9.0; expected a rating from 1 to 5"),
        (yelp_line(date="yesterday"), "date is 'yesterday'; expected a date like %Y"),
        ('{"business_id": "b", "stars": 4.5, "date": "2016-03-09"}', "user_id is None; expected"),
        (yelp_line(item=""), "item is ''; expected the id"),
    ],
)
def test_what_is_not_a_yelp_review_is_named(tmp_path: Path, line: str, found: str) -> None:
    path = write(tmp_path, f"{yelp_line()}\n{line}\n")
    with pytest.raises(DataError, match=rf"review\.json: line 2: {found}"):
        datasets.load_reviews("yelp", path=path)
