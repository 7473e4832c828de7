"""What pages quote of a result is what the page says that a script wrote."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

RESULTS = ROOT / "docs" / "results"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
NUMBER = re.compile(r"(?<![\d.])0?(\.\d{3,4})\b")


def _rows(path: Path, after: str) -> dict[str, list[str]]:
    """Return the rows of the first table after some words, by their first cell, without bold."""
    table = []
    for line in path.read_text("utf-8").split(after, 1)[1].splitlines():
        if line.startswith("|"):
            table.append([cell.strip().replace("**", "") for cell in line.strip("|").split("|")])
        elif table:
            break
    head, _, *rows = table
    return {"": head[1:], **{row[0]: row[1:] for row in rows}}


def _column(rows: dict[str, list[str]], name: str) -> dict[str, str]:
    place = rows[""].index(name)
    return {row: cells[place] for row, cells in rows.items() if row}


def _same(quoted: str, result: str) -> bool:
    """Return whether a quoted number is a result, as far as it has digits."""
    digits = len(quoted.partition(".")[2])
    return abs(float(quoted) - float(result)) <= 0.5 * 10**-digits + 1e-9


def test_the_readme_quotes_the_peers_as_they_were_measured() -> None:
    measured = _rows(
        ROOT / "docs" / "benchmarks.md", "## Quality, beside implicit, Cornac, RecTools and LensKit"
    )
    quoted = _rows(ROOT / "README.md", "## Why not what you use today")
    columns = {
        "NDCG@10": "NDCG@10",
        "NDCG@50": "NDCG@50",
        "pairs": "rated pairs",
        "contrasts": "contrast",
    }
    compared = 0
    for name in quoted:
        row = re.sub(r",.*", "", name)
        for shown, column in columns.items():
            value = _column(quoted, shown).get(name, "–")
            if name and value != "–":
                assert _same(value, _column(measured, column)[row]), (name, shown)
                compared += 1
    assert compared == 25


def test_which_model_quotes_the_table_of_models() -> None:
    measured = _rows(ROOT / "docs" / "models.md", "## What the defaults give")
    quoted = _rows(ROOT / "docs" / "start" / "which-model.md", "poor at the other")
    for column in ("NDCG@10", "rated pairs"):
        for model, value in _column(quoted, column).items():
            assert value == _column(measured, column)[model]


#: What a row of the table in short says, and of which models; NDCG@10 by overall.
IN_SHORT = {
    "DMR with every parameter as in the paper": ["DMR-paper"],
    "NeuralDMR: the same criterion, networks": ["NeuralDMR"],
    "EASE · iALS": ["EASE", "iALS"],
    "Blend · Hurdle": ["Blend", "Hurdle"],
}


@pytest.mark.parametrize("place", range(3), ids=FILES)
def test_the_results_in_short_are_those_of_the_pages(place: int) -> None:
    measured = _column(_rows(RESULTS / f"{FILES[place]}.md", "## Table 2\n"), "NDCG@10 overall")
    short = _rows(RESULTS / "README.md", "## In short")
    for row, models in IN_SHORT.items():
        for quoted, model in zip(NUMBER.findall(short[row][place]), models, strict=True):
            assert _same(quoted, measured[model]), (row, model)
    for model, quoted in re.findall(
        r"([\w-]+) (\.\d{4})", short["best of the paper's models"][place]
    ):
        assert _same(quoted, measured[model]), model


def test_the_landing_page_shows_what_the_readme_shows() -> None:
    first = re.search(r"```text\n.*?```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert first is not None
    assert first[0] in (ROOT / "docs" / "index.md").read_text("utf-8")
