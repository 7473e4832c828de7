"""Files are written whole or not at all."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dmrank import DataError, Ratings
from dmrank.support.containers import write_container
from dmrank.support.errors import WriteError
from dmrank.support.files import atomic_path


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    target.write_text("old")

    def die_while_writing() -> None:
        with atomic_path(target) as path:
            path.write_text("half of the n")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        die_while_writing()
    assert target.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["kept.txt"]


def test_a_killed_write_leaves_the_old_file_and_the_next_one_clears_up(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    target.write_text("old")
    script = (
        "import sys, time\nfrom dmrank.support.files import atomic_path\n"
        "with atomic_path(sys.argv[1]) as path:\n"
        "    path.write_text('half of the n')\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(target)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with atomic_path(target) as path:
            path.write_text("new")
        left = {file.name for file in tmp_path.iterdir()} - {"kept.txt"}
        assert len(left) == 1, "what a living process writes is not touched"
        target.write_text("old")
        os.kill(process.pid, signal.SIGKILL)
    assert target.read_text() == "old"
    assert {file.name for file in tmp_path.iterdir()} == left | {"kept.txt"}
    with atomic_path(tmp_path / "another.txt") as path:
        path.write_text("new")
    assert (tmp_path / left.pop()).exists(), "parts of other targets are left alone"
    with atomic_path(target) as path:
        path.write_text("new")
    assert {file.name for file in tmp_path.iterdir()} == {"kept.txt", "another.txt"}


def test_new_files_have_ordinary_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with atomic_path(tmp_path / "atomic") as path:
        path.write_text("x")
    assert (tmp_path / "atomic").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_model_files_follow_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        path = write_container(tmp_path / "file", {}, {}, content="model")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    target = tmp_path / ("ü" * 125 + ".json")
    with atomic_path(target) as path:
        path.write_text("x")
    assert target.read_text() == "x"


def test_a_directory_is_not_a_file(tmp_path: Path, hotels: Ratings) -> None:
    with pytest.raises(DataError, match="is a directory"), atomic_path(tmp_path):
        pass
    with pytest.raises(DataError, match="cannot tell the format"):
        hotels.write(tmp_path / "ratings.pkl")


def test_writing_makes_missing_folders(tmp_path: Path, hotels: Ratings) -> None:
    started = time.time()
    path = hotels.write(tmp_path / "a" / "b" / "ratings.parquet")
    assert path.stat().st_mtime >= started - 1


@pytest.fixture
def small_files() -> Iterator[None]:
    """Files cannot grow beyond a few blocks: a disk that is full, for this process alone."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _fail(target: Path, size: int, message: str) -> None:
    with atomic_path(target) as path:
        path.write_bytes(bytes(size))
        raise pl.exceptions.ComputeError(message)


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_is_named_also_where_polars_does_not_name_it(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"t\.parquet cannot be written: File too large"):
        _fail(tmp_path / "t.parquet", 9_000, "parquet: Invalid thrift: transport error")
    assert list(tmp_path.iterdir()) == []


def test_another_error_of_polars_while_writing_stays_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(pl.exceptions.ComputeError, match="another"):
        _fail(tmp_path / "t.parquet", 9_000, "another")
    assert list(tmp_path.iterdir()) == []
