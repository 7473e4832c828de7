"""Everything that is seen is in the address, and the back button goes back."""

import dmrank
from tests.service.page.desk import Desk

MIX = {"overall": 0.5, "service": 1.0}


def test_an_address_shows_the_same_again(desk: Desk, model: dmrank.Hurdle) -> None:
    state = {"user": "u000020", "by": MIX, "preference": 0.7, "align": "service", "n": 30}
    desk.open(**state, item=("h000010", "h000011"))
    expected = model.recommend("u000020", n=30, by=MIX, preference=0.7)["item"].to_list()
    assert desk.items() == expected
    assert desk.value("Coming or liking?") == 0.7
    pressed = desk.page.locator("#legend [aria-pressed=true]").all_inner_texts()
    assert pressed == ["service"]
    desk.page.locator(".direction").wait_for()


def test_what_is_done_goes_into_the_address(desk: Desk) -> None:
    desk.open(user="u000012", by=MIX)
    desk.slide("value", 0.75)
    desk.page.wait_for_function("() => location.hash.includes('value')")
    assert desk.mix == {**MIX, "value": 0.75}


def test_the_back_button_undoes_one_movement_at_a_time(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by=MIX)
    first = desk.items()
    for weight in (0.4, 0.6, 0.9):
        desk.slide("value", weight)
    desk.slider("value").dispatch_event("change")
    desk.page.wait_for_function("() => location.hash.includes('value')")
    desk.press("everything equally")
    desk.page.go_back()
    desk.settle()
    assert desk.mix == {**MIX, "value": 0.9}
    desk.page.go_back()
    desk.settle()
    assert desk.mix == MIX
    assert desk.items() == first


def test_an_address_of_nonsense_says_what_to_do(desk: Desk) -> None:
    desk.page.goto(f"{desk.address}/#by=nothing=1&preference=x&n=-1&align=%00&item=%F0%9F%98%80")
    desk.read("#list-problem", "move a slider up")


def test_the_new_order_is_announced(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by={"service": 1})
    desk.slide("service", 0)
    desk.slide("location", 1)
    names = model.recommend("u000012", n=5, by="location")["item_name"].to_list()
    desk.page.wait_for_function(
        "name => document.querySelector('#announcer').textContent.includes('1 ' + name)",
        arg=names[0],
    )
    said = desk.text("#announcer")
    assert said.startswith("New order")
    assert [name in said for name in names] == [True] * 5
    assert desk.page.locator("#announcer").get_attribute("aria-live") == "polite"


def test_everything_is_reached_by_the_tab_key(desk: Desk) -> None:
    desk.open(user="u000012", by=MIX)
    reached = set()
    for _ in range(200):
        desk.page.keyboard.press("Tab")
        what = desk.page.evaluate(
            "(({ id, className, type }) => id || className || type)(document.activeElement)"
        )
        reached.add(what)
        if what == "item":
            break
    assert {"skip", "user", "newcomer", "preset", "handle", "name", "more", "item"} <= reached
    assert len({what for what in reached if what.startswith("slider-")}) == 9
    assert any(what.startswith("chip") for what in reached)
