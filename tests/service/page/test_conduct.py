"""What the page does with hostile names, problems and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dmrank
from tests.service.page.conftest import HOSTILE_NAMES, Guarded, opened
from tests.service.page.desk import Desk

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route


def test_names_that_are_html_are_shown_as_text(desk: Desk, model: dmrank.Hurdle) -> None:
    user = "u000020"
    desk.open(user=user, n=100, item=("h000000", "h000001"))
    desk.page.locator(".direction").wait_for()
    names = desk.page.locator(".name").all_text_contents()
    listed = model.recommend(user, n=100)["item_name"].to_list()
    assert names == listed
    assert set(HOSTILE_NAMES.values()) & set(listed)
    assert desk.page.locator(".chosen-name").all_text_contents() == [
        HOSTILE_NAMES[0],
        HOSTILE_NAMES[1],
    ]
    assert desk.page.locator("main img, main script, main .name b").count() == 0
    assert desk.page.evaluate("document.body.dataset.broken") is None


def test_an_unknown_user_is_named_where_the_list_would_be(desk: Desk) -> None:
    desk.page.goto(f"{desk.address}/#user=nobody")
    problem = desk.page.locator("#list-problem [role=alert]")
    problem.wait_for()
    assert "nobody" in problem.inner_text()
    desk.go(user="u000012")
    desk.settle()
    assert desk.text("#list-problem") == ""


def test_a_server_that_is_gone_is_said_to_be(desk: Desk) -> None:
    desk.open(user="u000012")
    before = desk.items()
    desk.page.route("**/v1/**", lambda route: route.abort())
    desk.slide("service", 0.7)
    desk.page.get_by_text("The service does not answer").first.wait_for()
    # The list goes on: it is made in the browser.
    assert len(desk.items()) == len(before)


def test_a_page_without_a_model_is_not_blank(desk: Desk) -> None:
    desk.page.route("**/v1/model", lambda route: route.abort())
    desk.page.goto(desk.address)
    desk.page.get_by_role("alert").wait_for()
    desk.page.unroute("**/v1/model")
    desk.press("Try again")
    desk.settle()


def test_a_model_that_was_exchanged_is_loaded_anew(desk: Desk) -> None:
    old: list[str] = []

    def answer(route: Route) -> None:
        original = route.fetch()
        # The first answer is of a model that is served no more.
        version = {} if old else {"model": "older"}
        old.append(route.request.url)
        route.fulfill(response=original, json={**original.json(), **version})

    desk.page.route("**/v1/model", answer)
    desk.open(user="u000012")
    assert len(old) == 2


def test_a_key_is_asked_for_and_kept(browser: Browser, guarded: Guarded) -> None:
    _, address, key = guarded
    with opened(browser, address) as desk:
        desk.page.goto(address)
        field = desk.page.get_by_label("Key", exact=True)
        field.fill("dmr_wrong")
        desk.press("Go on")
        desk.page.get_by_text("That key was refused.").wait_for()
        field.fill(key)
        desk.press("Go on")
        desk.settle()
        desk.page.reload()
        desk.settle()
        assert len(desk.items()) == 20
        assert [url for url in desk.requests if key in url] == []
