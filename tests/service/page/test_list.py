"""Rows of stacked bars: aligned, bracketed, and moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import dmrank
from dmrank.answers.compare import order_probabilities
from tests.service.page.conftest import enlarge, opened
from tests.service.page.desk import Desk

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MIX = {"overall": 0.5, "service": 1.0, "value": 0.25}
PARTS = """rows => rows.map(row => {
  const bar = row.querySelector(".bar").getBoundingClientRect();
  const zero = row.querySelector(".zero").getBoundingClientRect().left;
  return [...row.querySelectorAll(".segment")].map(segment => {
    const { left, right } = segment.getBoundingClientRect();
    return [left - zero, right - zero];
  });
})"""


def _ends(desk: Desk) -> np.ndarray:
    """Return where segments begin and end, in pixels from zero: rows × parts × 2."""
    return np.array(desk.page.eval_on_selector_all(".row", PARTS))


def test_lengths_of_segments_are_the_contributions(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    drawn = _ends(desk)
    lengths = drawn[..., 1] - drawn[..., 0]
    used = [1 + list(model.aspects).index(aspect) for aspect in MIX]
    unused = [part for part in range(1, lengths.shape[1]) if part not in used]
    assert (lengths[:, unused] == 0).all()
    # Positive segments less negative ones are the score, on one scale for all rows.
    signs = np.sign(drawn.sum(axis=-1))
    scores = model.recommend("u000012", n=20, by=MIX)["score"].to_numpy()
    totals = (signs * lengths).sum(axis=1)
    scale = totals @ scores / (scores @ scores)
    assert np.abs(totals - scale * scores).max() < 0.2  # pixels


@pytest.mark.parametrize("part", ["who comes", "service", "value"])
def test_a_click_aligns_the_bars_at_an_aspect(desk: Desk, model: dmrank.Hurdle, part: str) -> None:
    desk.open(user="u000012", by=MIX, preference=0.6)
    place = 0 if part == "who comes" else 1 + list(model.aspects).index(part)
    chip = desk.page.locator("#legend").get_by_role("button", name=part, exact=True)
    chip.click()
    desk.page.wait_for_timeout(50)
    ends = _ends(desk)[:, place]
    assert np.abs(ends).min(axis=1).max() < 0.1
    assert np.abs(ends).max() > 5
    assert chip.get_attribute("aria-pressed") == "true"
    assert desk.state["align"] == ["exposure" if part == "who comes" else part]
    chip.click()
    assert "align" not in desk.state


def test_rows_that_are_liked_alike_are_bracketed(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by={"service": 1})
    items = model.catalogue.items.codes(desk.items())
    users = np.full(19, model.catalogue.users.code("u000012"))
    probabilities = order_probabilities(model, users, items[:-1], items[1:])
    assert probabilities is not None
    better = probabilities[:, list(model.aspects).index("service")]
    alike = [*((better >= 0.4) & (better <= 0.6)), False]
    marks = desk.page.eval_on_selector_all(
        ".bracket", "brackets => brackets.map(bracket => bracket.dataset.part ?? '')"
    )
    assert [mark in ("start", "middle") for mark in marks] == alike
    assert [mark in ("middle", "end") for mark in marks] == [False, *alike[:-1]]
    assert any(alike)
    assert not all(alike[:-1])


def test_an_item_that_is_dragged_up_takes_the_sliders_along(
    desk: Desk, model: dmrank.Hurdle
) -> None:
    desk.open(user="u000012", by=MIX)
    start, end = _move(model, desk.items(), possible=True)
    item = desk.items()[start]
    desk.drag(start, end)
    desk.page.get_by_text("The sliders followed").wait_for()
    assert desk.items().index(item) <= end
    # What the address says is the mix, and the model agrees.
    assert desk.items() == model.recommend("u000012", n=20, by=desk.mix)["item"].to_list()
    for aspect, weight in desk.mix.items():
        assert desk.value(aspect.replace("_", " ")) == pytest.approx(weight)
    # No mix that puts the item before those that it passed is nearer.
    passed = [(item, other) for other in model_list(model)[end:start]]
    nearest = model.nearest_mix("u000012", passed, by=MIX)
    assert nearest.change is not None
    before, after = _shares(model, MIX), _shares(model, desk.mix)
    assert np.linalg.norm(after - before) >= nearest.change - 1e-5


def test_what_prevents_a_move_is_named(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    before = desk.items()
    start, end = _move(model, before, possible=False)
    desk.drag(start, end)
    answer = desk.page.locator("#move-answer")
    answer.get_by_text("prevent").wait_for()
    orders = [(before[start], other) for other in before[end:start]]
    prevented = model.nearest_mix("u000012", orders, by=MIX).prevented_by
    named = {model.catalogue.item_name(model.catalogue.items.code(pair[1])) for pair in prevented}
    assert named
    assert all(name in answer.inner_text() for name in named)
    assert desk.items() == before


def test_an_item_is_moved_by_a_finger(browser: Browser, address: str, model: dmrank.Hurdle) -> None:
    with opened(browser, address, viewport={"width": 360, "height": 1800}, has_touch=True) as desk:
        desk.open(user="u000012", by=MIX)
        start, end = _move(model, desk.items(), possible=True)
        item = desk.items()[start]
        places = [desk.middle(place) for place in (start, end)]
        finger = desk.page.context.new_cdp_session(desk.page)
        for kind, points in (
            ("touchStart", places[:1]),
            ("touchMove", [(places[0][0], sum(y for _, y in places) / 2)]),
            ("touchMove", places[1:]),
            ("touchEnd", []),
        ):
            touched = [{"x": x, "y": y} for x, y in points]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})
        desk.page.get_by_text("The sliders followed").wait_for()
        assert desk.items().index(item) <= end


def test_a_move_in_a_list_of_the_server(
    browser: Browser, address: str, model: dmrank.Hurdle
) -> None:
    with opened(browser, address) as desk:
        desk.page.route("**/v1/model", enlarge)
        desk.open(user="u000012", by=MIX)
        start, end = _move(model, desk.items(), possible=True)
        item = desk.items()[start]
        desk.drag(start, end)
        desk.page.wait_for_function(
            "item => document.querySelector(`[data-item=${item}]`).dataset.place <= " + str(end),
            arg=item,
        )
        assert [url for url in desk.requests if "/v1/scores" in url] == []


def test_an_item_is_moved_by_keyboard(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    before = desk.items()
    start = next(
        place
        for place in range(1, 20)
        if model.nearest_mix("u000012", [(before[place], before[place - 1])], by=MIX).weights
    )
    desk.handle(start).focus()
    desk.page.keyboard.press("Alt+ArrowUp")
    desk.page.get_by_text("The sliders followed").wait_for()
    place = desk.items().index(before[start])
    assert place <= start - 1
    # The focus goes with the item.
    focused = desk.page.evaluate("document.activeElement.closest('.row').dataset.item")
    assert focused == before[start]


def test_a_row_that_is_picked_up_can_be_let_be(desk: Desk) -> None:
    desk.open(user="u000012", by=MIX)
    before = desk.items()
    desk.handle(3).focus()
    for key in ("Space", "ArrowUp", "ArrowUp"):
        desk.page.keyboard.press(key)
    assert desk.text("#announcer") == "Place 2"
    desk.page.keyboard.press("Escape")
    assert desk.page.locator(".held").count() == 0
    assert desk.items() == before
    assert desk.text("#move-answer") == ""


def test_more_rows_are_shown(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012")
    desk.press("Show more")
    desk.settle()
    assert desk.items() == model.recommend("u000012", n=40)["item"].to_list()
    assert desk.state["n"] == ["40"]


def model_list(model: dmrank.Hurdle) -> list[str]:
    return model.recommend("u000012", n=20, by=MIX)["item"].to_list()


def _shares(model: dmrank.Hurdle, mix: dict[str, float]) -> np.ndarray:
    weights = np.array([mix.get(aspect, 0.0) for aspect in model.aspects])
    return weights / weights.sum()


def _move(model: dmrank.Hurdle, items: list[str], *, possible: bool) -> tuple[int, int]:
    """Find a move by at least two places that a mix can make, or none can."""
    for start in range(3, 20):
        for end in range(start - 2):
            orders = [(items[start], other) for other in items[end:start]]
            found = model.nearest_mix("u000012", orders, by=MIX).weights
            if (found is not None) == possible:
                return start, end
    pytest.fail("there is no such move")
