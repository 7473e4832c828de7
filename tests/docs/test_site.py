"""The built site: its links lead somewhere, its reference is whole, and a newcomer finds the way.

`make docs` builds the site and says where it is: that takes too long for every run of the suite.
"""

import importlib
import json
import os
import posixpath
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
import typer

import dmrank
from dmrank import Model
from dmrank.cli.app import app
from dmrank.experiments.tuning import search_space
from dmrank.models import MODELS, find_model
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


def _rows(html: str) -> dict[str, list[str]]:
    """Return the rows of all tables as text, by their first cell."""
    found = {}
    for row in re.findall(r"<tr\b.*?</tr>", html, re.DOTALL):
        cells = re.findall(r"<td\b.*?</td>", row, re.DOTALL)
        texts = [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in cells]
        if texts:
            found[texts[0]] = texts[1:]
    return found


@pytest.mark.parametrize("kind", MODELS.values(), ids=lambda kind: kind.__name__)
def test_every_parameter_has_its_default_and_where_tuning_looks(kind: type[Model]) -> None:
    text = (SITE / "reference" / "models.html").read_text("utf-8")
    _, begun, after = text.partition(f'<section id="{kind.__name__.lower()}">')
    assert begun
    rows = _rows(after.partition("<section id=")[0])
    searched = search_space(kind.Config)
    # A model that is made of others has what is searched of its members as well.
    assert list(rows) == list(dict.fromkeys([*kind.Config.model_fields, *searched]))
    for name, (default, _, looked_at, words) in rows.items():
        member, _, parameter = name.rpartition(".")
        config = find_model(member).Config if member else kind.Config
        assert default == repr(config.model_fields[parameter].default)
        assert words, f"{name} is not described"
        values = searched[name].values if name in searched else ()
        assert looked_at.removesuffix(" (log)") == ", ".join(map(str, values))
        assert looked_at.endswith(" (log)") == (name in searched and searched[name].log)


def test_every_command_is_in_the_reference() -> None:
    text = unescape((SITE / "reference" / "commands.html").read_text("utf-8"))
    names = list(_commands(typer.main.get_command(app)))
    assert {"fit", "fold-in", "keys new", "ratings export", "serve", "warm-up"} <= set(names)
    for name in names:
        # The end of its name: "dmrank keys" is at the head of "dmrank keys new" as well.
        assert re.search(rf"Usage: dmrank {name} (\[|[A-Z]|\n)", text), name


def _commands(command: Any, path: str = "") -> Iterator[str]:
    """Yield every command that does something, also those below a group."""
    for name, one in command.commands.items():
        if hasattr(one, "commands"):
            yield from _commands(one, f"{path}{name} ")
        else:
            yield f"{path}{name}"


@pytest.mark.parametrize("raw", ["ForwardRef", "&lt;factory&gt;", "~collections", "~numpy"])
def test_no_type_is_shown_as_sphinx_knows_it(raw: str, site: Site) -> None:
    assert [page for page in site.pages if raw in (SITE / page).read_text("utf-8")] == []


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
