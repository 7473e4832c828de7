"""Results in parts: whole parts, a manifest at the end, and going on after a kill."""

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

from dmrank import ConfigError, DataError
from dmrank.distributed.parts import MANIFEST, Parts, PartSettings
from dmrank.support.batches import to_batch


class Squares:
    """Makes parts, and counts how many it has made."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.made: list[int] = []
        self.fails_at = fails_at

    def __call__(self, number: int) -> object:
        if number == self.fails_at:
            raise KeyboardInterrupt
        self.made.append(number)
        return to_batch(pl.DataFrame({"square": [number**2] * number}))


def _make(folder: Path, squares: Squares, total: int = 5, **run: object) -> Parts:
    parts = Parts(PartSettings(folder, is_joined=False, users_per_part=1), run)
    parts.make(squares, ((number,) for number in range(total)), "squaring", total)
    return parts


def _content(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_the_manifest_says_what_is_in_each_part(tmp_path: Path) -> None:
    _make(tmp_path / "out", Squares())
    listed = json.loads((tmp_path / "out" / MANIFEST).read_text())["parts"]
    assert [part["rows"] for part in listed] == [0, 1, 2, 3, 4]
    for part in listed:
        content = (tmp_path / "out" / part["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == part["sha256"]
        assert len(pl.read_parquet(tmp_path / "out" / part["file"])) == part["rows"]


def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_bytes(tmp_path: Path) -> None:
    _make(tmp_path / "whole", Squares())
    with pytest.raises(KeyboardInterrupt):
        _make(tmp_path / "out", Squares(fails_at=3))
    assert not (tmp_path / "out" / MANIFEST).exists()
    (tmp_path / "out" / "part-00000001.parquet").unlink()
    again = Squares()
    _make(tmp_path / "out", again)
    assert again.made == [1, 3, 4]
    assert _content(tmp_path / "out") == _content(tmp_path / "whole")


def test_parts_of_another_run_are_refused(tmp_path: Path) -> None:
    _make(tmp_path / "out", Squares(), n=10)
    with pytest.raises(ConfigError, match="its n is 10, not 20"):
        _make(tmp_path / "out", Squares(), n=20)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("four years")
    with pytest.raises(ConfigError, match="is not empty"):
        _make(tmp_path, Squares())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    _make(tmp_path / "out", Squares())
    (tmp_path / "out" / "part-00000002.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="part-00000002.parquet is damaged: delete the file"):
        _make(tmp_path / "out", Squares())
