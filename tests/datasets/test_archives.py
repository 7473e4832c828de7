from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from dmrank.datasets.archives import members, undamaged
from dmrank.datasets.corpus import Raw
from dmrank.support.errors import DataError
from tests.datasets.raw_samples import tar_of, zip_of

TEXT = b'{"stars": 4}\n' * 1000


def contents(path: Path, *endings: str) -> list[tuple[str, bytes]]:
    raw = Raw(path)
    with undamaged(raw):
        return [(name, stream.read()) for name, stream in members(raw, endings)]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_a_single_file_is_taken_whatever_it_is_called(
    tmp_path: Path, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "my-own-name"
    path.write_bytes(pack(TEXT))
    assert contents(path, "review.json") == [("", TEXT)]


@pytest.mark.parametrize(
    "archive",
    [
        pytest.param(lambda files: tar_of(files, ""), id="tar"),
        pytest.param(lambda files: tar_of(files, "gz"), id="tar.gz"),
        pytest.param(lambda files: tar_of(files, "bz2"), id="tar.bz2"),
        pytest.param(lambda files: tar_of(files, "xz"), id="tar.xz"),
        pytest.param(zip_of, id="zip"),
        pytest.param(lambda files: zip_of({"yelp/data.tar": tar_of(files, "")}), id="tar in zip"),
        pytest.param(lambda files: gzip.compress(gzip.compress(tar_of(files))), id="gz in gz"),
    ],
)
def test_an_archive_gives_the_wanted_files(
    tmp_path: Path, archive: Callable[[dict[str, bytes]], bytes]
) -> None:
    files = {
        "data/business.json": b"{}",
        "data/a_review.json": TEXT,
        "__MACOSX/data/._a_review.json": b"\x00\x05",
        "data/b_review.json": b"second",
    }
    path = tmp_path / "archive"
    path.write_bytes(archive(files))
    assert contents(path, "review.json") == [
        ("data/a_review.json", TEXT),
        ("data/b_review.json", b"second"),
    ]


def test_a_directory_gives_the_wanted_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.json").write_bytes(b"two")
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b"one"))
    (tmp_path / "notes.txt").write_bytes(b"no")
    assert contents(tmp_path, ".json") == [("a.json", b"one"), ("b.json", b"two")]


def test_an_archive_without_the_wanted_file_says_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "yelp.tar"
    path.write_bytes(tar_of({"business.json": b"{}"}, ""))
    with pytest.raises(DataError, match=r"yelp\.tar holds no file named \*review\.json"):
        contents(path, "review.json")


def test_a_missing_or_empty_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.json does not exist"):
        contents(tmp_path / "none.json", ".json")
    (tmp_path / "empty.json").touch()
    with pytest.raises(DataError, match=r"empty\.json is empty"):
        contents(tmp_path / "empty.json", ".json")


@pytest.mark.parametrize(
    "whole",
    [
        gzip.compress(TEXT),
        bz2.compress(TEXT),
        lzma.compress(TEXT),
        tar_of({"review.json": TEXT}, ""),
        tar_of({"review.json": TEXT}),
        zip_of({"review.json": TEXT}),
    ],
    # Names, because gzip writes the time of the day into the bytes.
    ids=["gz", "bz2", "xz", "tar", "tar.gz", "zip"],
)
def test_a_file_that_is_cut_off_is_named_with_the_remedy(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "reviews"
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(DataError, match=r"reviews is damaged or cut off .*fetch it again"):
        contents(path, "review.json")


def test_damage_within_a_compressed_file_is_noticed(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[len(packed) // 2] ^= 0xFF
    path = tmp_path / "reviews.gz"
    path.write_bytes(packed)
    with pytest.raises(DataError, match=r"reviews\.gz is damaged"):
        contents(path, ".json")
