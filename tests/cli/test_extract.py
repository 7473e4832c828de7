"""From text to ratings on the command line."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import dmrank
from dmrank.cli.aspects import discover
from dmrank.cli.extract import RatingMapping, extract
from dmrank.cli.stopping import Stopped
from dmrank.support.workers import use_workers
from dmrank.text.parts import Parts
from tests.cli.running import run
from tests.text.corpus import make_reviews
from tests.training.counting_workers import CountingWorkers


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("reviews") / "reviews.csv"
    make_reviews(600).write_csv(path)
    return path


def test_extract_writes_ratings_that_other_commands_read(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "ratings.parquet"
    result = run("extract", file, "--overall", "stars", "--out", out)
    assert result.returncode == 0, result.stderr
    assert "learned the polarity of words from 600 reviews" in result.stderr
    assert "600 reviews, 0 with nothing to extract" in result.stderr
    ratings = dmrank.read_ratings(out, verbose=False)
    assert ratings == dmrank.extract_aspects(file, overall="stars", verbose=False)
    assert list(tmp_path.iterdir()) == [out]


def test_extract_shows_reviews_and_writes_a_page(file: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = run("extract", file, "--overall", "stars", "--show", 3, "--html", page)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("(given)") == 3
    assert "[rooms" in result.stdout
    assert "\x1b" not in result.stdout
    assert page.read_text(encoding="utf-8").count("<article>") == 3


def test_a_learned_polarity_is_kept_and_used_again(file: Path, tmp_path: Path, capsys) -> None:
    kept = tmp_path / "polarity"
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    _extract(file, first, save_polarity=kept)
    assert "learned the polarity of words from 200 reviews" in capsys.readouterr().err
    _extract(file, second, polarity=kept)
    assert "learned" not in capsys.readouterr().err.replace(str(second), "")
    assert first.read_bytes() == second.read_bytes()


def _extract(file: Path, out: Path | None, **changed: object) -> None:
    """Run the command within this process."""
    extract(file, out, **{"overall": "stars", "learn_from": 200, "threads": 1, **changed})


@pytest.mark.parametrize(
    ("out", "options", "said"),
    [
        (None, {}, "nothing to do: give --out"),
        ("r.xlsx", {}, "cannot tell the format"),
        ("r.csv", {"aspects": "hotel"}, "did you mean 'hotels'"),
        ("r.csv", {"text": "txt"}, "did you mean 'text'"),
        ("r.csv", {"overall": "star"}, "did you mean 'stars'"),
        ("r.csv", {"scale": ["rooms=1:5"]}, "write --scale LOW:HIGH"),
        ("r.csv", {"scale": ["1:3"]}, "row 1: 5 is outside the scale 1 to 3"),
        ("r.csv", {"polarity": Path("nowhere")}, "nowhere does not exist"),
    ],
)
def test_mistakes_are_one_line(
    file: Path, tmp_path: Path, out: str | None, options: dict, said: str
) -> None:
    target = None if out is None else tmp_path / out
    with pytest.raises(dmrank.DmrankError) as caught:
        _extract(file, target, **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "r.csv").exists()


def test_a_mistake_ends_with_code_2(file: Path) -> None:
    result = run("extract", file, "--show", 1, "--aspects", "hotel")
    assert result.returncode == 2
    assert result.stderr.startswith("dmrank: there is no lexicon 'hotel'")


@pytest.fixture
def interrupted(file: Path, tmp_path: Path, monkeypatch) -> Path:
    """A run that was stopped after two parts."""
    monkeypatch.setattr("dmrank.text.reviews.BLOCK", 50)
    monkeypatch.setattr("dmrank.text.file_extraction.PART", 100)
    write = Parts.add

    def stop_after_two(parts: Parts, *given: object) -> None:
        if parts.reviews >= 200:
            raise KeyboardInterrupt
        write(parts, *given)

    with monkeypatch.context() as context:
        context.setattr(Parts, "add", stop_after_two)
        with pytest.raises(Stopped, match="what is done is in .*r.csv.parts"):
            _extract(file, tmp_path / "r.csv")
    assert not (tmp_path / "r.csv").exists()
    return tmp_path / "r.csv"


def test_a_stopped_run_goes_on_and_ends_with_the_same_file(
    interrupted: Path, file: Path, tmp_path: Path, monkeypatch, capsys
) -> None:
    def learn_again(*_: object) -> None:
        raise AssertionError("the polarity of the first parts must be used")

    with monkeypatch.context() as context:
        context.setattr("dmrank.text.file_extraction.obtain_polarity", learn_again)
        _extract(file, interrupted)
    assert "going on after 200 reviews" in capsys.readouterr().err
    _extract(file, tmp_path / "whole.csv")
    assert interrupted.read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize("bytes_of_a_task", [1, 9_000, 1 << 30])
def test_reviews_that_are_sent_away_make_the_same_parts_and_file(
    bytes_of_a_task: int, file: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("dmrank.text.reviews.BLOCK", 50)
    monkeypatch.setattr("dmrank.text.extract._TASK", bytes_of_a_task)
    for module in ("extract", "file_extraction"):
        monkeypatch.setattr(f"dmrank.text.{module}.PART", 120)
    made: dict[str, list[tuple[int, int]]] = {"here": [], "there": []}
    add = Parts.add
    for where, workers in (
        ("here", None),
        ("there", CountingWorkers(tmp_path / "w", monkeypatch)),
    ):

        def noted(parts: Parts, frame: pl.DataFrame, found, own=made[where]) -> None:
            own.append((parts.reviews, found.reviews))
            add(parts, frame, found)

        monkeypatch.setattr(Parts, "add", noted)
        with use_workers(workers):
            _extract(file, tmp_path / f"{where}.parquet")
    assert made["there"] == made["here"]
    assert len(made["here"]) == 4
    here, there = (tmp_path / f"{where}.parquet" for where in made)
    assert there.read_bytes() == here.read_bytes()
    tasks = (1 << 60) - workers.tasks_left
    assert tasks == 4 if bytes_of_a_task > 1 << 20 else tasks > 4


@pytest.mark.parametrize(
    "changed", [{"mapping": RatingMapping.EFM}, {"aspects": "beer"}, {"fill": True}]
)
def test_a_stopped_run_is_not_mixed_with_other_settings(
    interrupted: Path, file: Path, changed: dict
) -> None:
    with pytest.raises(dmrank.ConfigError, match="has parts of another run"):
        _extract(file, interrupted, **changed)


def test_a_stopped_run_is_not_mixed_with_another_input(interrupted: Path, file: Path) -> None:
    make_reviews(601).write_csv(file)
    try:
        with pytest.raises(dmrank.ConfigError, match="its input is"):
            _extract(file, interrupted)
    finally:
        make_reviews(600).write_csv(file)


def test_a_killed_process_continues(tmp_path: Path) -> None:
    reviews, out, whole = (tmp_path / n for n in ("reviews.parquet", "r.parquet", "whole.parquet"))
    pl.concat([make_reviews(5_000)] * 18).write_parquet(reviews)
    arguments = [
        "extract",
        str(reviews),
        "--overall",
        "stars",
        "--learn-from",
        "200",
        "--out",
        str(out),
    ]
    main = "from dmrank.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", main, *arguments], stderr=subprocess.PIPE)
    while not list(tmp_path.glob("r.parquet.parts/part-*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert "going on after" in result.stderr
    _extract(reviews, whole)
    assert pl.read_parquet(out).equals(pl.read_parquet(whole))


def test_aspects_are_discovered_and_used(file: Path, tmp_path: Path) -> None:
    lexicon = tmp_path / "mine.toml"
    result = run("aspects", "discover", file, "--min-count", 50, "--out", lexicon)
    assert result.returncode == 0, result.stderr
    assert "This is a draft" in lexicon.read_text(encoding="utf-8")
    assert "breakfast" in result.stdout
    assert "breakfast" in run("aspects", "show", lexicon).stdout
    _extract(file, tmp_path / "r.csv", aspects=str(lexicon))
    assert len(dmrank.read_ratings(tmp_path / "r.csv", verbose=False).aspects) > 1


def test_the_lexicon_to_write_is_a_toml_file() -> None:
    with pytest.raises(dmrank.ConfigError, match="name a file that ends in .toml"):
        discover(Path("x.csv"), Path("lexicon.txt"))
