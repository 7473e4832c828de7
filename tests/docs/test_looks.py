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
SCHEMES = ("light", "dark")


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
    faults = []
    for width in WIDTHS:
        for scheme in SCHEMES:
            tab.set_viewport_size({"width": width, "height": 900})
            tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            _photograph(tab, page, f"{width}-{scheme}")
            wide = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                faults.append(f"{width} {scheme}: {wide} px wider than the screen")
            for found in Axe().run(tab).response["violations"]:
                places = [node["target"] for node in found["nodes"]][:3]
                count = len(found["nodes"])
                faults.append(f"{width} {scheme}: {found['id']}, {count} times, as at {places}")
    assert not faults, "\n".join(faults)


def _photograph(tab: Any, page: str, name: str) -> None:
    if PICTURES:
        file = Path(PICTURES) / f"{page.removesuffix('.html').replace('/', '-')}-{name}.png"
        tab.screenshot(path=file, full_page=True)


def test_search_finds_a_call(tab: Any, address: str) -> None:
    tab.goto(f"{address}/search.html?q=recommend_blocks")
    tab.wait_for_selector("ul.search li a")
    links = tab.eval_on_selector_all("ul.search li a", "all => all.map(one => one.href)")
    assert any("reference/model.html#dmrank.Model.recommend_blocks" in link for link in links)


@pytest.mark.parametrize(
    ("mean", "ray", "margin"), [((0.8, 0.4), 17, 0.2), ((-0.5, 1.5), 120, 0.0), ((2, 2), 30, 1)]
)
def test_the_figure_that_one_can_move_is_right(
    mean: tuple[float, float], ray: int, margin: float, tab: Any, address: str
) -> None:
    tab.goto(f"{address}/ideas/criterion.html")
    chosen = {"meanX": mean[0], "meanY": mean[1], "ray": ray, "margin": margin, "turn": 30}
    for name, value in chosen.items():
        tab.fill(f"#criterion input[name={name}]", str(value))
    shown = float(tab.get_attribute("#criterion .numbers", "data-logarithm"))
    # Its sliders say: the long axis at 30°, three times as long as the other, spread 0.7.
    turn, angle = np.radians(30), np.radians(ray)
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    covariance = axes @ np.diag([0.7**2 * 3, 0.7**2 / 3]) @ axes.T
    direction = [np.cos(angle), np.sin(angle)]
    right = log_likelihood(direction, mean, covariance, Gaussian(margin=margin))
    assert shown == pytest.approx(float(right), abs=1e-5)
