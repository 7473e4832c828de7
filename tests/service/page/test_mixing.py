"""Sliders, presets and bands; the list follows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import dmrank
from tests.service.page.conftest import Guarded, enlarge, opened
from tests.service.page.desk import Desk

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

ASPECTS = dmrank.make_ratings(20, 10, 50, seed=0).ratings.aspects
MIX = {"overall": 0.5, "service": 1.0, "value": 0.25}


@pytest.mark.parametrize("user", ["u000012", "u000100"])
def test_lists_of_random_mixes_are_those_of_recommend(
    desk: Desk, model: dmrank.Hurdle, user: str
) -> None:
    desk.open(user=user)
    rng = np.random.default_rng(int(user[1:]))
    for draw in range(50):
        chosen = rng.choice(ASPECTS, size=rng.integers(1, len(ASPECTS) + 1), replace=False)
        mix = {str(aspect): round(rng.uniform(0.05, 1), 7) for aspect in chosen}
        share = None if draw % 2 else round(rng.uniform(), 4)
        desk.go(user=user, by=mix, **({} if share is None else {"preference": share}))
        expected = model.recommend(user, n=20, by=mix, preference=share)["item"].to_list()
        assert desk.items() == expected, (mix, share)


def test_lists_of_a_model_without_stages_are_those_of_recommend(
    browser: Browser, guarded: Guarded
) -> None:
    """Means of few ratings are often equal: then the order is that of the items."""
    rng = np.random.default_rng(7)
    with opened(browser, guarded.address) as desk:
        desk.keep_key(guarded.key)
        desk.open(user=0)
        for _ in range(30):
            mix = {f"aspect_{k}": round(rng.uniform(0.05, 1), 7) for k in rng.permutation(8)[:3]}
            desk.go(user=0, by=mix)
            expected = guarded.model.recommend(0, n=20, by=mix)["item"].to_list()
            assert desk.items() == [str(item) for item in expected], mix


def test_the_list_follows_while_a_slider_moves(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    before = len(desk.requests)
    orders = []
    for weight in (0.8, 0.6, 0.3, 0.0):
        desk.slide("service", weight)
        orders.append(desk.items())
        mix = {**MIX, "service": weight}
        assert orders[-1] == model.recommend("u000012", n=20, by=mix)["item"].to_list()
    assert len({tuple(order) for order in orders}) > 1
    assert [url for url in desk.requests[before:] if "/v1/scores" in url] == []


def test_the_share_goes_from_who_comes_to_what_is_liked(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    for share in (0.0, 0.55, 1.0):
        desk.slide("Coming or liking?", share)
        expected = model.recommend("u000012", n=20, by=MIX, preference=share)["item"].to_list()
        assert desk.items() == expected


def test_a_slider_is_moved_by_keyboard(desk: Desk) -> None:
    desk.open(user="u000012", by=MIX)
    slider = desk.slider("value")
    slider.focus()
    slider.press("ArrowRight")
    assert desk.value("value") > MIX["value"]


@pytest.mark.parametrize("slider", ["overall", "service", "value", "rooms", "Coming or liking?"])
def test_a_band_ends_where_the_top_five_change(
    desk: Desk, model: dmrank.Hurdle, slider: str
) -> None:
    desk.open(user="u000012", by=MIX)
    low, high = desk.slider(slider).evaluate(
        """slider => {
          const { left, width } = slider.parentElement.querySelector(".band").style;
          return [parseFloat(left) / 100, (parseFloat(left) + parseFloat(width)) / 100];
        }"""
    )
    at = desk.value(slider)
    assert low - 1e-9 <= at <= high + 1e-9

    def top(place: float) -> list[str]:
        is_share = slider not in ASPECTS
        mix = MIX if is_share else {**MIX, slider: place}
        share = place if is_share else None
        return model.recommend("u000012", n=5, by=mix, preference=share)["item"].to_list()

    now, step = top(at), 1e-4
    assert top(min(low + step, at)) == now
    assert top(max(high - step, at)) == now
    outside = [place for place in (low - step, high + step) if 0 <= place <= 1]
    assert [place for place in outside if top(place) == now] == []


def test_presets_set_the_sliders(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    desk.press("everything equally")
    assert {desk.value(aspect.replace("_", " ")) for aspect in ASPECTS} == {1.0}
    desk.press("Only sleep quality")
    assert desk.mix == {"sleep_quality": 1}
    assert desk.items() == model.recommend("u000012", n=20, by="sleep_quality")["item"].to_list()
    desk.page.locator("#presets").get_by_role("button", name="overall").click()
    assert desk.value("overall") == 1
    assert desk.value("sleep quality") == 0


def test_all_together_is_asked_of_the_server(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012")
    with desk.page.expect_response("**/v1/recommend"):
        desk.press("all together")
    desk.settle()
    expected = model.recommend("u000012", n=20, by="all")["item"].to_list()
    assert desk.items() == expected
    assert desk.state["by"] == ["all"]
    desk.slide("service", 0.5)
    equally = dict.fromkeys(ASPECTS, 1.0) | {"service": 0.5}
    assert desk.items() == model.recommend("u000012", n=20, by=equally)["item"].to_list()


def test_without_any_weight_the_page_says_what_to_do(desk: Desk) -> None:
    desk.open(user="u000012", by={"service": 1})
    desk.slide("service", 0)
    desk.read("#list-problem", "move a slider up")
    desk.slide("service", 0.5)
    assert desk.text("#list-problem") == ""


def test_beyond_what_a_browser_bears_lists_come_from_the_server(
    browser: Browser, address: str, model: dmrank.Hurdle
) -> None:
    """The latest answer wins: of moves during a slow answer, the last one is asked for."""
    asked = []

    def slow(route: Route) -> None:
        asked.append(route.request.post_data_json["by"])
        desk.page.wait_for_timeout(40)
        route.continue_()

    with opened(browser, address) as desk:
        desk.page.route("**/v1/model", enlarge)
        desk.open(user="u000012", by=MIX)
        desk.page.route("**/v1/recommend", slow)
        for weight in (0.9, 0.7, 0.5, 0.3, 0.1, 0.0):
            desk.slide("service", weight)
        last = {"overall": 0.5, "value": 0.25}
        expected = model.recommend("u000012", n=20, by=last)["item"].to_list()
        desk.page.wait_for_function(
            "items => [...document.querySelectorAll('.row')].map(row => row.dataset.item).join()"
            " === items",
            arg=",".join(expected),
        )
        desk.settle()
        assert [url for url in desk.requests if "/v1/scores" in url] == []
        assert asked[-1] == last
        assert desk.page.locator(".band:visible").count() == 0
