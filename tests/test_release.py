"""What a release is made of: workflows, citation, recipe, and the script that checks it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from release import check

from dmrank.support.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_every_step_of_a_workflow_is_a_target_that_there_is(workflow: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for step in _steps(workflow):
        if "run" in step:
            program, target, *_ = step["run"].split()
            assert program == "make"
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), step["run"]
        else:
            assert "@" in step["uses"]


def _validated(schema: str, *files: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_workflows_are_what_the_host_takes() -> None:
    assert len(WORKFLOWS) == 3
    _validated("vendor.github-workflows", *WORKFLOWS)


def test_workflows_test_every_python_that_is_promised_on_three_systems() -> None:
    matrix = yaml.safe_load((WORKFLOWS[-1]).read_text("utf-8"))["jobs"]["test"]["strategy"][
        "matrix"
    ]
    promised = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert matrix["python"] == promised
    assert len(matrix["os"]) == 3


def test_the_citation_is_what_its_format_says() -> None:
    _validated("vendor.citation-file-format", ROOT / "CITATION.cff")


def test_the_recipe_needs_what_the_project_needs() -> None:
    recipe = yaml.safe_load((ROOT / "release" / "conda" / "recipe.yaml").read_text("utf-8"))
    needed = [line.replace(" ", "") for line in recipe["requirements"]["run"][1:]]
    assert needed == PROJECT["dependencies"]
    assert recipe["build"]["noarch"] == "python"
    assert recipe["context"]["version"] == __version__
    assert PROJECT["requires-python"] == f">={recipe['context']['python_min']}"


def test_this_version_can_be_released() -> None:
    assert check.check_version() == __version__
    assert check.check_changelog(__version__)
    assert check.check_golden(__version__)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files that the first checks read."""
    names = ["pyproject.toml", "CHANGELOG.md", "src/dmrank/support/version.py", *check.NAMED_IN]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(check, "ROOT", tmp_path)
    return tmp_path


def _change(file: Path, before: str, after: str) -> None:
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")


@pytest.mark.parametrize("file", check.NAMED_IN)
def test_a_version_that_is_named_wrong_is_noticed(project: Path, file: str) -> None:
    _change(project / file, __version__, "9.9.9")
    with pytest.raises(check.NotReadyError, match=re.escape(f"{file} names ['9.9.9']")):
        check.check_version()


def test_a_changelog_that_is_not_closed_is_noticed(project: Path) -> None:
    _change(project / "CHANGELOG.md", f"## [{__version__}] - ", "## soon - ")
    with pytest.raises(check.NotReadyError, match="has no section"):
        check.check_changelog(__version__)


def test_a_version_without_a_word_about_it_is_noticed(project: Path) -> None:
    (project / "CHANGELOG.md").write_text(
        f"## [{__version__}] - 2026-01-01\n\n## [0.0.1] - 2025-01-01\n- x\n"
    )
    with pytest.raises(check.NotReadyError, match="says nothing about"):
        check.check_changelog(__version__)


def test_a_date_to_come_is_noticed(project: Path) -> None:
    (project / "CHANGELOG.md").write_text(f"## [{__version__}] - 2999-01-01\n\n- x\n")
    with pytest.raises(check.NotReadyError, match="which is to come"):
        check.check_changelog(__version__)


def test_a_version_without_golden_files_is_noticed(project: Path) -> None:
    with pytest.raises(check.NotReadyError, match="make golden"):
        check.check_golden(__version__)


def test_builds_that_differ_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "build", lambda folder: {"a.whl": folder.name})
    with pytest.raises(check.NotReadyError, match="two builds differ"):
        check.check_builds(tmp_path)
