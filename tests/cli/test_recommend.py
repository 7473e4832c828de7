"""`dmrank recommend`: lists on the screen and in files."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import dmrank
from dmrank import ItemMean, Ratings
from dmrank.cli.app import app
from dmrank.support.errors import DmrankError
from tests.cli.running import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory, hotels: Ratings) -> Path:
    folder = tmp_path_factory.mktemp("models")
    ItemMean().fit(hotels).save(folder / "hotels.dmrank")
    (folder / "users.txt").write_text("u000012\nu000003\n\nu000012\n")
    (folder / "empty.txt").write_text("\n")
    pl.DataFrame({"user": ["u000003", "u000012"]}).write_csv(folder / "users.csv")
    pl.DataFrame({"guest": ["u000003"]}).write_csv(folder / "guests.csv")
    return folder


@pytest.fixture
def model(folder: Path) -> dmrank.Model:
    return dmrank.load(folder / "hotels.dmrank")


@pytest.fixture
def ask(folder: Path, monkeypatch):
    """Run the command within this process: starting one for each test takes a while."""
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["recommend", "hotels.dmrank", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.stdout

    return call


def test_a_list_is_a_readable_table(ask, model) -> None:
    shown = ask("--user", "u000012", "--by", "service", "--by", "value=2", "-n", "4")
    expected = model.recommend("u000012", n=4, by={"service": 1, "value": 2})
    assert "u000012, by service, value=2" in shown
    for row in expected.iter_rows(named=True):
        assert f"{row['item']}   {row['score']:.3f}   {row['item_name']}" in shown


def test_json_and_csv_are_for_machines(ask, model) -> None:
    arguments = ["--user", "u000012", "--user", "u000003", "--by", "all", "--aspects", "-n", "3"]
    expected = model.recommend(["u000012", "u000003"], n=3, by="all", aspects=True)
    assert json.loads(ask(*arguments, "--format", "json")) == expected.to_dicts()
    assert ask(*arguments, "--format", "csv") == expected.write_csv()


def test_filters_and_unknown_users_are_options(ask, model, folder: Path) -> None:
    items = model.recommend("u000012", n=6)["item"].to_list()
    (folder / "allow.txt").write_text("\n".join(items))
    (folder / "block.txt").write_text("\n".join(items[:2]))
    filters = ["--allow", "allow.txt", "--block", "block.txt", "--format", "csv"]
    shown = ask("--user", "u000012", *filters)
    assert [line.split(",")[2] for line in shown.splitlines()[1:]] == items[2:]
    popular = ask("--user", "nobody", "--on-unknown", "popular", "-n", "1", "--format", "csv")
    assert popular.splitlines()[1].endswith("false")
    everything = ask("--user", "u000012", "--include-seen", "-n", "9999", "--format", "csv")
    assert len(everything.splitlines()) == 1 + model.catalogue.rated_items.sum()


def test_no_item_left_is_said(ask, folder: Path, model) -> None:
    (folder / "all.txt").write_text("\n".join(model.catalogue.items))
    assert "leave no item" in ask("--user", "u000012", "--block", "all.txt")


@pytest.mark.parametrize("name", ["users.txt", "users.csv"])
@pytest.mark.parametrize("out", ["lists.parquet", "lists.csv", "lists.jsonl", "lists.tsv.gz"])
def test_users_of_a_file_go_to_a_file(ask, model, tmp_path: Path, name: str, out: str) -> None:
    ask("--users", name, "--out", str(tmp_path / out), "-n", "4", "--by", "value")
    users = ["u000012", "u000003"] if name == "users.txt" else ["u000003", "u000012"]
    read = {
        ".parquet": pl.read_parquet,
        ".csv": pl.read_csv,
        ".jsonl": pl.read_ndjson,
        ".gz": lambda path: pl.read_csv(path, separator="\t"),
    }[(tmp_path / out).suffix]
    expected = model.recommend(users, n=4, by="value")
    found = read(tmp_path / out)
    assert found.drop("score").equals(expected.drop("score").cast(found.drop("score").schema))
    assert [path.name for path in tmp_path.iterdir()] == [out]


def test_all_users_are_written_in_blocks(ask, model, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.cli.list_file._USERS_AT_ONCE", 300)
    ask("--all-users", "--out", str(tmp_path / "lists.parquet"), "-n", "2")
    expected = model.recommend(list(model.catalogue.users), n=2)
    assert pl.read_parquet(tmp_path / "lists.parquet").equals(expected)


def test_csv_of_all_users_is_printed_in_blocks(ask, model, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.cli.recommend._MOST_PRINTED", 300)
    expected = model.recommend(list(model.catalogue.users), n=2)
    assert ask("--all-users", "--format", "csv", "-n", "2") == expected.write_csv()


#: Ten users at a time, and a word on standard error for every block that is ranked.
COUNTING = """
import sys
from dmrank import cli, models
from dmrank.cli import main, recommend

def counted(*given, blocks=models.Model.recommend_blocks, **options):
    for block in blocks(*given, **options):
        print("ranked", file=sys.stderr)
        yield block

