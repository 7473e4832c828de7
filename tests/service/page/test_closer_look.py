"""One item and its reasons; two items, and which will be liked better."""

import numpy as np
import pytest

import dmrank
from tests.service.page.desk import Desk


def test_one_item_is_explained(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012", by={"service": 1})
    item = desk.items()[2]
    desk.page.locator(".name").nth(2).click()
    desk.page.locator(".evidence").wait_for()
    explained = model.explain("u000012", item, by="service")
    assert desk.text("#panel .sentence") == explained.sentence
    shown = desk.page.locator(".evidence tbody th").all_inner_texts()
    assert shown == [aspect.replace("_", " ") for aspect in explained.table["aspect"]]
    assert desk.state["item"] == [item]


def test_predicted_ratings_of_the_item_are_shown(desk: Desk, model: dmrank.Hurdle) -> None:
    item = model.recommend("u000012", n=3)["item"][1]
    desk.open(user="u000012", item=(item,))
    desk.page.locator(".predicted b").first.wait_for()
    predicted = model.predict("u000012", item)[0]
    shown = [float(text) for text in desk.page.locator(".predicted b").all_inner_texts()]
    assert shown == pytest.approx(predicted.round(1).tolist(), abs=0.051)


def test_two_items_are_compared(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012")
    first, second = desk.items()[1], desk.items()[4]
    desk.page.locator(".name").nth(1).click()
    desk.page.locator(".name").nth(4).click()
    desk.page.locator(".direction").wait_for()
    compared = model.compare("u000012", first, second)
    table = compared.table

    sure = desk.page.locator(".direction tbody .number").all_inner_texts()
    assert sure == [f"{round(p * 100)} %" for p in table["probability"]]
    needles = desk.page.eval_on_selector_all(
        ".needle",
        "needles => needles.map(({ style }) => [style.left, style.width].map(parseFloat))",
    )
    left, width = np.array(needles).T
    differences = table["difference"].to_numpy()
    # The first item is on the left; a needle is as long as its component of the direction.
    assert ((left < 49.99) == (differences > 0))[width > 0.1].all()
    assert width == pytest.approx(50 * np.abs(differences) / np.abs(differences).max(), abs=0.5)
    # No line ends between a number and its percent sign.
    assert desk.text("#panel .sentence") == compared.sentence.replace(" %", "\u00a0%")
    assert "surer than of" in desk.text("#panel")


def test_a_third_item_takes_the_place_of_the_first(desk: Desk) -> None:
    desk.open(user="u000012")
    items = desk.items()
    for place in (0, 1, 2):
        desk.page.locator(".name").nth(place).click()
    assert desk.state["item"] == items[1:3]
    desk.page.locator(".name").nth(1).click()
    assert desk.state["item"] == [items[2]]


def test_any_item_is_found_by_name(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012")
    name = model.catalogue.item_name(40)
    desk.page.get_by_role("combobox", name="Any item").click()
    desk.page.keyboard.type(name)
    desk.page.get_by_role("option", name=name).first.click()
    desk.page.locator(".evidence").wait_for()
    assert desk.text(".chosen-name") == name


def test_a_newcomer_can_compare_as_well(desk: Desk, model: dmrank.Hurdle) -> None:
    said = [{"item": "h000004", "overall": 5}]
    desk.open(ratings=said, item=("h000010", "h000011"))
    desk.page.locator(".direction").wait_for()
    folded = model.fold_in([{"user": "new", **said[0]}])
    table = folded.compare("new", "h000010", "h000011").table
    sure = desk.page.locator(".direction tbody .number").all_inner_texts()
    assert sure == [f"{round(p * 100)} %" for p in table["probability"]]
