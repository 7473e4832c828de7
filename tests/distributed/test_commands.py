"""Commands with `--cluster`: the same files and the same words as without."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dmrank import Hurdle, make_ratings
from dmrank.cli.app import app
from dmrank.cli.prepare import write_split
from dmrank.support.errors import ConfigError, MissingExtraError
from tests.distributed.processes import all_end, descendants_of, title_of
from tests.text.corpus import make_reviews

pytest.importorskip("ray")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    ratings = make_ratings(600, 40, 6_000, missing=0.1, seed=1).ratings
    split = ratings.split()
    write_split(split, folder)
    Hurdle(seed=0).fit(split.train, validation=split.validation).save(folder / "model.dmrank")
    make_ratings(30, 40, 300, seed=5).ratings.write(folder / "new.csv")
    make_reviews(200).write_csv(folder / "reviews.csv")
    return folder


@pytest.fixture
def run(folder: Path, monkeypatch) -> Callable[..., str]:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("dmrank.cli.list_file._USERS_AT_ONCE", 25)
    monkeypatch.setattr("dmrank.cli.fold_in._USERS_AT_ONCE", 8)

    def call(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return call


def _content(place: Path) -> dict[str, str]:
    files = place.iterdir() if place.is_dir() else [place]
    return {
        file.suffix if file == place else file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


SPLIT = ["--train", "train.parquet", "--validation", "validation.parquet"]


@pytest.mark.parametrize(
    "words",
    [
        ["recommend", "model.dmrank", "--all-users", "--by", "service", "--out", "OUT.parquet"],
        ["recommend", "model.dmrank", "--all-users", "--aspects", "--out", "OUT.csv"],
        ["recommend", "model.dmrank", "--all-users", "--out", "OUT/"],
        ["fold-in", "model.dmrank", "new.csv", "--out", "OUT.parquet"],
        ["fold-in", "model.dmrank", "new.csv", "--out", "OUT/"],
        ["extract", "reviews.csv", "--overall", "stars", "--out", "OUT.parquet"],
        ["fit", "train.parquet", "--validation", "validation.parquet", "--out", "OUT.dmrank"],
        ["tune", "ease", *SPLIT, "--trials", "4", "--width", "2", "--out", "OUT.toml"],
    ],
    ids=lambda words: " ".join((words[0], words[-1])),
)
def test_a_command_writes_the_same_bytes(ray_cluster, run, tmp_path: Path, words) -> None:
    places = []
    for name, where in (("here", []), ("there", ["--cluster", "auto"])):
        *before, out = words
        places.append(f"{tmp_path}/{out.replace('OUT', name)}")
        run(*before, places[-1], *where)
    assert _content(Path(places[1])) == _content(Path(places[0]))
    assert not list(tmp_path.glob("*.parts"))


def test_an_evaluation_prints_the_same(ray_cluster, run) -> None:
    words = ["evaluate", "model.dmrank", *SPLIT, "--test", "test.parquet", "--format", "csv"]
    assert run(*words, "--cluster", "auto") == run(*words)


def test_a_folder_of_something_else_is_left_alone(run, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("four years")
    with pytest.raises(ConfigError, match="is not empty, and no work of this kind was begun"):
        run("recommend", "model.dmrank", "--all-users", "--out", f"{tmp_path}/")
    with pytest.raises(ConfigError, match="parts are parquet"):
        run("recommend", "model.dmrank", "--all-users", "--out", "lists/", "--safe-cells")


def test_without_ray_the_extra_is_named(run, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.support.extras.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"needs Ray.*pip install 'dmrank\[ray\]'"):
        run("recommend", "model.dmrank", "--all-users", "--out", "l.csv", "--cluster", "auto")


#: A few lists at a time, so that there is time to stop the command between two of them.
SLOWLY = """
import dmrank.cli.list_file as lists
from dmrank.cli import main
lists._USERS_AT_ONCE = 3
main()
"""


def _start(folder: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    words = ["recommend", "model.dmrank", "--all-users", "--out", f"{out}/", *more]
    return subprocess.Popen(
        [sys.executable, "-c", SLOWLY, *words],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, str]:
    """What a command writes that is not stopped."""
    again = _start(folder, folder / "whole")
    again.communicate()
    assert again.returncode == 0
    return _content(folder / "whole")


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_a_command_that_is_stopped_leaves_no_process_and_goes_on(
    folder: Path, whole: dict[str, str], tmp_path: Path, by: signal.Signals
) -> None:
    out = tmp_path / "lists"
    started = _start(folder, out, "--cluster", "local:1")
    while len(list(out.glob("part-*.parquet"))) < 2:
        assert started.poll() is None, started.communicate()
        time.sleep(0.01)
    processes = descendants_of(started.pid)
    started.send_signal(by)
    _, said = started.communicate(timeout=60)
    if by == signal.SIGINT:
        assert started.returncode == 130, said
        assert f"interrupted: what is done is in {out}" in said.splitlines()[-1]
    else:
        # Ray's agents, which use no core, notice after half a minute that their node has gone.
        processes = [each for each in processes if "Agent" not in title_of(each)]
        processes = [each for each in processes if "/_private/" not in title_of(each)]
    assert all_end(processes)
    assert not (out / "manifest.json").exists()
    again = _start(folder, out)
    again.communicate()
    assert again.returncode == 0
    assert _content(out) == whole


def test_no_cluster_is_said_in_one_line(folder: Path) -> None:
    ended = _start(folder, folder / "nowhere", "--cluster", "127.0.0.1:1")
    _, said = ended.communicate(timeout=60)
    assert ended.returncode == 2
    assert said.startswith("dmrank: no cluster '127.0.0.1:1' can be reached: start one with")
    assert len(said.splitlines()) == 1
