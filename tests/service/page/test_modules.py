"""The modules that need no browser, under Node."""

import subprocess
from pathlib import Path

import pytest

TESTS = sorted((Path(__file__).parent / "modules").glob("*.test.mjs"))


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.name)
def test_module(file: Path, node: str) -> None:
    run = subprocess.run([node, "--test", file], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# pass 0" not in run.stdout
