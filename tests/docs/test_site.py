"""The built site: its links lead somewhere, its reference is whole, and a newcomer finds the way.

`make docs` builds the site and says where it is: that takes too long for every run of the suite.
"""

import importlib
import json
import os
import posixpath
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
import typer

import dmrank
from dmrank.cli.app import app
from dmrank.models import MODELS
from tests.docs.pages import PAGES, RESULTS, ROOT

SITE = Path(os.environ.get("DMRANK_SITE", "")).absolute()
pytestmark = pytest.mark.skipif(
    "DMRANK_SITE" not in os.environ, reason="make docs builds the site that this looks at"
)
MODULES = [
    "dmrank", "dmrank.datasets", "dmrank.directional", "dmrank.distributed", "dmrank.evaluation",
    "dmrank.experiments", "dmrank.metrics", "dmrank.models", "dmrank.text", "dmrank.torch",
]  # fmt: skip


class _Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        for name in ("href", "src"):
            if name in given:
                self.links.append(given[name])


class Site(NamedTuple):
    pages: dict[str, _Page]

    def targets(self, page: str) -> list[tuple[str, str]]:
        """Return the file and the anchor of every link inside the site."""
        found = []
        for link in self.pages[page].links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = posixpath.join(posixpath.dirname(page), unquote(parts.path))
            found.append(
                (posixpath.normpath(path) if parts.path else page, unquote(parts.fragment))
            )
        return found

    def clicks(self, page: str) -> set[str]:
        return {target for target, _ in self.targets(page) if target in self.pages}


@pytest.fixture(scope="module")
def site() -> Site:
    pages = {}
    for file in SITE.rglob("*.html"):
        parsed = _Page()
        parsed.feed(file.read_text("utf-8"))
        pages[file.relative_to(SITE).as_posix()] = parsed
    return Site(pages)


def test_every_link_inside_the_site_leads_somewhere(site: Site) -> None:
    broken = []
    for page in site.pages:
        for target, anchor in site.targets(page):
            if not (SITE / target).exists():
                broken.append(f"{page}: {target}")
            elif anchor and target in site.pages and anchor not in site.pages[target].anchors:
                broken.append(f"{page}: {target}#{anchor}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    """The site is read offline, and tells nobody who reads it."""
    elsewhere = []
    for page in site.pages:
        text = (SITE / page).read_text("utf-8")
        elsewhere += [(page, kind) for kind in ('src="http', "@import url(http") if kind in text]
    assert elsewhere == []


def test_every_page_that_is_written_is_on_the_site(site: Site) -> None:
    written = {
        Path(page).relative_to("docs").with_suffix(".html").as_posix()
        for page in (*PAGES, *(path.relative_to(ROOT).as_posix() for path in RESULTS))
        if page.startswith("docs/")
    }
    assert written <= site.pages.keys()


@pytest.mark.parametrize(
    "page", ["start/install.html", "start/which-model.html", "reference/model.html"]
)
def test_a_newcomer_is_there_within_two_clicks(site: Site, page: str) -> None:
    first = site.clicks("index.html")
    assert page in first | {two for one in first for two in site.clicks(one)}


def test_the_first_page_leads_to_the_reference_of_recommend(site: Site) -> None:
    assert ("reference/model.html", "dmrank.Model.recommend") in site.targets("index.html")


def test_every_public_name_is_in_the_reference(site: Site) -> None:
    anchors = {anchor for page in site.pages.values() for anchor in page.anchors}
    missing = []
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            thing = getattr(importlib.import_module(module), name)
            places = [
                f"{module}.{name}",
                f"dmrank.{name}",
                f"{getattr(thing, '__module__', '')}.{name}",
            ]
            if not (anchors & set(places) or _is_module(thing)):
                missing.append(f"{module}.{name}")
    assert missing == ["dmrank.__version__", "dmrank.models.MODELS"]


def _is_module(thing: object) -> bool:
    return type(thing).__name__ == "module"


def test_every_method_of_a_model_is_in_the_reference(site: Site) -> None:
    anchors = site.pages["reference/model.html"].anchors
    public = [name for name in vars(dmrank.Model) if not name.startswith("_")]
    assert {f"dmrank.Model.{name}" for name in public} - anchors == {
        "dmrank.Model.named", "dmrank.Model.registry", "dmrank.Model.settled",
    }  # fmt: skip


def test_every_parameter_of_every_model_is_in_the_reference() -> None:
    text = (SITE / "reference" / "models.html").read_text("utf-8")
    for kind in MODELS.values():
        assert f'id="{kind.__name__.lower()}"' in text
        for name in kind.Config.model_fields:
            assert f'<span class="pre">{name}</span>' in text


def test_every_command_is_in_the_reference() -> None:
    text = (SITE / "reference" / "commands.html").read_text("utf-8")
    for name in typer.main.get_command(app).commands:  # type: ignore[attr-defined]
        assert f"Usage: dmrank {name}" in text


def test_tutorials_ran_and_can_be_taken_away(site: Site) -> None:
    tutorials = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
    assert tutorials
    for file in tutorials:
        page = (SITE / "tutorials" / f"{file.stem}.html").read_text("utf-8")
        assert 'class="cell_output' in page
        assert (SITE / "files" / file.name).read_bytes() == file.read_bytes()
        notebook = json.loads((SITE / "files" / f"{file.stem}.ipynb").read_text("utf-8"))
        assert notebook["cells"]


def test_search_finds_pages_by_their_words() -> None:
    text = (SITE / "searchindex.js").read_text("utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    names = set()
    for part in ("terms", "titleterms"):
        found = index[part]["newcom"]
        places = found if isinstance(found, list) else [found]
        names |= {index["docnames"][place] for place in places}
    assert {"how-to/newcomers", "explaining"} <= names