models.Model.recommend_blocks = counted
sys.modules["dmrank.cli.recommend"]._MOST_PRINTED = 10
main()
"""


def test_a_reader_gets_the_first_rows_and_may_leave(folder: Path) -> None:
    """As in `dmrank recommend … --format csv | head`: nothing is said, and that is no failure."""
    process = subprocess.Popen(
        [sys.executable, "-c", COUNTING, "recommend", "hotels.dmrank", "--all-users", "--format",
         "csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "user,rank,item,score,item_name\n"
    process.stdout.close()
    said = process.stderr.read().splitlines()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    # A pipe holds 64 kB, some twenty blocks of the two hundred.
    assert said == ["ranked"] * len(said)
    assert len(said) < 100


def test_a_failure_on_the_way_leaves_nothing_behind(ask, tmp_path: Path, monkeypatch) -> None:
    def fail(model, users, n, users_per_block, **options):
        yield model.recommend(users, n, **options)
        raise DmrankError("half way")

    monkeypatch.setattr("dmrank.models.base.Model.recommend_blocks", fail)
    with pytest.raises(DmrankError, match="half way"):
        ask("--users", "users.txt", "--out", str(tmp_path / "lists.parquet"))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def hurdle(folder: Path) -> Path:
    ratings = dmrank.make_ratings(300, 60, 6_000, seed=1).ratings
    return dmrank.Hurdle().fit(ratings).save(folder / "hurdle.dmrank")


def test_a_list_of_a_hurdle_has_the_share_of_preference_asked_for(hurdle: Path) -> None:
    model = dmrank.load(hurdle)
    lists = []
    for share in (0.0, 1.0):
        options = ["--preference", str(share), "--by", "service", "-n", "5", "--format", "csv"]
        result = CliRunner().invoke(app, ["recommend", str(hurdle), "--user", "u000003", *options])
        expected = model.recommend("u000003", n=5, by="service", preference=share)
        assert result.stdout == expected.write_csv()
        lists.append(expected["item"].to_list())
    assert lists[0] != lists[1]


@pytest.mark.parametrize(
    ("file", "share", "reason"),
    [
        ("hurdle.dmrank", "1.5", "--preference 1.5: give a number from 0"),
        ("hotels.dmrank", "0.5", "fit a Hurdle"),
    ],
)
def test_a_share_that_cannot_be_is_one_line_and_exit_code_2(
    hurdle: Path, file: str, share: str, reason: str
) -> None:
    arguments = ["--user", "u000003", "--preference", share]
    result = run("recommend", file, *arguments, cwd=hurdle.parent)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert reason in result.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "one of --user, --users FILE and --all-users"),
        (["--user", "u000012", "--all-users"], "one of --user, --users FILE and --all-users"),
        (["--user", "u00012"], "user 'u00012' is not in the ratings; did you mean"),
        (["--users", "none.txt"], "none.txt cannot be read"),
        (["--users", "empty.txt"], "empty.txt names no user"),
        (["--users", "guests.csv"], "no column 'user'"),
        (
            ["--all-users"],
            "too many for --format table: print them with --format csv",
        ),
        (["--user", "u000012", "--by", "servise"], "did you mean 'service'"),
        (["--user", "u000012", "--by", "value=much"], "is not ASPECT or ASPECT=WEIGHT"),
        (["--user", "u000012", "--by", "value=1", "--by", "value"], "names 'value' twice"),
        (["--user", "u000012", "--by", "value=-1"], "a number from 0 to"),
        (["--user", "u000012", "-n", "0"], "at least one item"),
        (["--user", "u000012", "--allow", "users.txt"], "item 'u000012' is not in the ratings"),
        (["--user", "u000012", "--out", "lists.doc"], "cannot tell the format"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_a_typed_error(ask, arguments: list[str], reason: str) -> None:
    with pytest.raises(DmrankError, match=reason):
        ask(*arguments)


def test_a_mistake_is_one_line_and_exit_code_2(folder: Path) -> None:
    result = run("recommend", "none.dmrank", "--user", "u000012", cwd=folder)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "none.dmrank" in result.stderr


def test_ids_that_are_whole_numbers_are_asked_for_by_text_and_answered_as_numbers(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ratings = Ratings.from_arrays([12, 12, 7], [1, 2, 1], [5, 1, 4], aspects=["r"])
    ItemMean().fit(ratings).save("numbers.dmrank")
    options = ["--user", "12", "--include-seen", "--format", "json"]
    shown = CliRunner().invoke(app, ["recommend", "numbers.dmrank", *options]).stdout
    assert [(row["user"], row["item"]) for row in json.loads(shown)] == [(12, 1), (12, 2)]
    everybody = ["--all-users", "--include-seen", "--out", "lists.parquet"]
    assert CliRunner().invoke(app, ["recommend", "numbers.dmrank", *everybody]).exit_code == 0
    assert pl.read_parquet("lists.parquet")["user"].to_list() == [12, 12, 7, 7]
    options = ["1", "2", "--user", "12", "--format", "json"]
    shown = CliRunner().invoke(app, ["compare", "numbers.dmrank", *options]).stdout
    compared = json.loads(shown)
    assert (compared["user"], compared["first"], compared["aspects"][0]["better"]) == (12, 1, 1)
