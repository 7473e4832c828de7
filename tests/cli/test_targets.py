"""Where results are to be written: what is wrong with a place is said before the work."""

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from typer.testing import CliRunner

import dmrank
from dmrank import DataError, ItemMean, Ratings, WriteError, read_ratings
from dmrank.cli.app import app
from tests.cli.running import run

#: Every option that names a result: the command with it, without the rest of the path.
TARGETS = {
    "fit --out": ["fit", "RATINGS", "--model", "itemmean", "--out", "@.dmrank"],
    "fit --checkpoint": ["fit", "RATINGS", "--out", "m.dmrank", "--checkpoint", "@"],
    "prepare --out": ["prepare", "RATINGS", "--out", "@.csv"],
    "prepare --split --out": ["prepare", "RATINGS", "--split", "--out", "@"],
    "recommend --out": ["recommend", "MODEL", "--all-users", "--out", "@.csv"],
    "stats --figure": ["stats", "RATINGS", "--figure", "@.png"],
    "compare --figure": ["compare", "MODEL", "a", "b", "--user", "u", "--figure", "@.png"],
    "explain --figure": ["explain", "MODEL", "--user", "u", "--item", "a", "--figure", "@.png"],
    "tune --out": ["tune", "itemmean", "--train", "RATINGS", "--validation", "RATINGS",
                   "--out", "@.toml"],
    "tune --storage": ["tune", "itemmean", "--train", "RATINGS", "--validation", "RATINGS",
                       "--storage", "@.sqlite"],
    "paper --out": ["paper", "--ratings", "RATINGS", "--out", "@"],
    "extract --out": ["extract", "REVIEWS", "--out", "@.csv"],
    "extract --save-polarity": ["extract", "REVIEWS", "--show", "1", "--save-polarity", "@.words"],
    "extract --html": ["extract", "REVIEWS", "--html", "@.html"],
    "aspects discover --out": ["aspects", "discover", "REVIEWS", "--out", "@.toml"],
    "demo --out": ["demo", "--out", "@"],
    "card --out": ["card", "MODEL", "--out", "@.md"],
    "fit --card": ["fit", "RATINGS", "--model", "itemmean", "--card", "--out", "@.dmrank"],
}  # fmt: skip


def refused(option: str, place: Path) -> Exception:
    """Return what a command says of a place, with inputs that do not exist: it was not at work."""
    arguments = [word.replace("@", str(place)) for word in TARGETS[option]]
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, DataError | WriteError), result.output
    return result.exception


@pytest.mark.parametrize("option", TARGETS)
def test_a_place_below_a_file_is_refused_before_anything_is_read(
    option: str, tmp_path: Path
) -> None:
    (tmp_path / "occupied").touch()
    error = refused(option, tmp_path / "occupied" / "inner")
    assert "occupied/inner" in str(error)
    assert "Not a directory" in str(error)
    assert [path.name for path in tmp_path.iterdir()] == ["occupied"]


def full_file(**_: object) -> IO[bytes]:
    return Path("/dev/full").open("wb")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
@pytest.mark.parametrize("option", TARGETS)
def test_a_full_disk_is_noticed_before_anything_is_read(
    option: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", full_file)
    assert "No space left on device" in str(refused(option, tmp_path / "out"))


@pytest.mark.parametrize("option", [option for option in TARGETS if "." in TARGETS[option][-1]])
def test_a_directory_is_no_file(option: str, tmp_path: Path) -> None:
    (tmp_path / f"out{Path(TARGETS[option][-1]).suffix}").mkdir()
    assert "is a directory" in str(refused(option, tmp_path / "out"))


@pytest.mark.parametrize("option", [option for option in TARGETS if "." not in TARGETS[option][-1]])
def test_a_file_is_no_folder(option: str, tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    assert "is a file" in str(refused(option, tmp_path / "out"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["fit", "none.csv", "--out", "/dev/full"])
    assert "is a device" in str(result.exception)
    assert not Path("/dev/full").is_file()
    with pytest.raises(DataError, match="is a device"):
        dmrank.make_ratings(20, 10, 100, seed=1).ratings.write(_named(tmp_path, "/dev/full"))


def _named(tmp_path: Path, device: str) -> Path:
    """Return a device by a name that says a format."""
    link = tmp_path / "ratings.csv"
    link.symlink_to(device)
    return link


def test_folders_that_do_not_exist_are_made(hotels: Ratings, tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "ratings.parquet"
    assert len(read_ratings(hotels.write(target), verbose=False)) == len(hotels)


def test_a_figure_is_of_a_known_format(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["stats", "none.csv", "--figure", str(tmp_path / "f.xyz")])
    assert "a .png, .svg or .pdf file" in str(result.exception)


def small_files() -> None:
    """A disk that takes the first 64 kB of every file, and no more."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))


@pytest.mark.parametrize("ending", ["csv.gz", "parquet"])
def test_a_disk_that_fills_up_while_a_table_is_written(
    ending: str, hotels_file: Path, tmp_path: Path
) -> None:
    command = ["prepare", str(hotels_file), "--out", f"o.{ending}"]
    result = run(*command, cwd=tmp_path, preexec_fn=small_files)
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == f"dmrank: o.{ending} cannot be written: File too large"
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.fixture
def no_room(monkeypatch) -> Callable[[Path], None]:
    """Fill the disk on which a path is, for models."""
    saved = dmrank.Model.save

    def fill(full: Path) -> None:
        def save(self, path):
            if full in Path(path).parents:
                raise WriteError(f"{path} cannot be written: No space left on device")
            return saved(self, path)

        monkeypatch.setattr(dmrank.Model, "save", save)

    return fill


def test_a_model_that_cannot_be_written_after_all_is_kept(
    hotels_file: Path, tmp_path: Path, no_room
) -> None:
    no_room(tmp_path)
    arguments = ["fit", hotels_file, "--model", "itemmean", "--out", tmp_path / "m.dmrank"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert isinstance(result.exception, WriteError)
    message, _, place = str(result.exception).partition("; the model is kept in ")
    assert message.endswith("m.dmrank cannot be written: No space left on device")
    assert isinstance(dmrank.load(place), ItemMean)
    shutil.rmtree(Path(place).parent)


def test_a_model_for_which_there_is_no_room_anywhere(
    hotels_file: Path, tmp_path: Path, no_room, monkeypatch
) -> None:
    no_room(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    arguments = ["fit", hotels_file, "--model", "itemmean", "--out", tmp_path / "m.dmrank"]
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert "no room for the model in" in str(result.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
@pytest.mark.parametrize("format_", ["table", "csv"])
def test_standard_output_that_is_full_is_one_line(hotels_file: Path, format_: str) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "dmrank", "stats", hotels_file, "--format", format_],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1] == "dmrank: standard output: No space left on device"
    assert "Traceback" not in result.stderr
