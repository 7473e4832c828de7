"""The files of the page: few, small, and of this server alone."""

import gzip
import re
from importlib.resources import files

import pytest

PAGE = files("dmrank.service").joinpath("page")
FILES = {file.name: file.read_text(encoding="utf-8") for file in PAGE.iterdir()}
MOST_BYTES = 100_000


def test_the_page_is_at_most_100_kb_gzipped() -> None:
    sizes = {name: len(gzip.compress(text.encode())) for name, text in FILES.items()}
    assert sum(sizes.values()) <= MOST_BYTES, sizes


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".html")])
def test_html_has_neither_scripts_nor_styles_of_its_own(name: str) -> None:
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", FILES[name]) == []


@pytest.mark.parametrize("name", FILES)
def test_no_other_host_is_named(name: str) -> None:
    named = re.findall(r"https?://[^\s\"'`)]+", FILES[name])
    assert [url for url in named if url != "http://www.w3.org/2000/svg"] == []


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
def test_names_are_never_taken_for_html(name: str) -> None:
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", FILES[name]) == []


def test_what_a_file_asks_for_is_there() -> None:
    imported = [
        part
        for text in FILES.values()
        for part in re.findall(r"(?:from \"\./|\"/page/)([\w.]+)", text)
    ]
    assert len(imported) > 30
    assert set(imported) <= set(FILES)


def test_a_module_fits_in_the_head() -> None:
    assert {name for name, text in FILES.items() if len(text.splitlines()) > 400} == set()
