"""What pages quote of a result is what the page says that a script wrote."""

import datetime as dt
import json
import os
import platform
import re
import tomllib
from pathlib import Path

import pytest
from benchmarks import record, results

from tests.docs.pages import ROOT

RESULTS = ROOT / "docs" / "results"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
NUMBER = re.compile(r"(?<![\d.])0?(\.\d{3,4})\b")
#: A model and its value; lines may end between them.
NAMED = re.compile(r"([\w-]+)\s+(\.\d{4})\b")
#: Rows below the models.
IMPROVEMENTS = {"improvement, models of the paper", "improvement, all models"}


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


def _without_version(name: str) -> str:
    return re.sub(r" [\d.]+$", "", name)


def test_the_readme_quotes_the_peers_as_they_were_measured() -> None:
    measured = _rows(
        ROOT / "docs" / "benchmarks.md", "## Quality, beside implicit, Cornac, RecTools and LensKit"
    )
    measured = {_without_version(name): cells for name, cells in measured.items()}
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


#: What a row of the table in short quotes: which table of a page, its column, and of which models.
IN_SHORT = {
    "DMR with every parameter as in the paper": ("Table 2", "NDCG@10 overall", ["DMR-paper"]),
    "NeuralDMR: the same criterion, networks": ("Table 2", "NDCG@10 overall", ["NeuralDMR"]),
    "EASE · iALS": ("Table 2", "NDCG@10 overall", ["EASE", "iALS"]),
    "Blend · Hurdle": ("Table 2", "NDCG@10 overall", ["Blend", "Hurdle"]),
    "rated pairs: DMR tuned for lists": ("Table 3", "rated, pooled", ["DMR"]),
    "rated pairs: item means · DMR-R": ("Table 3", "rated, pooled", ["ItemMean", "DMR-R"]),
    "rated pairs: MixedEffects and Hurdle": ("Table 3", "rated, pooled", ["MixedEffects"]),
    "contrast: DMR · M-BPR (one half is a coin)": ("Table 3", "contrast", ["DMR", "M-BPR"]),
    "contrast: NeuralDMR": ("Table 3", "contrast", ["NeuralDMR"]),
    "contrast: item means · MixedEffects and Hurdle": (
        "Table 3", "contrast", ["ItemMean", "MixedEffects"],
    ),
    "specific lift of lists by aspect, stars: DMR · NeuralDMR · Hurdle": (
        "Lists by aspect", "specific lift", ["DMR", "NeuralDMR", "Hurdle"],
    ),
}  # fmt: skip
BEST = "best of the paper's models"
OF_THE_PAPER = ["PTF", "EFM", "MTER", "M-BPR", "Ex-SAE", "SPS-MTL", "DMR-I", "DMR"]


def _measured(page: str, table: str, column: str) -> dict[str, str]:
    """Return a column of a page that `dmrank paper` wrote, without its intervals."""
    found = _column(_rows(RESULTS / f"{page}.md", f"## {table}\n"), column)
    return {model: cell.partition(" ")[0] for model, cell in found.items()}


def test_every_row_of_the_results_in_short_is_compared() -> None:
    assert {*_rows(RESULTS / "README.md", "## In short")} == {"", BEST, *IN_SHORT}


@pytest.mark.parametrize("place", range(3), ids=FILES)
def test_the_results_in_short_are_those_of_the_pages(place: int) -> None:
    short = _rows(RESULTS / "README.md", "## In short")
    for row, (table, column, models) in IN_SHORT.items():
        measured = _measured(FILES[place], table, column)
        for quoted, model in zip(NUMBER.findall(short[row][place]), models, strict=True):
            assert _same(quoted, measured[model]), (row, model)
        if row.endswith("MixedEffects and Hurdle"):
            quoted = NUMBER.findall(short[row][place])[-1]
            assert _same(quoted, measured["Hurdle"]), row


@pytest.mark.parametrize("place", range(3), ids=FILES)
def test_the_best_of_the_paper_are_the_best_of_the_paper(place: int) -> None:
    measured = _measured(FILES[place], "Table 2", "NDCG@10 overall")
    quoted = NAMED.findall(_rows(RESULTS / "README.md", "## In short")[BEST][place])
    assert len(quoted) >= 2
    for model, value in quoted:
        assert _same(value, measured[model]), model
    best = sorted(OF_THE_PAPER, key=lambda model: float(measured[model]), reverse=True)
    assert quoted[0][0] == best[0]


