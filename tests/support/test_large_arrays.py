"""Arrays as long as the ratings: of memory here, of files where workers are there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from dmrank import WriteError
from dmrank.support.large_arrays import large_array
from dmrank.support.shared_tables import SharedTable
from dmrank.support.workers import use_workers

LARGE = (1 << 20, 2)


class Folders:
    """Workers of whom nothing is asked but folders."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0

    def new_folder(self) -> Path:
        self.made += 1
        made = self.folder / str(self.made)
        made.mkdir()
        return made


def _own_megabytes() -> float:
    told = Path("/proc/self/status").read_text().split()
    return int(told[told.index("RssAnon:") + 1]) / 1_024


def test_without_workers_they_are_plain_arrays() -> None:
    made = large_array(LARGE, np.float32)
    assert (made.shape, made.dtype, made.base) == (LARGE, np.float32, None)


def test_with_workers_they_take_no_memory_of_their_own(tmp_path: Path) -> None:
    with use_workers(Folders(tmp_path)):  # type: ignore[arg-type]
        before = _own_megabytes()
        made = large_array((8 << 20, 8), np.float32)
        made[:] = 1.5
        grown = _own_megabytes() - before
    assert made.sum(dtype=np.float64) == 1.5 * made.size
    assert grown < 0.1 * made.nbytes / 2**20


def test_their_files_are_nobody_elses(tmp_path: Path) -> None:
    with use_workers(Folders(tmp_path)):  # type: ignore[arg-type]
        one, other = large_array(LARGE, np.int64), large_array(LARGE, np.int64)
        one[:], other[:] = 1, 2
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert (one == 1).all()
    assert (other == 2).all()


def test_small_ones_are_not_worth_a_file(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    with use_workers(folders):  # type: ignore[arg-type]
        assert large_array(10, np.int32).shape == (10,)
    assert folders.made == 0


def test_a_full_disk_is_found_when_room_is_set_aside(tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    folders = Folders(tmp_path)
    with use_workers(folders), pytest.raises(WriteError, match="No space left"):  # type: ignore[arg-type]
        large_array(LARGE, np.float32)
    assert not any(tmp_path.rglob("array"))


def test_room_is_set_aside_where_the_system_cannot(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate", raising=False)
    table = SharedTable.reserve(tmp_path / "table", np.float32, (600_000, 1))
    assert Path(table.path).stat().st_size == table.nbytes
    assert not table.keep().any()
