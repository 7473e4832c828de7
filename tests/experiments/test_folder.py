"""The folder of a run keeps finished work, and never that of other settings."""

import json
from pathlib import Path

import polars as pl
import pytest

from dmrank import ConfigError, DataError
from dmrank.experiments.folder import RunFolder

SETTINGS = {"data": "hotels", "budget": {"name": "quick"}}


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    made = []

    def make() -> pl.DataFrame:
        made.append(1)
        return pl.DataFrame({"model": ["DMR"], "value": [float("nan")]})

    for _ in range(2):
        table = RunFolder(tmp_path / "run", SETTINGS).keep_table("tables/one", make)
        assert table["model"].to_list() == ["DMR"]
    assert made == [1]


def test_work_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        folder.keep_values("values/one", _interrupted)
    assert folder.keep_values("values/one", lambda: {"a": 1}) == {"a": 1}


def _interrupted() -> dict[str, int]:
    raise KeyboardInterrupt


def test_a_run_with_other_settings_is_refused_by_name(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", SETTINGS)
    with pytest.raises(ConfigError, match="a run with data 'hotels', not 'beers'"):
        RunFolder(tmp_path / "run", {**SETTINGS, "data": "beers"})
    with pytest.raises(ConfigError, match="seeds None, not 3"):
        RunFolder(tmp_path / "run", {**SETTINGS, "seeds": 3})


def test_other_models_go_on_with_what_there_is(tmp_path: Path) -> None:
    RunFolder(tmp_path / "run", SETTINGS).finish_report(["DMR"], [])
    folder = RunFolder(tmp_path / "run", SETTINGS)
    folder.finish_report(["EASE", "DMR"], [])
    kept = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert kept == {**SETTINGS, "models": ["EASE", "DMR"]}


def test_a_folder_of_before_models_could_change_is_taken(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"models": ["DMR"], **SETTINGS}))
    assert RunFolder(tmp_path, SETTINGS).seconds() == 0


def test_only_what_a_report_has_not_any_more_is_removed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", SETTINGS)
    for name in ("one.csv", "two.csv", "notes.csv"):
        folder.write_text(name, "")
    folder.finish_report(["DMR"], ["one.csv", "two.csv"])
    folder.finish_report(["EASE"], ["one.csv"])
    assert {path.name for path in folder.path.glob("*.csv")} == {"one.csv", "notes.csv"}


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="is not empty and holds no run"):
        RunFolder(tmp_path, SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(ConfigError, match="is a file"):
        RunFolder(tmp_path / "run", SETTINGS)


def test_broken_settings_are_no_reason_for_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        RunFolder(tmp_path, SETTINGS)


def test_run_time_is_the_sum_of_all_parts(tmp_path: Path) -> None:
    assert RunFolder(tmp_path / "run", SETTINGS).seconds() == 0
    for seconds in (1.5, 2.0):
        RunFolder(tmp_path / "run", SETTINGS).add_seconds("a step", seconds)
    RunFolder(tmp_path / "run", SETTINGS).add_seconds("another step", 4.0)
    assert RunFolder(tmp_path / "run", SETTINGS).seconds() == 7.5
    assert RunFolder(tmp_path / "run", SETTINGS).seconds({"a step"}) == 3.5


@pytest.mark.parametrize("content", [b"", b"{", b"PAR1", b"\xff\xfe", b"[1]"])
def test_damaged_work_is_named(tmp_path: Path, content: bytes) -> None:
    folder = RunFolder(tmp_path, SETTINGS)
    folder.keep_table("one", lambda: pl.DataFrame({"a": [1]}))
    folder.keep_values("one", lambda: {"a": 1})
    for ending in (".parquet", ".json"):
        folder.kept(f"one{ending}").write_bytes(content)
    for keep in (folder.keep_table, folder.keep_values):
        with pytest.raises(DataError, match=r"work/one.* is damaged.*delete it, and it is made"):
            keep("one", dict)


def test_times_are_written_whole_and_refused_if_damaged(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, SETTINGS)
    folder.add_seconds("a", 1.0)
    folder.add_seconds("b", 2.0)
    assert folder.seconds() == 3
    folder.kept("seconds.jsonl").write_text('["a", 1.0]\n["b", ')
    with pytest.raises(DataError, match="delete it to count times anew"):
        folder.seconds()


def test_a_list_of_files_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    folder = RunFolder(tmp_path / "run", SETTINGS)
    folder.kept("written.json").parent.mkdir()
    for names in ('["../precious"]', f'["{tmp_path}/precious"]', "3", "[3]"):
        folder.kept("written.json").write_text(names)
        with pytest.raises(DataError, match="names no files of the report"):
            folder.finish_report([], [])
    assert (tmp_path / "precious").exists()
