"""`dmrank evaluate`: judge model files."""

import json
from pathlib import Path

import pytest

from dmrank import ItemMean, Popularity, Ratings, load
from dmrank.cli.prepare import write_split
from tests.cli.running import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory, hotels: Ratings) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    split = hotels.split()
    write_split(split, folder)
    Popularity().fit(split.train.compact()).save(folder / "popular.dmrank")
    ItemMean().fit(split.train.compact()).save(folder / "means.dmrank")
    Popularity().fit(hotels).save(folder / "cheat.dmrank")
    return folder


PARTS = ["--train", "train.parquet", "--validation", "validation.parquet", "--test", "test.parquet"]


def test_models_are_compared_in_a_table(folder: Path) -> None:
    result = run("evaluate", "popular.dmrank", "means.dmrank", *PARTS, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "ndcg@10 average" in result.stdout
    assert "full ranking of 1,769 users" in result.stdout
    assert "popular − means" in result.stdout or "means − popular" in result.stdout


def test_lists_of_another_system_stand_beside_models(folder: Path, hotels: Ratings) -> None:
    model = load(folder / "means.dmrank")
    model.recommend(model.catalogue.users, n=300).write_csv(folder / "theirs.csv")
    arguments = ["means.dmrank", "theirs.csv", *PARTS, "--metric", "ndcg@10", "--format", "json"]
    result = run("evaluate", *arguments, cwd=folder)
    ours, theirs = json.loads(result.stdout)
    assert (ours["model"], theirs["model"]) == ("means", "theirs")
    assert ours["ndcg@10"] == pytest.approx(theirs["ndcg@10"])
    no_lists = run("evaluate", "train.parquet", *PARTS, cwd=folder)
    assert no_lists.returncode == 2
    assert "a table of lists needs a column for the order" in no_lists.stderr


def test_json_and_csv_are_for_machines(folder: Path) -> None:
    arguments = ["evaluate", "popular.dmrank", *PARTS, "--metric", "hit@5", "--format"]
    rows = json.loads(run(*arguments, "json", cwd=folder).stdout)
    assert list(rows[0]) == ["model", "hit@5", "hit@5 average"]
    assert rows[0]["model"] == "popular"
    csv = run(*arguments, "csv", "--per-aspect", cwd=folder).stdout
    assert csv.startswith("model,aspect,metric,mean,users\npopular,overall,hit@5,")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["none.dmrank"], "none.dmrank"),
        (["cheat.dmrank"], "cheat has seen test ratings in training"),
        (["popular.dmrank", "--metric", "ndgc@10"], "did you mean 'ndcg@10'"),
        (["popular.dmrank", "--protocol", "some"], "give 'full' or 'sampled(100)'"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line_and_exit_code_2(folder: Path, arguments, reason: str) -> None:
    result = run("evaluate", *arguments, *PARTS, cwd=folder)
    assert result.returncode == 2
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
