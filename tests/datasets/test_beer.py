from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import datasets
from dmrank.datasets.beer import parse_line
from dmrank.support.errors import DataError
from tests.datasets.raw_samples import beer, python_lines, ratebeer

ASPECTS = ("overall", "appearance", "aroma", "palate", "taste")


def write(tmp_path: Path, data: bytes, name: str = "beer.json.gz") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def test_beeradvocate_rates_everything_from_1_to_5(tmp_path: Path, cache: Path) -> None:
    review = beer("1.5", review_taste="4", review_aroma="5.0")
    path = write(tmp_path, python_lines(review))
    ratings = datasets.load("beeradvocate", path=path, cache=cache)
    assert ratings.aspects == ASPECTS
    assert ratings.values.tolist() == [[1.5, 1.5, 5, 1.5, 4]]
    assert ratings.scale.tolist() == [[1, 5]] * 5
    assert (ratings.users[0], ratings.items[0]) == ("stcules", "47986")
    assert ratings.item_name(0) == "Sausa Weizen"
    assert ratings.timestamps is not None
    assert ratings.timestamps.tolist() == [1234817823]


def test_zero_is_missing(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, python_lines(beer("4.5", review_overall="0", review_appearance="0.0")))
    ratings = datasets.load("beeradvocate", path=path, cache=cache)
    np.testing.assert_array_equal(ratings.values, [[np.nan, np.nan, 4.5, 4.5, 4.5]])


def test_ratebeer_has_its_own_scale_per_aspect(tmp_path: Path, cache: Path) -> None:
    ratings = datasets.load("ratebeer", path=write(tmp_path, python_lines(ratebeer())), cache=cache)
    assert ratings.values.tolist() == [[13, 3, 6, 3, 7]]
    assert ratings.scale.tolist() == [[1, 20], [1, 5], [1, 10], [1, 5], [1, 10]]


def test_the_cached_conversion_keeps_the_scales(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path, python_lines(ratebeer()))
    first = datasets.load("ratebeer", path=path, cache=cache)
    assert datasets.load("ratebeer", path=path, cache=cache) == first


def test_reviews_have_the_text_without_html_entities(tmp_path: Path) -> None:
    review = beer("4", beer_name="Gro&#223;e &amp; Co", review_text="Foam &#40;a lot&#41;")
    reviews = datasets.load_reviews("beeradvocate", path=write(tmp_path, python_lines(review)))
    assert reviews.columns == ["user", "item", "timestamp", "item_name", *ASPECTS, "text"]
    assert reviews["item_name"].to_list() == ["Große & Co"]
    assert reviews["text"].to_list() == ["Foam (a lot)"]
    assert reviews["timestamp"].to_list() == [datetime(2009, 2, 16, 20, 57, 3)]


def test_python_lines_and_json_lines_plain_and_compressed_are_the_same(
    tmp_path: Path, cache: Path
) -> None:
    reviews = [beer("4"), beer("3", review_profileName="o'\"neil", review_text="ünï\n'c\"")]
    strict = "\n".join(json.dumps(review) for review in reviews).encode()
    python = datasets.load_reviews("beeradvocate", path=write(tmp_path, python_lines(*reviews)))
    for name in ("strict.json", "strict.json.gz"):
        path = write(tmp_path, strict, name)
        assert datasets.load_reviews("beeradvocate", path=path).equals(python)
    assert python["user"].to_list() == ["stcules", "o'\"neil"]


def test_numbers_in_strict_json_are_read_as_well(tmp_path: Path, cache: Path) -> None:
    review = beer("4") | {"review/overall": 3.5, "review/time": 1234817823, "beer/beerId": 7}
    path = write(tmp_path, json.dumps(review).encode(), "beer.json")
    ratings = datasets.load("beeradvocate", path=path, cache=cache)
    assert ratings.items[0] == "7"
    assert ratings.values[0, 0] == 3.5


def test_reviews_without_a_user_are_left_out_and_counted(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews = [beer("4"), beer("4", review_profileName=None), beer("4", review_profileName="")]
    path = write(tmp_path, python_lines(*reviews))
    assert len(datasets.load("beeradvocate", path=path, cache=cache)) == 1
    assert "beeradvocate: left out 2 reviews without a user" in capsys.readouterr().err


def test_the_latest_of_repeated_reviews_counts(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews = [beer("4", review_time="20"), beer("2", review_time="10")]
    path = write(tmp_path, python_lines(*reviews))
    assert datasets.load("beeradvocate", path=path, cache=cache).values[0, 0] == 4
    assert "1 repeated (user, item) dropped, the latest kept" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("beeradvocate", b"hello", r"'hello'; expected a line like \{'beer/beerId'"),
        ("beeradvocate", b"{'beer/beerId': '1'", r".*; expected a line like"),
        ("beeradvocate", b"__import__('os').abort()", r".*; expected a line like"),
        ("beeradvocate", b"['a']", r".*; expected a line like"),
        ("beeradvocate", b"\xff\xfe", r".*; expected a line like"),
        ("beeradvocate", b"(" * 100_000, r".*; expected a line like"),
        ("beeradvocate", b"{'asin': 'B1'}", r"item is None; expected the id"),
        ("beeradvocate", python_lines(beer("7")), r"overall is 7.0; expected a rating from 1 to 5"),
        (
            "beeradvocate",
            python_lines(ratebeer()),
            r"overall is '13/20'; expected a number up to 5",
        ),
        ("ratebeer", python_lines(beer("4.5")), r"overall is '4.5'; expected a fraction of 20"),
        ("ratebeer", python_lines(ratebeer(review_aroma="x/10")), r"aroma is 'x'; expected a frac"),
        (
            "ratebeer",
            python_lines(ratebeer(review_time="noon")),
            r"timestamp is 'noon'; expected s",
        ),
    ],
)
def test_what_is_not_a_review_of_the_corpus_is_named(
    tmp_path: Path, name: str, line: bytes, found: str
) -> None:
    good = python_lines(beer("4") if name == "beeradvocate" else ratebeer())
    path = write(tmp_path, good + line)
    with pytest.raises(DataError, match=rf"beer\.json\.gz: line 2: {found}"):
        datasets.load_reviews(name, path=path)


texts = st.text(st.characters(codec="utf-8"))


@given(st.dictionaries(texts, texts))
def test_a_line_is_read_as_python_or_json_wrote_it(record: dict[str, str]) -> None:
    assert parse_line(repr(record)) == record
    assert parse_line(json.dumps(record)) == record


@given(st.dictionaries(texts, texts | st.integers() | st.lists(texts)))
def test_values_that_are_no_strings_are_read_as_well(record: dict[str, object]) -> None:
    assert parse_line(repr(record)) == record
