"""A real server, a real browser and the page in it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import dmrank
from tests.service.page.desk import Desk
from tests.service.running import running, unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

CHROMIUM = "/usr/bin/chromium"
#: Nothing that Chromium does on its own account, such as asking for updates.
QUIETLY = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Names that would do something if they were taken for HTML.
HOSTILE_NAMES = {
    0: "<img src=x onerror=\"document.body.dataset.broken='yes'\">",
    1: "</li></ol><script>document.body.dataset.broken='yes'</script>",
    2: "<b>Bold</b> & <i>Sons</i>",
}
#: Milliseconds for what is waited for in a page.
_PATIENCE = 8_000


@pytest.fixture(scope="session")
def node() -> str:
    found = shutil.which("node")
    if found is None:
        unavailable("Node is not installed")
    return found


@pytest.fixture(scope="session")
def model() -> dmrank.Hurdle:
    """A model of both stages; some of its hotels have names that look like HTML."""
    table = dmrank.make_ratings(300, 90, 6_000, seed=3).ratings.to_polars()
    number = pl.col("item").str.tail(6).cast(pl.Int64)
    names = number.replace_strict(HOSTILE_NAMES, default=pl.col("item_name")).alias("item_name")
    return dmrank.Hurdle(seed=0).fit(dmrank.read_ratings(table.with_columns(names)))


@pytest.fixture(scope="session")
def address(model: dmrank.Hurdle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the model is served."""
    file = model.save(tmp_path_factory.mktemp("page") / "hotels.dmrank")
    with running(file, "--ratings", "none") as service:
        yield service.address


class Guarded(NamedTuple):
    """A model that is served to those who have a key."""

    model: dmrank.ItemMean
    address: str
    key: str


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """As many items as the paper has, ids that are numbers, no stages."""
    folder = tmp_path_factory.mktemp("guarded")
    rng = np.random.default_rng(0)
    items = np.concatenate([np.arange(17_257), rng.integers(17_257, size=30_000)])
    users = rng.integers(500, size=len(items))
    aspects = [f"aspect_{k}" for k in range(8)]
    values = rng.integers(1, 6, size=(len(items), 8)).astype(np.float32)
    ratings = dmrank.Ratings.from_arrays(users.tolist(), items.tolist(), values, aspects=aspects)
    model = dmrank.ItemMean().fit(ratings)
    file = model.save(folder / "big.dmrank")
    new = [sys.executable, "-m", "dmrank", "keys", "new", folder / "keys.toml", "--name", "page"]
    key = subprocess.run(new, check=True, capture_output=True, text=True).stdout.split()[-1]
    with running(file, "--ratings", "none", "--keys", str(folder / "keys.toml")) as service:
        yield Guarded(model, service.address, key)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        unavailable("Chromium is not installed")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIETLY)
        yield browser
        browser.close()


@pytest.fixture
def desk(browser: Browser, address: str) -> Iterator[Desk]:
    """The page of the model, on a desk; nothing may go wrong in it unnoticed."""
    with opened(browser, address) as desk:
        yield desk


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Desk]:
    """Open a browser's window of its own; afterwards, see that no error was left behind."""
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 1400}, **options})
    context.set_default_timeout(_PATIENCE)
    desk = Desk(context.new_page(), address)
    try:
        yield desk
    finally:
        context.close()
    assert desk.errors == []
    foreign = [url for url in desk.requests if not url.startswith((address, "data:"))]
    assert foreign == []


def enlarge(route: Route) -> None:
    """Answer for /v1/model with more items than lists are made of in the browser."""
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "items": 50_001})
