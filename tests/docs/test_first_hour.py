"""The wheel, installed into an empty environment, runs the README as it stands.

`make first-hour` says where the wheel is; installing takes too long for every run of the suite.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

WHEEL = os.environ.get("DMRANK_WHEEL")


pytestmark = pytest.mark.skipif(
    WHEEL is None, reason="make first-hour builds the wheel that this installs"
)


def test_the_page_of_a_package_index_shows_no_picture_or_link_that_it_lacks() -> None:
    with zipfile.ZipFile(WHEEL or "") as wheel:
        (metadata,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        page = wheel.read(metadata).decode()
    assert "# dmrank" in page
    assert re.findall(r"\]\((?!https://)[^)]*", page) == []


def test_the_readme_runs_from_the_wheel(tmp_path: Path) -> None:
    python = os.environ.get("DMRANK_PYTHON", sys.executable)
    subprocess.run([python, "-m", "venv", tmp_path / "new"], check=True)
    bin_ = tmp_path / "new" / "bin"
    constraints = ["--constraint", ROOT / "constraints.txt"]
    wheel = f"{Path(WHEEL or '').absolute()}[plots,text]"
    subprocess.run([bin_ / "pip", "install", "--quiet", *constraints, wheel], check=True)
    (tmp_path / "folder").mkdir()
    done = subprocess.run(
        [bin_ / "python", ROOT / "tests" / "docs" / "pages.py", "README.md", tmp_path / "folder"],
        env={**os.environ, "PYTHONPATH": "", "PATH": f"{bin_}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "new") in done.stdout.splitlines()[-1]