@pytest.mark.parametrize("place", range(3), ids=FILES)
def test_how_well_dmr_ranks_is_what_the_pages_say(place: int) -> None:
    quoted = _rows(ROOT / "docs" / "dmr.md", "## How well it ranks")
    del quoted[""]
    assert len(quoted) == 7
    for row, cells in quoted.items():
        model = row.partition(":")[0]
        lists = _measured(FILES[place], "Table 2", "NDCG@10 overall")[model]
        orders = _measured(FILES[place], "Table 3", "rated, pooled")[model]
        assert _same(cells[2 * place], lists), row
        assert _same(cells[2 * place + 1], orders), row


def test_the_words_on_extracted_ratings_are_those_of_their_page() -> None:
    text = (RESULTS / "README.md").read_text("utf-8").partition("## Ratings extracted from text")[2]
    lists = text.partition("- **Top-N.**")[2].partition("- **")[0]
    measured = _measured("tripadvisor-text", "Table 2", "NDCG@10 overall")
    quoted = NAMED.findall(lists.replace("popularity", "Popularity"))
    assert len(quoted) == 10
    for model, value in quoted:
        assert _same(value, measured[model]), model
    # Given in falling order: the first is the best of all.
    assert quoted[0][0] == max(measured.keys() - IMPROVEMENTS, key=lambda one: float(measured[one]))


def test_the_idea_of_a_hurdle_quotes_the_table_of_models() -> None:
    measured = _column(_rows(ROOT / "docs" / "models.md", "## What the defaults give"), "NDCG@10")
    text = (ROOT / "docs" / "ideas" / "hurdle.md").read_text("utf-8")
    alone, joined = NUMBER.findall(text.partition("Alone it makes poor lists")[2])
    assert _same(alone, measured["MixedEffects"])
    assert _same(joined, measured["Hurdle"])


QUOTES = list(record.quotes())


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: f"{quote.page.stem}-{quote.name}")
def test_a_table_of_a_page_is_that_of_the_record_that_a_script_wrote(quote: record.Quote) -> None:
    assert quote.table == record.table(record.read_record(quote.name), quote.columns), (
        "python -m benchmarks.record writes the tables of pages anew"
    )


#: What is beside the paper: page, table, column and models of the figures in their order.
ANY_PAIRS = [
    ("tripadvisor", ["DMR", "DMR-I"]), ("yahoo-movies", ["DMR", "DMR-I", "SPS-MTL"]),
    ("beeradvocate", ["DMR", "DMR-I", "M-BPR"]),
]  # fmt: skip
EXPLAINED = ["DMR-paper", "EFM", "DMR", "MTER", "Random"]


def test_what_is_beside_the_paper_is_what_the_pages_say() -> None:
    rows = _rows(RESULTS / "README.md", "## Beside the paper")
    (any_pairs,) = (cells[1] for row, cells in rows.items() if "`any` pairs" in row)
    measured = [
        _measured(page, "Table 3", "any, pooled")[model]
        for page, models in ANY_PAIRS
        for model in models
    ]
    (errors,) = (cells[1] for row, cells in rows.items() if row.startswith("Table 4"))
    table = _measured("tripadvisor", "Table 4", "missing as 0")
    measured += [table[model] for model in EXPLAINED]
    quoted = re.findall(r"\d?\.\d{3}", any_pairs + errors)
    for value, result in zip(quoted, measured, strict=True):
        assert _same(value, result)


#: Pages that `dmrank paper` made as a whole, and tables that other tests compare with their page.
OF_RUNS = {f"results/{name}.md" for name in results.TITLES}
COMPARED = {
    ("results/README.md", "## Beside the paper"),
    ("dmr.md", "## How well it ranks"),
    ("results/README.md", "## In short"),
    ("start/which-model.md", ""),
}
#: How memory grows, of two runs whose commands stand below; what is reckoned and not measured.
TYPED = {("cluster.md", "## What it takes"), ("cluster.md", "## What is on paper")}
FIGURE = re.compile(r"(?<![\d.])\d?\.\d{2,}|\d+ MB")
HEADING = re.compile(r"^## .*$", re.MULTILINE)


