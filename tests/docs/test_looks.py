"""The built site in a browser: axe-core on every page, search, and the figure that one can move.

`make docs-looks` says where the site is. The browser is Debian's Chromium, or what
DMRANK_CHROMIUM names; with DMRANK_PICTURES=FOLDER, every page is photographed as well.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmrank.directional import Gaussian, log_likelihood

SITE = Path(os.environ.get("DMRANK_SITE", "")).absolute()
PICTURES = os.environ.get("DMRANK_PICTURES")
CHROMIUM = os.environ.get("DMRANK_CHROMIUM") or shutil.which("chromium") or ""
pytestmark = [
    pytest.mark.skipif("DMRANK_SITE" not in os.environ, reason="make docs-looks says where it is"),
    pytest.mark.skipif(not CHROMIUM, reason="there is no chromium"),
]
#: Without a site there are none; elsewhere nothing is looked for.
PAGES = [
    path.relative_to(SITE).as_posix()
    for path in (sorted(SITE.rglob("*.html")) if "DMRANK_SITE" in os.environ else ())
]
WIDTHS = (360, 1_440)
#: What axe-core looks for: in the dark nothing but colours is other than in the light.
SCHEMES = {"light": {}, "dark": {"runOnly": ["color-contrast", "link-in-text-block"]}}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def tab() -> Iterator[Any]:
    """A tab of the browser."""
    api = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser.new_page()
        browser.close()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_read_by_everybody(page: str, tab: Any, address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab.goto(f"{address}/{page}")
    axe, faults = Axe(), []
    for width in WIDTHS:
        for scheme, options in SCHEMES.items():
            tab.set_viewport_size({"width": width, "height": 900})
            tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            _photograph(tab, page, f"{width}-{scheme}")
            wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                faults.append(f"{width} {scheme}: {wide} px wider than the screen")
            found_here = axe.run(tab, options={"resultTypes": ["violations"], **options})
            for found in found_here.response["violations"]:
                places = [node["target"] for node in found["nodes"]][:3]
                count = len(found["nodes"])
                faults.append(f"{width} {scheme}: {found['id']}, {count} times, as at {places}")
    assert not faults, "\n".join(faults)


def _photograph(tab: Any, page: str, name: str) -> None:
    if PICTURES:
        file = Path(PICTURES) / f"{page.removesuffix('.html').replace('/', '-')}-{name}.png"
        tab.screenshot(path=file, full_page=True)


@pytest.mark.parametrize(
    ("width", "page", "pictures"),
    [(360, "architecture.html", 1), (360, "start/tour.html", 6), (1_440, "start/tour.html", 2)],
)
def test_a_picture_that_is_shown_small_opens_in_full(
    width: int, page: str, pictures: int, tab: Any, address: str
) -> None:
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(f"{address}/{page}")
    links = tab.locator("article a:has(> img)")
    assert links.count() == pictures
    if pictures:
        shown = links.first.locator("img").get_attribute("src").rpartition("/")[2]
        links.first.click()
        tab.wait_for_url(f"**/{shown}")


def test_search_finds_a_call(tab: Any, address: str) -> None:
    tab.goto(f"{address}/search.html?q=recommend_blocks")
    tab.wait_for_selector("ul.search li a")
    links = tab.eval_on_selector_all("ul.search li a", "all => all.map(one => one.href)")
    assert any("reference/model.html#dmrank.Model.recommend_blocks" in link for link in links)


#: What the sliders of the figure say.
Chosen = dict[str, float]


def _sliders(tab: Any) -> Chosen:
    return tab.eval_on_selector_all(
        "#criterion input", "all => Object.fromEntries(all.map(one => [one.name, +one.value]))"
    )


def _shown(tab: Any) -> float:
    return float(tab.get_attribute("#criterion .numbers", "data-logarithm"))


def _right(chosen: Chosen) -> float:
    """Return the logarithm of the integral that the sliders ask for."""
    turn, angle = np.radians(chosen["turn"]), np.radians(chosen["ray"])
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    spread, ratio = chosen["spread"] ** 2, chosen["ratio"]
    covariance = axes @ np.diag([spread * ratio, spread / ratio]) @ axes.T
    direction, mean = [np.cos(angle), np.sin(angle)], [chosen["meanX"], chosen["meanY"]]
    return float(log_likelihood(direction, mean, covariance, Gaussian(margin=chosen["margin"])))


@pytest.mark.parametrize(
    "moved",
    [
        {"meanX": 0.8, "meanY": 0.4, "ray": 17, "margin": 0.2, "turn": 30},
        {"meanX": -0.5, "meanY": 1.5, "ray": 120, "margin": 0.0, "turn": 30},
        {"meanX": 2, "meanY": 2, "ray": 30, "margin": 1, "ratio": 1},
        # So unlikely that the integral is 0 to a computer; its logarithm is not.
        {"meanX": -1.2, "meanY": -1.2, "ray": 45, "turn": 135, "ratio": 6, "spread": 0.2},
    ],
    ids=["near", "turned", "round", "far"],
)  # fmt: skip
def test_the_figure_that_one_can_move_is_right(moved: Chosen, tab: Any, address: str) -> None:
    tab.goto(f"{address}/ideas/criterion.html")
    for name, value in moved.items():
        tab.fill(f"#criterion input[name={name}]", str(value))
    chosen = _sliders(tab)
    assert chosen == pytest.approx(chosen | moved)
    assert _shown(tab) == pytest.approx(_right(chosen), rel=1e-6, abs=1e-5)


def test_the_mean_of_the_figure_can_be_dragged(tab: Any, address: str) -> None:
    tab.set_viewport_size({"width": 1_440, "height": 900})
    tab.goto(f"{address}/ideas/criterion.html")
    before, integral = _sliders(tab), _shown(tab)
    mean, figure = (tab.locator(f"#criterion {part}").bounding_box() for part in (".mean", "svg"))
    x, y = mean["x"] + mean["width"] / 2, mean["y"] + mean["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    # The figure is 4.2 wide: half of one to the left, and one up.
    unit = figure["width"] / 4.2
    tab.mouse.move(x - unit / 2, y - unit, steps=5)
    tab.mouse.up()
    after = _sliders(tab)
    assert after == pytest.approx(
        before | {"meanX": before["meanX"] - 0.5, "meanY": before["meanY"] + 1}, abs=0.051
    )
    assert _shown(tab) == pytest.approx(_right(after), abs=1e-5)
    assert _shown(tab) < integral - 0.5
    # Let go of, it stays where it is.
    tab.mouse.move(x, y)
    assert _sliders(tab) == after


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("newcomers without training", "how-to/newcomers.html"),
        ("which model", "start/which-model.html"),
        ("install", "start/install.html"),
        ("recommend", "reference/model.html#dmrank.Model.recommend"),
        ("dmrank serve", "reference/commands.html#dmrank-serve"),
    ],
)
def test_what_people_search_for_comes_first(words: str, page: str, tab: Any, address: str) -> None:
    """From the first page: type words, press Enter, look at the first result."""
    tab.goto(f"{address}/index.html")
    tab.fill(".sidebar-search", words)
    tab.press(".sidebar-search", "Enter")
    tab.wait_for_selector("ul.search li a")
    first = tab.eval_on_selector("ul.search li a", "one => one.href")
    assert first == f"{address}/{page}"
