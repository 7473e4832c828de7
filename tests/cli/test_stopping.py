"""Ctrl-C and SIGTERM: an exit code that says so, a line that says what is left of the work."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dmrank
from dmrank.cli.app import app
from dmrank.cli.stopping import Stopped

SIGNALS = {signal.SIGINT: (130, "interrupted"), signal.SIGTERM: (143, "terminated")}
#: A fit that would take hours, and looks at itself all the time.
LONG = ["--model", "dmr", "--set", "iterations=100000000", "--set", "evaluate_every=100",
        "--set", "factors=4"]  # fmt: skip


def stop(by: signal.Signals, when: str, *arguments: object, cwd: Path) -> tuple[int, list[str]]:
    """Send a signal when a file is there; return the exit code and what was said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dmrank", *map(str, arguments)],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, cwd=cwd,
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        while not list(cwd.glob(when)):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(by)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    return process.returncode, said.splitlines()


@pytest.mark.parametrize("by", SIGNALS)
def test_a_fit_that_is_stopped_keeps_the_model_so_far_beside_its_place(
    by: signal.Signals, split_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "m.dmrank").write_text("the model of yesterday")
    fit = ["fit", split_folder / "train.parquet", *LONG, "--out", "m.dmrank"]
    code, said = stop(by, "state/*", *fit, "--checkpoint", "state", cwd=tmp_path)
    expected, word = SIGNALS[by]
    assert code == expected
    assert said[-1] == (
        f"dmrank: {word}: the best model so far is in m.interrupted.dmrank; "
        "the same command goes on from state"
    )
    assert isinstance(dmrank.load(tmp_path / "m.interrupted.dmrank"), dmrank.DMR)
    assert (tmp_path / "m.dmrank").read_text() == "the model of yesterday"
    assert {path.name for path in tmp_path.iterdir()} == {
        "m.dmrank", "m.interrupted.dmrank", "state"
    }  # fmt: skip


def test_a_stopped_fit_of_several_models_says_where_it_goes_on(
    split_folder: Path, tmp_path: Path
) -> None:
    fit = ["fit", split_folder / "train.parquet", "--model", "blend", "--out", "m.dmrank",
           "--set", 'members=["Popularity", "DMR"]', "--set", "dmr.iterations=100000000",
           "--checkpoint", "state"]  # fmt: skip
    code, said = stop(signal.SIGINT, "state/*/popularity.json", *fit, cwd=tmp_path)
    assert code == 130
    assert said[-1] == (
        "dmrank: interrupted: no model was written; the same command goes on from state"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_a_fit_that_ends_removes_what_a_stopped_one_has_left(
    split_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "m.interrupted.dmrank").touch()
    fit = ["fit", split_folder / "train.parquet", "--model", "itemmean", "--out"]
    result = CliRunner().invoke(app, [*map(str, fit), str(tmp_path / "m.dmrank")])
    assert result.exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m.dmrank"]


def test_a_search_that_is_stopped_says_where_its_trials_are(
    split_folder: Path, tmp_path: Path
) -> None:
    tune = ["tune", "itemmean", "--train", split_folder / "train.parquet", "--validation",
            split_folder / "validation.parquet", "--trials", 100_000, "--storage", "t.db",
            "--out", "best.toml"]  # fmt: skip
    code, said = stop(signal.SIGTERM, "t.db", *tune, cwd=tmp_path)
    assert code == 143
    assert said[-1] == (
        "dmrank: terminated: finished trials are in t.db, from where the same command goes on"
    )
    assert not list(tmp_path.glob("best*"))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_lists_that_are_stopped_leave_nothing_half_written(
    ending: str, split_folder: Path, tmp_path: Path, monkeypatch
) -> None:
    model = dmrank.ItemMean().fit(dmrank.read_ratings(split_folder / "train.parquet"))
    model.save(tmp_path / "m.dmrank")

    def interrupted_at_the_second_block(self, users, n, **options):
        del options
        yield self.recommend(users[:1], n)
        raise KeyboardInterrupt

    monkeypatch.setattr(dmrank.Model, "recommend_blocks", interrupted_at_the_second_block)
    out = tmp_path / f"lists.{ending}"
    recommend = ["recommend", tmp_path / "m.dmrank", "--all-users", "--out", out]
    with pytest.raises(Stopped, match="interrupted: nothing was written"):
        CliRunner().invoke(app, list(map(str, recommend)))
    assert [path.name for path in tmp_path.iterdir()] == ["m.dmrank"]