def _typed_tables() -> set[tuple[str, str]]:
    """Return page and heading of every table of figures that was not written by a script."""
    found = set()
    docs = ROOT / "docs"
    for page in docs.rglob("*.md"):
        text = record.without_quotes(page.read_text("utf-8"))
        for table in re.finditer(r"^\|.*\n(?:\|.*\n)+", text, re.MULTILINE):
            if len(FIGURE.findall(table[0])) >= 3:
                before = HEADING.findall(text[: table.start()])
                found.add((str(page.relative_to(docs)), before[-1] if before else ""))
    return {(page, heading) for page, heading in found if page not in OF_RUNS}


def test_no_table_of_figures_was_typed() -> None:
    assert _typed_tables() == COMPARED | TYPED


#: What the README says of speed: the record, one of its rows, and the column.
SPEED = {
    r"10 million rows ([\d.]+)× pandas": (
        "ratings", {"data": "synthetic csv, 10,000,000 rows", "part": "total"}, "ratio",
    ),
    r"training DMR ([\d.]+)× PyTorch": (
        "training", {"version": "dmrank, 2 threads"}, "beside PyTorch's best",
    ),
    r"a list ([\d.]+)× implicit": ("lists", {"what": "dmrank, arrays"}, "ratio"),
    r"an evaluated list ([\d.]+)× Cornac": ("evaluation", {"what": "a list"}, "ratio"),
}  # fmt: skip


@pytest.mark.parametrize("words", SPEED)
def test_the_readme_is_as_fast_as_its_records(words: str) -> None:
    name, of, column = SPEED[words]
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    quoted = re.search(words, text)
    assert quoted is not None
    (row,) = (row for row in record.read_record(name)["rows"] if of.items() <= row.items())
    assert _same(quoted[1], row[column].removesuffix("×"))


def test_every_record_is_quoted_and_says_how_it_was_made() -> None:
    names = {path.stem for path in record.RECORDS.glob("*.json")}
    assert names
    assert names == {quote.name for quote in QUOTES}
    for name in names:
        made = record.read_record(name)
        assert dt.date.fromisoformat(made["date"]) <= dt.datetime.now(dt.UTC).date()
        assert made["command"].startswith("python ")
        assert set(record.PACKAGES) <= made["versions"].keys()


def test_the_page_on_installing_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    (everything,) = extras["all"]
    promised = everything.removeprefix("dmrank[").removesuffix("]").split(",")
    named = _column(_rows(ROOT / "docs" / "start" / "install.md", "in a line:"), "brings")
    assert {extra.strip("`") for extra in named} == {*promised, "all"}
    assert all(brings for extra, brings in named.items() if extra != "`all`")


def test_the_landing_page_shows_what_the_readme_shows() -> None:
    first = re.search(r"```text\n.*?```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert first is not None
    assert first[0] in (ROOT / "docs" / "index.md").read_text("utf-8")


@pytest.mark.parametrize("name", results.TITLES)
def test_pages_of_runs_say_when_and_with_what_they_were_made(name: str) -> None:
    text = (RESULTS / f"{name}.md").read_text("utf-8")
    made = re.search(r"minutes\. Finished on ([\d-]+); Python 3[\d.]+, (.*)\.\n", text)
    assert made is not None
    assert dt.date.fromisoformat(made[1]) <= dt.datetime.now(dt.UTC).date()
    assert [package.split()[0] for package in made[2].split(", ")] == list(record.PACKAGES)


def test_a_run_that_becomes_a_page_says_when_and_with_what(tmp_path: Path) -> None:
    for folder in ("tables", "work"):
        (tmp_path / "run" / folder).mkdir(parents=True)
    settings = {
        "models": ["DMR"], "budget": {"trials": 2, "name": "quick"}, "seeds": 1, "data": "mine",
        "k-core": 5,
    }  # fmt: skip
    (tmp_path / "run" / "settings.json").write_text(json.dumps(settings), "utf-8")
    (tmp_path / "run" / "work" / "seconds.jsonl").write_text('["fit", 90]\n["fit", 30]\n', "utf-8")
    for name, day in (("table-1", 1), ("table-2", 3)):
        table = tmp_path / "run" / "tables" / f"{name}.md"
        table.write_text("| model |\n|---|\n", "utf-8")
        written = dt.datetime(2026, 5, day, 12, tzinfo=dt.UTC).timestamp()
        os.utime(table, (written, written))
    text = results.write_page(tmp_path / "run", tmp_path / "docs").read_text("utf-8")
    assert "dmrank paper --ratings mine.parquet --out run --budget quick\n" in text
    assert f"2 minutes. Finished on 2026-05-03; Python {platform.python_version()}, dmrank " in text
