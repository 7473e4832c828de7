"""Completion by the shell, without a shell: what it would ask, and what it is told."""

import os

import pytest

from tests.cli.running import run


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dmrank recom", ["recommend"]),
        ("dmrank fit --val", ["--validation"]),
        ("dmrank fit --model it", ["itemmean"]),
        ("dmrank recommend m.dmrank --format c", ["csv"]),
        ("dmrank aspects ", ["discover", "show"]),
    ],
)
def test_names_of_commands_options_and_values_are_completed(line: str, offered: list[str]) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    result = run(env={**os.environ, **words, "_DMRANK_COMPLETE": "complete_bash"})
    assert result.stdout.split() == offered
    assert result.stderr == ""


def test_the_script_for_a_shell_can_be_installed(tmp_path) -> None:
    home = {**os.environ, "HOME": str(tmp_path), "SHELL": "/bin/bash",
            "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # fmt: skip
    result = run("--install-completion", "bash", env=home)
    assert result.returncode == 0, result.stderr
    scripts = [path.read_text() for path in tmp_path.rglob("*dmrank*") if path.is_file()]
    assert any("_DMRANK_COMPLETE=complete_bash" in script for script in scripts)
