"""A cell that fails ends the build of the site, and is named by its file and line.

Needs the extra docs: `make docs` has it, and runs this.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

pytest.importorskip("myst_nb", reason="needs the extra docs")

HEAD = "kernelspec:\n  name: python3\n  display_name: Python 3\n"
PAGE = f"""---
file_format: mystnb
{HEAD}---

# A page

```{{code-cell}} ipython3
def divide(a, b):
    return a / b
```

Hidden, and wrong:

```{{code-cell}} ipython3
:tags: [remove-output]
one = 1
divide(one, 0)
```

```{{toctree}}
tutorial
```
"""
COMMENT = "".join(f"#   {line}\n" for line in HEAD.splitlines())
TUTORIAL = f"""# ---
# jupyter:
{COMMENT}# ---

# %% [markdown]
# # A tutorial

# %%
print("so far, so good")

# %%
right = 1
assert right == 2, "no"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A site of two pages, made as ours is."""
    folder = tmp_path / "docs"
    folder.mkdir()
    ours = (ROOT / "docs" / "conf.py").read_text("utf-8")
    # Looks and search have files of their own.
    plain = re.sub(r"(?m)^html_(static_path|css_files|js_files|search_scorer) = .*\n", "", ours)
    extensions = f"Path({str(ROOT / 'docs' / '_ext')!r})"
    conf = plain.replace('Path(__file__).parent / "_ext"', extensions)
    (folder / "conf.py").write_text(conf, "utf-8")
    (folder / "tutorials").mkdir()
    (folder / "index.md").write_text(PAGE, "utf-8")
    (folder / "tutorial.py").write_text(TUTORIAL, "utf-8")
    return folder


def _build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build as `make docs` does."""
    target = next(
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "-m sphinx" in line
    )
    options = target.split(" -m sphinx ")[1].split()[:-2]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *options, folder, folder.parent / "site"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_cell_that_fails_stops_the_build_with_its_file_and_line(project: Path) -> None:
    done = _build(project)
    assert done.returncode != 0
    assert f"{project / 'index.md'}:20: WARNING: ZeroDivisionError" in done.stderr
    assert f"{project / 'tutorial.py'}:16: WARNING: AssertionError: no" in done.stderr


def test_a_build_in_which_nothing_fails_says_nothing(project: Path) -> None:
    (project / "index.md").write_text(PAGE.replace("(one, 0)", "(one, 1)"), "utf-8")
    (project / "tutorial.py").write_text(TUTORIAL.replace("== 2", "== 1"), "utf-8")
    done = _build(project)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
