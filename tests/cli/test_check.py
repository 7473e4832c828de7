"""`dmrank check`: whole files are named, damaged ones end in one line."""

from pathlib import Path

import numpy as np
import pytest

from dmrank import MBPR, DmrankError, make_ratings
from dmrank.cli.check import check_file
from tests.cli.running import run
from tests.damage import flipped, forged


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    ratings = make_ratings(30, 20, 300, seed=1).ratings
    model = MBPR(factors=3, iterations=20, evaluate_every=10, batch_size=50, seed=1)
    model.fit(ratings, checkpoint=folder)
    return {
        "a fitted MBPR": model.save(folder / "model"),
        "an index of 20 items": model.index(clusters=4).save(folder / "index"),
        "a checkpoint of iteration 20": folder / "training.checkpoint",
    }


def test_what_is_whole_is_named(files: dict[str, Path]) -> None:
    result = run("check", *files.values())
    assert result.returncode == 0
    for named, line in zip(files, result.stderr.splitlines(), strict=True):
        assert named in line
        assert "checksums, types, shapes and values are right" in line


def test_what_is_damaged_ends_in_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    content = bytearray(files["a fitted MBPR"].read_bytes())
    content[-1] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    result = run("check", tmp_path / "damaged")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "has not the checksum that it was written with" in result.stderr


@pytest.mark.parametrize(
    "named", ["a fitted MBPR", "an index of 20 items", "a checkpoint of iteration 20"]
)
def test_every_flipped_bit_is_found(files, named: str, tmp_path: Path) -> None:
    for content in flipped(files[named].read_bytes(), count=100, seed=1):
        (tmp_path / "damaged").write_bytes(content)
        with pytest.raises(DmrankError):
            check_file(tmp_path / "damaged")


@pytest.mark.parametrize("lost", ["users", "best.users"])
def test_a_checkpoint_without_an_array_is_found(files, tmp_path: Path, lost: str) -> None:
    source = files["a checkpoint of iteration 20"]
    path = forged(source, tmp_path / "without", lambda arrays, _: arrays.pop(lost))
    with pytest.raises(DmrankError, match=f"lacks the array '{lost}'"):
        check_file(path)


def test_values_that_no_fit_leaves_are_found(files, tmp_path: Path) -> None:
    def spoil(arrays: dict[str, np.ndarray], _: object) -> None:
        arrays["items"].flat[0] = np.nan

    path = forged(files["a checkpoint of iteration 20"], tmp_path / "nan", spoil)
    with pytest.raises(DmrankError, match="'items' has values that are NaN"):
        check_file(path)
