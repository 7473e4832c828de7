"""`dmrank fit`: from a file of ratings to a model file."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dmrank
from dmrank import Ratings
from dmrank.cli.app import app
from dmrank.cli.prepare import write_split
from dmrank.models import MODELS
from tests.cli.running import run

QUICK = ["--model", "dmr", "--set", "iterations=200", "--set", "evaluate_every=100",
         "--set", "factors=4"]  # fmt: skip


def fit(*arguments: object) -> str:
    """Run the command within this process: starting ten more takes a while."""
    result = CliRunner().invoke(app, ["fit", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.fixture(scope="module")
def parts(tmp_path_factory, hotels: Ratings) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    write_split(hotels.split(), folder)
    return folder


def test_a_model_is_fitted_and_saved(parts: Path, tmp_path: Path) -> None:
    result = run(
        "fit", parts / "train.parquet", "--validation", parts / "validation.parquet", *QUICK,
        "--set", "margin=0.3", "--set", "family=student", "--out", tmp_path / "m.dmrank",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "best validation" in result.stderr
    model = dmrank.load(tmp_path / "m.dmrank")
    assert (model.config.margin, model.config.family) == (0.3, "student")
    assert len(model.recommend("u000012", by="value")) == 10


@pytest.mark.parametrize("name", MODELS)
def test_every_model_can_be_named(name: str, parts: Path, tmp_path: Path) -> None:
    fields = MODELS[name].Config.model_fields
    wanted = {"iterations": 4, "evaluate_every": 2}
    quick = [part for field, value in wanted.items() if field in fields
             for part in ("--set", f"{field}={value}")]  # fmt: skip
    train, held_out = parts / "train.parquet", parts / "validation.parquet"
    arguments = ["--model", name, "--validation", held_out, "--out", tmp_path / "m.dmrank"]
    fit(train, *arguments, *quick)
    model = dmrank.load(tmp_path / "m.dmrank")
    assert type(model) is MODELS[name]
    assert len(model.recommend("u000012")) == 10


def test_the_model_to_start_with_says_what_it_is_made_of(parts: Path, tmp_path: Path) -> None:
    """Without validation ratings it holds some out, and says what share of preference they bear."""
    said = fit(parts / "train.parquet", "--out", tmp_path / "m.dmrank")
    model = dmrank.load(tmp_path / "m.dmrank")
    assert isinstance(model, dmrank.Hurdle)
    assert "made of EASE, IALS, Cooccurrence, MixedEffects" in said
    assert f"lists are {model.preference:.0%} preference" in said
    assert "curve.values" in model.arrays


def test_parameters_of_members_are_set_by_dots_or_a_table(parts: Path, tmp_path: Path) -> None:
    config = tmp_path / "hurdle.toml"
    config.write_text(
        "preference = 0.4\nmixedeffects.iterations = 3\nials.iterations = 2\n"
        "[ease]\nregularization = 30\ndropout = 0.1\n"
    )
    said = fit(
        parts / "train.parquet", "--validation", parts / "validation.parquet",
        "--config", config, "--set", "ease.regularization=100", "--out", tmp_path / "m.dmrank",
    )  # fmt: skip
    model = dmrank.load(tmp_path / "m.dmrank")
    assert isinstance(model, dmrank.Hurdle)
    assert model.config.members["ease"] == {"regularization": 100, "dropout": 0.1}
    assert model.config.mixedeffects == {"iterations": 3}
    assert "lists are 40% preference" in said


def test_a_blend_says_its_members_and_has_no_preference(parts: Path, tmp_path: Path) -> None:
    said = fit(
        parts / "train.parquet", "--model", "blend", "--set", 'members=["EASE", "Popularity"]',
        "--out", tmp_path / "m.dmrank",
    )  # fmt: skip
    assert "made of EASE, Popularity" in said
    assert "preference" not in said


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("preference=2", "preference=2: it must be less than or equal to 1"),
        ("ease.regularisation=1", "there is no parameter 'regularisation'; did you mean"),
        ("eas.regularization=1", "there is no parameter 'eas.regularization'; did you mean"),
        ("ease=1", "there is no parameter 'ease'"),
        ('members=["EASEL"]', "there is no model 'easel'; did you mean 'ease'"),
    ],
)
def test_a_wrong_part_is_one_line_and_exit_code_2(
    parts: Path, tmp_path: Path, setting: str, reason: str
) -> None:
    result = run(
        "fit", parts / "train.parquet", "--set", setting, "--out", "m.dmrank", cwd=tmp_path
    )
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert reason in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_model_of_one_step_has_no_iterations_to_tell(parts: Path, tmp_path: Path) -> None:
    train, held_out = parts / "train.parquet", parts / "validation.parquet"
    arguments = ["--model", "ease", "--validation", held_out, "--out", tmp_path / "m.dmrank"]
    wrote = fit(train, *arguments).splitlines()[-1]
    assert "iteration" not in wrote
    assert "History" not in wrote
    assert re.search(r"m\.dmrank: EASE\(.*\), validation 0\.\d{4}$", wrote)


def test_seed_and_threads_are_options(parts: Path, tmp_path: Path) -> None:
    def fitted(*arguments: object) -> bytes:
        fit(parts / "train.parquet", *QUICK, *arguments, "--out", tmp_path / "m.dmrank")
        return (tmp_path / "m.dmrank").read_bytes()

    three = fitted("--seed", 3)
    model = dmrank.load(tmp_path / "m.dmrank")
    assert (model.config.seed, model.config.threads) == (3, None)
    assert fitted("--set", "seed=3") == three
    assert fitted("--seed", 4) != three
    fitted("--seed", 3, "--threads", 1)
    assert dmrank.load(tmp_path / "m.dmrank").config.threads == 1


def test_parameters_come_from_a_file_and_set_overrides_it(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "dmr.toml").write_text("margin = 0.4\niterations = 100\nregularization = 0.02\n")
    result = run(
        "fit", parts / "train.parquet", "--model", "dmr", "--config", "dmr.toml",
        "--set", "margin=0.1",
        "--out", "m.dmrank", cwd=tmp_path,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    config = dmrank.load(tmp_path / "m.dmrank").config
    assert (config.margin, config.iterations, config.regularization) == (0.1, 100, 0.02)


def test_a_finished_checkpoint_is_taken_up(parts: Path, tmp_path: Path) -> None:
    arguments = ["fit", parts / "train.parquet", *QUICK, "--checkpoint", "state", "--out"]
    run(*arguments, "one.dmrank", cwd=tmp_path)
    again = run(*arguments, "two.dmrank", cwd=tmp_path)
    assert "resumed at iteration 200" in again.stderr
    assert (tmp_path / "one.dmrank").read_bytes() == (tmp_path / "two.dmrank").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model", "dmrr"], "there is no model 'dmrr'; did you mean 'dmr'?"),
        (["--set", "margin"], "is not NAME=VALUE"),
        (["--set", "margin=-1"], "margin=-1: it must be greater than or equal to 0"),
        (["--set", "marign=1"], "did you mean 'margin'?"),
        (["--config", "none.toml"], "none.toml cannot be read"),
        (["--seed", "1", "--set", "seed=2"], "--seed and --set seed say the same"),
        (["--config", "bad.toml"], "is not a toml file"),
        (["--validation", "none.parquet"], "does not exist"),
        (["--out", "."], "is a directory"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(parts, tmp_path, arguments, reason) -> None:
    (tmp_path / "bad.toml").write_text("margin = = 1")
    out = [] if "--out" in arguments else ["--out", "m.dmrank"]
    result = run("fit", parts / "train.parquet", *QUICK, *arguments, *out, cwd=tmp_path)
    assert result.returncode == 2
    assert reason in result.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]
