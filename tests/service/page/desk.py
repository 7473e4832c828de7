"""The page as a person works with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from dmrank.fitted.contract import By

#: Waits until everything that was started in this frame is drawn.
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Desk:
    """A window with the page."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self._hear(message.type, message.text))

    def _hear(self, kind: str, text: str) -> None:
        # A problem that the service answers with is told by the browser as well.
        if kind == "error" and "Failed to load resource" not in text:
            self.errors.append(text)

    def open(self, **state: Any) -> Desk:
        """Open the page in a state, and wait for the list and its details."""
        self.page.goto(f"{self.address}/{in_address(**state)}")
        self.settle()
        return self

    def keep_key(self, key: str) -> None:
        """Give a key before it is asked for."""
        self.page.goto(f"{self.address}/docs")
        self.page.evaluate("key => sessionStorage.setItem('dmrank-key', key)", key)

    def settle(self) -> None:
        """Wait until the list stands still, with its predicted ratings."""
        self.page.wait_for_function(
            """() => document.querySelector("#list:not([aria-busy])")
              && document.querySelectorAll(".row").length > 0
              && [...document.querySelectorAll(".rating")].every(rating => rating.textContent)"""
        )

    def go(self, **state: Any) -> None:
        """Go to another state by the address."""
        self.page.evaluate("hash => { location.hash = hash }", in_address(**state))
        self.page.evaluate(TWO_FRAMES)

    def items(self) -> list[str]:
        """Return the ids of the rows."""
        rows = "rows => rows.map(row => row.dataset.item)"
        return self.page.eval_on_selector_all(".row", rows)

    def slider(self, label: str) -> Locator:
        return self.page.get_by_role("slider", name=label, exact=True)

    def value(self, label: str) -> float:
        return float(self.slider(label).input_value())

    def slide(self, label: str, to: float) -> None:
        """Move a slider to a place without letting it go."""
        self.slider(label).evaluate(
            """(slider, to) => {
              slider.value = to;
              slider.dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            to,
        )
        self.page.evaluate(TWO_FRAMES)

    def press(self, label: str) -> None:
        self.page.get_by_role("button", name=label, exact=True).click()

    def handle(self, place: int) -> Locator:
        return self.page.locator(".handle").nth(place)

    def middle(self, place: int) -> tuple[float, float]:
        """Return the middle of a row's handle."""
        box = self.handle(place).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def drag(self, start: int, end: int) -> None:
        """Drag a row by its handle with the mouse."""
        middles = [self.middle(place) for place in (start, end)]
        mouse = self.page.mouse
        mouse.move(*middles[0])
        mouse.down()
        mouse.move(*middles[1], steps=8)
        mouse.up()

    @property
    def state(self) -> dict[str, list[str]]:
        """What the address says."""
        return parse_qs(urlsplit(self.page.url).fragment)

    @property
    def mix(self) -> dict[str, float]:
        parts = (part.rpartition("=") for part in self.state["by"])
        return {aspect: float(weight) for aspect, _, weight in parts}

    def read(self, selector: str, expected: str) -> None:
        """Wait until a place says what is expected: what it says before that is on its way."""
        self.page.locator(selector).filter(has_text=expected).wait_for()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()


def in_address(
    user: object = None,
    by: By = None,
    item: tuple[object, ...] = (),
    ratings: list[Mapping[str, object]] | None = None,
    **others: object,
) -> str:
    """Write a state as the page does."""
    fields = [(name, str(value)) for name, value in others.items()]
    if user is not None:
        fields.append(("user", str(user)))
    if ratings is not None:
        fields.append(("ratings", json.dumps(ratings)))
    if isinstance(by, str):
        fields.append(("by", by))
    elif by is not None:
        fields += [("by", f"{aspect}={weight!r}") for aspect, weight in by.items()]
    fields += [("item", str(one)) for one in item]
    return f"#{urlencode(fields)}"
