from __future__ import annotations

import dataclasses
import gzip
import hashlib
import os
from pathlib import Path

import pytest

import dmrank
from dmrank import datasets
from dmrank.datasets import loading, registry
from dmrank.support.errors import ConfigError, DataError, DownloadError
from tests.datasets.conftest import Server
from tests.datasets.raw_samples import (
    YELP,
    beer,
    hotel,
    hotel_review,
    python_lines,
    tar_of,
    yelp_line,
)

BEER = gzip.compress(python_lines(beer("4"), beer("3.5", review_profileName="bob")))


@pytest.fixture
def published(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """BeerAdvocate, published on this machine in two places with a known checksum."""
    places = (
        server.publish("first/beeradvocate.json.gz", BEER),
        server.publish("second/beeradvocate.json.gz", BEER),
    )
    corpus = dataclasses.replace(
        registry.CORPORA["beeradvocate"], urls=places, sha256=hashlib.sha256(BEER).hexdigest()
    )
    monkeypatch.setitem(registry.CORPORA, "beeradvocate", corpus)
    return server


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def stored_in(cache: Path) -> Path:
    (stored,) = cache.rglob("ratings-*.parquet")
    return stored


def test_every_corpus_has_its_name() -> None:
    assert datasets.names() == [
        "beeradvocate", "hotelrec", "ratebeer", "tripadvisor", "yahoo-movies", "yelp",
    ]  # fmt: skip
    assert dmrank.datasets is datasets


def test_an_unknown_name_is_met_with_a_near_one() -> None:
    with pytest.raises(ConfigError, match="'ratebear' is not known; did you mean 'ratebeer'"):
        datasets.load("ratebear")


def test_the_first_load_downloads_and_the_second_asks_nobody(
    published: Server, cache: Path
) -> None:
    first = datasets.load("beeradvocate", cache=cache)
    assert published.requests == ["/first/beeradvocate.json.gz"]
    assert first.values[:, 0].tolist() == [3.5, 4.0]
    assert datasets.load("beeradvocate", cache=cache) == first
    assert len(published.requests) == 1


def test_ratings_and_reviews_share_one_download(published: Server, cache: Path) -> None:
    datasets.load("beeradvocate", cache=cache)
    assert len(datasets.load_reviews("beeradvocate", cache=cache)) == 2
    assert len(published.requests) == 1


def test_the_cache_is_in_the_users_cache_directory(
    published: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))
    datasets.load("beeradvocate")
    assert (tmp_path / "dmrank/datasets/beeradvocate/beeradvocate.json.gz").exists()


def test_the_cache_holds_whole_files_and_their_checksums(published: Server, cache: Path) -> None:
    datasets.load("beeradvocate", cache=cache)
    stored = stored_in(cache).name
    assert files_in(cache) == sorted(
        ["beeradvocate.json.gz", "beeradvocate.json.gz.sha256", stored, f"{stored}.sha256"]
    )


def test_a_conversion_is_read_without_its_raw_file(published: Server, cache: Path) -> None:
    first = datasets.load("beeradvocate", cache=cache)
    (cache / "beeradvocate/beeradvocate.json.gz").unlink()
    assert datasets.load("beeradvocate", cache=cache) == first
    assert len(published.requests) == 1


def test_another_place_is_tried_when_the_first_fails(published: Server, cache: Path) -> None:
    del published.answers["/first/beeradvocate.json.gz"]
    assert len(datasets.load("beeradvocate", cache=cache)) == 2
    assert published.requests == ["/first/beeradvocate.json.gz", "/second/beeradvocate.json.gz"]


def test_when_all_places_fail_the_error_says_what_to_do(published: Server, cache: Path) -> None:
    published.answers.clear()
    with pytest.raises(DownloadError) as error:
        datasets.load("beeradvocate", cache=cache)
    message = str(error.value)
    assert message.startswith("beeradvocate.json.gz of beeradvocate could not be downloaded: ")
    assert message.count("answered 404") == 2
    assert message.endswith("and give it with path=")
    assert "\n" not in message
    assert files_in(cache) == []


def test_a_file_with_another_checksum_is_refused(published: Server, cache: Path) -> None:
    for answer in published.answers.values():
        answer.body = gzip.compress(b"something else")
    with pytest.raises(DownloadError, match="checksum"):
        datasets.load("beeradvocate", cache=cache)
    assert files_in(cache) == []


def test_a_truncated_download_is_refused_and_the_next_try_is_fresh(
    published: Server, cache: Path
) -> None:
    for answer in published.answers.values():
        answer.declared_length = len(BEER) + 1
    with pytest.raises(DownloadError, match="broke off"):
        datasets.load("beeradvocate", cache=cache)
    assert files_in(cache) == []
    for answer in published.answers.values():
        answer.declared_length = None
    assert len(datasets.load("beeradvocate", cache=cache)) == 2


def test_a_file_that_the_user_puts_into_the_cache_is_taken(published: Server, cache: Path) -> None:
    target = cache / "beeradvocate/beeradvocate.json.gz"
    target.parent.mkdir(parents=True)
    target.write_bytes(BEER)
    assert len(datasets.load("beeradvocate", cache=cache)) == 2
    assert published.requests == []


def test_but_only_if_it_has_the_known_checksum(published: Server, cache: Path) -> None:
    target = cache / "beeradvocate/beeradvocate.json.gz"
    target.parent.mkdir(parents=True)
    target.write_bytes(gzip.compress(python_lines(beer("1"))))
    with pytest.raises(DataError, match=r"beeradvocate\.json\.gz is damaged .*delete it"):
        datasets.load("beeradvocate", cache=cache)


