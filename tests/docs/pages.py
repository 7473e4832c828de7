"""The snippets of a page, and a reader's folder to run them in.

Needs nothing but dmrank itself, so that it runs in an empty environment as well.
"""

import contextlib
import functools
import itertools
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import dmrank

ROOT = Path(__file__).parents[2]
#: Results are of other files than a reader has.
RESULTS = tuple(sorted((ROOT / "docs" / "results").glob("*.md")))
_WRITTEN = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path not in RESULTS]
PAGES = ("README.md", *(path.relative_to(ROOT).as_posix() for path in _WRITTEN))
#: What takes minutes, or does not end, is not run with the pages, but by tests of its own.
LONG = {"paper", "serve"}
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^    ((?:dmrank|make|python|python3) .*)$", re.MULTILINE)
#: What is typed into a shell, in pages and in the comments of tutorials.
_SHELL = re.compile(r"^(?:# )?```(?:sh|bash|console)\n(.*?)^(?:# )?```$", re.MULTILINE | re.DOTALL)
_WORDS = {5: "excellent", 4: "great", 3: "average", 2: "poor", 1: "terrible"}


class Snippet(NamedTuple):
    """Something that a page tells its reader to run."""

    page: str
    line: int
    code: str

    @property
    def is_python(self) -> bool:
        return "\n" in self.code

    @property
    def words(self) -> list[str]:
        """A command as its words, without what the shell does with its output."""
        words = shlex.split(self.code, comments=True)
        return list(itertools.takewhile(lambda word: word not in (">", "|"), words))

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def snippets(page: str) -> Iterator[Snippet]:
    """Yield the Python blocks and the indented commands of a page, in their order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = [*_BLOCK.finditer(text), *_COMMAND.finditer(text)]
    for match in sorted(found, key=re.Match.start):
        yield Snippet(page, text.count("\n", 0, match.start(1)) + 1, match[1])


def shell_lines(page: str) -> Iterator[Snippet]:
    """Yield the calls of dmrank and make in the blocks of a page that are typed into a shell.

    They are not run, for they name a reader's files; that their options exist is tested.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in _SHELL.finditer(text):
        first = text.count("\n", 0, block.start(1)) + 1
        for number, line in enumerate(block[1].splitlines(), first):
            for call in line.removeprefix("# ").split("&&"):
                code = call.strip().removeprefix(".venv/bin/")
                if code.startswith(("dmrank ", "make ")):
                    yield Snippet(page, number, code)


def is_run(snippet: Snippet) -> bool:
    """Return whether a snippet is run with its page."""
    if snippet.is_python:
        # `make peers` has the other libraries.
        return "from implicit" not in snippet.code or find_spec("implicit") is not None
    program, first, *_ = snippet.words
    return program == "dmrank" and first not in LONG and not first.startswith("-")


def make_folder(folder: Path) -> Path:
    """Write what the pages take for granted: reviews with ratings, stars and text."""
    table = dmrank.make_ratings(150, 40, 3_000, missing=0.1, seed=1).ratings.to_polars()
    texts = [_review(row) for row in table.iter_rows(named=True)]
    reviews = table.with_columns(stars="overall", text=pl.Series(texts))
    reviews.write_csv(folder / "reviews.csv")
    reviews.write_parquet(folder / "reviews.parquet")
    guests = ["u000012", "u000013"]
    pl.DataFrame({"user": guests}).write_csv(folder / "guests.csv")
    (folder / "guests.txt").write_text("\n".join(guests), encoding="utf-8")
    return folder


def _review(row: dict[str, object]) -> str:
    rated = {name: row[name] for name in ("service", "value", "rooms", "location")}
    said = [f"The {name} was {_WORDS[int(value)]}." for name, value in rated.items() if value]
    return " ".join(said) or "We stayed two nights."


def run_page(
    page: str, folder: Path, command: Callable[[list[str]], object], names: dict[str, Any]
) -> None:
    """Run the snippets of a page in a folder, each with what those before it left behind."""
    with contextlib.chdir(folder):
        for snippet in snippets(page):
            if not is_run(snippet):
                continue
            try:
                if snippet.is_python:
                    # The traceback of an error names the line of the page.
                    padded = "\n" * (snippet.line - 1) + snippet.code
                    exec(compile(padded, snippet.page, "exec"), names)
                else:
                    command(snippet.words)
            except Exception as error:
                error.add_note(f"in the snippet at {snippet}")
                raise


if __name__ == "__main__":
    page, place = sys.argv[1:]
    run_page(page, make_folder(Path(place)), functools.partial(subprocess.run, check=True), {})
    print(dmrank.__file__)
