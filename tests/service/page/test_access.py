"""Nothing that axe-core objects to, in either theme, on a phone and on a wall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.service.page.conftest import Guarded, opened
from tests.service.page.desk import Desk
from tests.service.running import unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZES = {"phone": (360, 740), "desk": (1000, 900), "wall": (1900, 1000)}


def _objections(desk: Desk) -> list[str]:
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        unavailable("axe-playwright-python is not installed")
    violations = Axe().run(desk.page).response["violations"]
    return [
        f"{violation['id']}: {node['html']}"
        for violation in violations
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_is_silent(browser: Browser, address: str, theme: str, size: str) -> None:
    width, height = SIZES[size]
    screen = {"viewport": {"width": width, "height": height}, "color_scheme": theme}
    with opened(browser, address, **screen) as desk:
        desk.open(user="u000012", by={"service": 1, "value": 0.5}, item=("h000010", "h000011"))
        desk.page.locator(".direction").wait_for()
        assert _objections(desk) == []
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert desk.page.evaluate(overflow) <= 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_silent_on_questions_reasons_and_refusals(
    browser: Browser, address: str, theme: str
) -> None:
    with opened(browser, address, color_scheme=theme) as desk:
        desk.open(ratings=[{"item": "h000004", "service": 5}], item=("h000010",), by="all")
        desk.page.locator(".evidence").wait_for()
        desk.page.locator(".question").first.wait_for()
        assert _objections(desk) == []
        desk.page.goto(f"{address}/#user=nobody")
        desk.page.get_by_role("alert").wait_for()
        assert _objections(desk) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_is_silent_on_the_documentation(browser: Browser, address: str, theme: str) -> None:
    with opened(browser, address, color_scheme=theme) as desk:
        desk.page.goto(f"{address}/docs")
        desk.page.locator(".operation").first.wait_for()
        assert _objections(desk) == []


def test_axe_is_silent_on_the_dialog_for_a_key(browser: Browser, guarded: Guarded) -> None:
    with opened(browser, guarded.address) as desk:
        desk.page.goto(guarded.address)
        desk.page.get_by_label("Key", exact=True).wait_for()
        assert _objections(desk) == []
