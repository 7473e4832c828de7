"""What the library says of its parameters is said of options on the command line."""

from pathlib import Path

import pytest

from dmrank import ItemMean, make_ratings
from dmrank.cli.option_names import OptionName, in_options
from tests.cli.running import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names")
    ratings = make_ratings(80, 40, 1_600, seed=1).ratings
    ratings.write(folder / "r.csv")
    (folder / "words.csv").write_text("user,item,rating\nann,i,good\n")
    (folder / "reviews.csv").write_text("user,item,text\nann,i,3\n")
    ItemMean().fit(ratings).save(folder / "m.dmrank")
    return folder


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("recommend m.dmrank --user u000003 -n 0", "-n 0: ask for"),
        ("recommend m.dmrank --user u000003 --preference 1", "so that --preference says nothing"),
        ("prepare r.csv --split --by time --out o", "with --timestamp COLUMN"),
        ("stats r.csv --aspect name", "needs both --aspect and --rating:"),
        ("stats words.csv", "--aspects '' means implicit feedback"),
        ("stats words.csv --aspects rating", "with --aspects A,B,…"),
        ("extract reviews.csv --out e.csv", "with --text COLUMN"),
        ("fit r.csv --model ease --seed -1 --out o", "--seed -1: it must be"),
        ("fit r.csv --model ease --threads 0 --out o", "--threads 0: it must be"),
        ("paper --ratings r.csv --out o --seeds 0", "--seeds 0: train each model"),
    ],
)
def test_an_error_names_the_option(folder: Path, command: str, said: str) -> None:
    result = run(*command.split(), cwd=folder)
    assert result.returncode == 2
    assert said in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "message",
    ["/data/user=ann/r.csv: no such file", "'user=ann' is no user", "ease.user=1", "super_user=1"],
)
def test_data_and_parameters_of_members_stay_as_they_are(message: str) -> None:
    assert in_options(message, {"user": OptionName("--user", None)}) == message
