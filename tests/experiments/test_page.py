"""Tables and the report as a page."""

import polars as pl

from dmrank.experiments.exhibit import Exhibit, as_text, with_best_bold
from dmrank.experiments.page import Section, make_page, to_html, to_markdown


def test_the_best_value_is_bold_and_a_missing_one_a_dash() -> None:
    table = pl.DataFrame({"model": ["a", "b", "c"], "error": [0.5, 0.25, None]})
    assert with_best_bold(table, "error", 2, low=True).to_list() == ["0.50", "**0.25**", "–"]
    assert with_best_bold(table, "error", 2).to_list() == ["**0.50**", "0.25", "–"]


def test_a_nan_is_never_the_best() -> None:
    table = pl.DataFrame({"value": [float("nan"), 0.1]})
    assert with_best_bold(table, "value", 1).to_list() == ["–", "**0.1**"]


def test_markdown_has_a_line_per_row() -> None:
    table = as_text(pl.DataFrame({"model": ["a", "b"], "users": [1_000, 2]}))
    assert to_markdown(table).splitlines() == [
        "| model | users |",
        "|---|---:|",
        "| a | 1,000 |",
        "| b | 2 |",
    ]


def test_names_from_the_data_cannot_break_the_page() -> None:
    table = pl.DataFrame({"<script>": ["a & b **0.1**"]})
    written = to_html(table)
    assert "<script>" not in written
    assert "a &amp; b <b>0.1</b>" in written


def test_the_page_needs_no_other_file_but_those_it_links_to() -> None:
    exhibit = Exhibit("table-1", "Sizes", "A note.", pl.DataFrame({"a": [1]}), None)
    section = Section(exhibit, ["tables/table-1.csv"], None)
    page = make_page("Title", "Summary", [section], {"k": "v"})
    assert "src=" not in page
    assert "stylesheet" not in page
    assert 'href="tables/table-1.csv"' in page
    assert 'id="table-1"' in page