@pytest.mark.parametrize("damaged", ["raw", "converted"])
def test_a_damaged_cache_is_noticed_and_named(published: Server, cache: Path, damaged: str) -> None:
    datasets.load("beeradvocate", cache=cache)
    file = cache / "beeradvocate/beeradvocate.json.gz" if damaged == "raw" else stored_in(cache)
    if damaged == "raw":
        stored_in(cache).unlink()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(DataError, match=rf"{file} is damaged .*delete it and load again"):
        datasets.load("beeradvocate", cache=cache)
    file.unlink()
    assert len(datasets.load("beeradvocate", cache=cache)) == 2


def test_url_downloads_from_elsewhere_and_is_kept_apart(published: Server, cache: Path) -> None:
    datasets.load("beeradvocate", cache=cache)
    other = published.publish("own/beeradvocate.json.gz", gzip.compress(python_lines(beer("1"))))
    assert datasets.load("beeradvocate", url=other, cache=cache).values[0, 0] == 1
    assert datasets.load("beeradvocate", cache=cache).values[0, 0] == 3.5


def test_tripadvisor_is_downloaded_as_an_archive(server: Server, cache: Path) -> None:
    url = server.publish("TripAdvisorJson.tar.bz2", tar_of({"json/1.json": hotel(hotel_review())}))
    assert len(datasets.load("tripadvisor", url=url, cache=cache)) == 1


@pytest.mark.parametrize("name", ["hotelrec", "yahoo-movies", "yelp"])
def test_what_has_no_open_download_says_where_it_is(name: str, cache: Path) -> None:
    with pytest.raises(
        DownloadError, match=rf"no open download: .*https://.*load\('{name}', path="
    ):
        datasets.load(name, cache=cache)
    assert not cache.exists()


def test_path_reads_a_file_of_the_user_and_leaves_it_alone(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(YELP)
    first = datasets.load("yelp", path=path, cache=cache)
    assert path.read_bytes() == YELP
    assert files_in(tmp_path / "cache") == files_in(cache)
    assert datasets.load("yelp", path=str(path), cache=str(cache)) == first


def test_the_second_load_of_a_path_reads_the_conversion(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(YELP)
    first = datasets.load("yelp", path=path, cache=cache)
    monkeypatch.setattr(loading, "Raw", None)
    assert datasets.load("yelp", path=path, cache=cache) == first


def test_a_file_that_changed_is_converted_again(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "review.json"
    path.write_text(yelp_line(stars=4.0))
    datasets.load("yelp", path=path, cache=cache)
    path.write_text(yelp_line(stars=2.0))
    os.utime(path, ns=(1, 1))
    assert datasets.load("yelp", path=path, cache=cache).values.tolist() == [[2]]


def test_a_newer_converter_does_not_read_an_older_conversion(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(YELP)
    datasets.load("yelp", path=path, cache=cache)
    monkeypatch.setattr(loading, "CONVERSION", loading.CONVERSION + 1)
    datasets.load("yelp", path=path, cache=cache)
    assert len(list(cache.rglob("ratings-*.parquet"))) == 2


def test_a_conversion_that_fails_leaves_only_the_download(server: Server, cache: Path) -> None:
    url = server.publish("review.json", YELP + b"\nbroken")
    with pytest.raises(DataError, match=r"review\.json: line 4: 'broken'"):
        datasets.load("yelp", url=url, cache=cache)
    assert files_in(cache) == ["review.json", "review.json.sha256"]


def test_a_write_that_dies_leaves_no_half_conversion(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(YELP)

    def die(self: dmrank.Ratings, target: Path) -> None:
        target.write_bytes(b"PAR1 half")
        raise KeyboardInterrupt

    monkeypatch.setattr(dmrank.Ratings, "write", die)
    with pytest.raises(KeyboardInterrupt):
        datasets.load("yelp", path=path, cache=cache)
    assert files_in(cache) == []


def test_a_cache_that_cannot_be_written_does_not_keep_a_path_from_loading(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, cache = tmp_path / "review.json", tmp_path / "file"
    path.write_bytes(YELP)
    cache.write_text("a file where a directory should be")
    assert len(datasets.load("yelp", path=path, cache=cache)) == 3
    assert "the converted ratings are not kept: cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("name", datasets.names())
def test_a_missing_path_is_named(name: str, tmp_path: Path, cache: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json does not exist"):
        datasets.load(name, path=tmp_path / "none.json", cache=cache)


def test_path_and_url_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="either path= or url="):
        datasets.load("yelp", path=tmp_path, url="http://127.0.0.1/x.json")


def test_a_file_with_anonymous_reviews_only_is_an_error(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "1.json"
    path.write_bytes(hotel(hotel_review(None)))
    for load in (datasets.load, datasets.load_reviews):
        with pytest.raises(DataError, match=r"1\.json has no review with a user"):
            load("tripadvisor", path=path, cache=cache)


def test_verbose_says_what_was_read_and_quiet_says_nothing(
    tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "review.json"
    path.write_bytes(YELP)
    datasets.load("yelp", path=path, cache=cache)
    datasets.load("yelp", path=path, cache=cache)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "yelp: Ratings(2 users × 2 items × 1 aspects, 3 rating vectors)"
    assert second == f"{first}, from {stored_in(cache)}"
    datasets.load("yelp", path=path, cache=cache / "new", verbose=False)
    datasets.load_reviews("yelp", path=path, verbose=False)
    assert capsys.readouterr().err == ""
