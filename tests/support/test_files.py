"""Files are written whole or not at all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dmrank import DataError, Ratings
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


def test_a_killed_write_leaves_the_old_file(tmp_path: Path) -> None:
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
        os.kill(process.pid, signal.SIGKILL)
    assert target.read_text() == "old"


def test_new_files_have_ordinary_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    with atomic_path(tmp_path / "atomic") as path:
        path.write_text("x")
    assert (tmp_path / "atomic").stat().st_mode == plain.stat().st_mode


def test_a_directory_is_not_a_file(tmp_path: Path, hotels: Ratings) -> None:
    with pytest.raises(DataError, match="is a directory"), atomic_path(tmp_path):
        pass
    with pytest.raises(DataError, match="cannot tell the format"):
        hotels.write(tmp_path / "ratings.pkl")


def test_writing_makes_missing_folders(tmp_path: Path, hotels: Ratings) -> None:
    started = time.time()
    path = hotels.write(tmp_path / "a" / "b" / "ratings.parquet")
    assert path.stat().st_mtime >= started - 1
