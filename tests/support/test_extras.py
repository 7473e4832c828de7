"""Without an extra, what needs none of it works, and what needs it says in one line which."""

import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import dmrank
from dmrank import MissingExtraError, Popularity, Ratings, make_ratings
from dmrank.experiments import run_paper
from dmrank.support import extras, plots
from dmrank.text.english import english

EXTRAS = {"matplotlib": "plots", "optuna": "tune", "torch": "neural", "vaderSentiment": "text"}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(60, 30, 1_200, seed=1).ratings


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that no extra is installed; SciPy looks for PyTorch itself."""
    for module in EXTRAS.keys() - {"torch"}:
        monkeypatch.setitem(sys.modules, module, None)
    english.cache_clear()


#: Runs the command line where no package of an extra can be found.
BARE = f"""
import sys
from importlib.machinery import PathFinder

class Bare(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name in {tuple(EXTRAS)} else super().find_spec(name, path, target)

sys.meta_path = [Bare if finder is PathFinder else finder for finder in sys.meta_path]
from dmrank.cli import main
main()
"""


def _run_bare(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BARE, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )


def test_every_extra_is_declared_and_brings_what_is_looked_for() -> None:
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    needed = declared["project"]["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert extras._PACKAGES[module].extra == extra
        assert any(line.startswith(module) for line in needed[extra])
        assert not any(line.startswith(module) for line in declared["project"]["dependencies"])
        assert extra in needed["all"][0]


def test_a_service_that_loads_and_ranks_needs_no_extra(ratings: Ratings, tmp_path: Path) -> None:
    ratings.write(tmp_path / "ratings.csv")
    user, first, second = ratings.users[0], ratings.items[0], ratings.items[1]
    for words in (
        ["stats", "ratings.csv"],
        ["fit", "ratings.csv", "--model", "mixedeffects", "--out", "m.dmrank"],
        ["recommend", "m.dmrank", "--user", user],
        ["compare", "m.dmrank", "--user", user, first, second],
        ["explain", "m.dmrank", "--user", user, "--item", first],
    ):
        done = _run_bare(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("demo", "a figure needs matplotlib, which is not installed: pip install 'dmrank[plots]'"),
        ("stats r.csv --figure r.png", "pip install 'dmrank[plots]'"),
        ("compare m.dmrank --user u --figure r.png a b", "pip install 'dmrank[plots]'"),
        ("explain m.dmrank --user u --item a --figure r.png", "pip install 'dmrank[plots]'"),
        ("tune ease --train r.csv --validation r.csv", "tuning needs Optuna"),
        ("paper --ratings r.csv --out results", "pip install 'dmrank[plots]'"),
        ("extract r.csv --overall stars --out o.csv", "pip install 'dmrank[text]'"),
        ("fit r.csv --model exsae --out m.dmrank", "pip install 'dmrank[neural]'"),
    ],
)
def test_the_command_line_names_the_extra_before_it_does_anything(
    tmp_path: Path, words: str, reason: str
) -> None:
    table = pl.DataFrame({"user": ["u"], "item": ["a"], "stars": [4], "text": ["A great room."]})
    table.write_csv(tmp_path / "r.csv")
    done = _run_bare(*words.split(), cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("dmrank: ")
    assert reason in line
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def test_python_names_the_extra_as_well(bare: None, ratings: Ratings, tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"^tuning needs Optuna.*dmrank\[tune\]'$"):
        dmrank.tune("EASE", ratings.split())
    with pytest.raises(MissingExtraError, match=r"^a figure needs .*dmrank\[plots\]'$"):
        Popularity().fit(ratings).plot_profile(ratings.users[0], ratings.items[0])
    with pytest.raises(MissingExtraError, match=r"^reading reviews needs .*dmrank\[text\]'$"):
        dmrank.extract_aspects(pl.DataFrame({"user": ["u"], "item": ["a"], "text": ["Great."]}))
    with pytest.raises(MissingExtraError, match=r"dmrank\[plots\]'$"):
        run_paper(ratings, tmp_path / "results", models=["Popularity"])
    assert not (tmp_path / "results").exists()


def test_models_that_are_not_tuned_can_be_compared_without_optuna(
    monkeypatch: pytest.MonkeyPatch, ratings: Ratings, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert run_paper(ratings, tmp_path / "results", models=["Popularity"], budget="quick").exists()
    with pytest.raises(MissingExtraError, match=r"dmrank\[tune\]'$"):
        run_paper(ratings, tmp_path / "more", models=["EASE"], budget="quick")


def test_it_is_caught_like_any_failed_import(bare: None) -> None:
    with pytest.raises(ImportError), plots.figure(1, 1):
        pass
