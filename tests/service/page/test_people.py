"""Choosing the person that a list is for."""

import json

import dmrank
from tests.service.page.desk import Desk


def test_without_an_address_the_first_user_is_shown(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open()
    user = model.users[0]
    assert desk.page.get_by_role("combobox", name="User").input_value() == user
    assert desk.items() == model.recommend(user, n=20)["item"].to_list()


def test_a_user_is_found_by_typing_and_chosen_by_keyboard(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open()
    field = desk.page.get_by_role("combobox", name="User")
    field.click()
    desk.page.keyboard.type("u00004")
    desk.page.get_by_role("option", name="u000042").wait_for()
    field.press("ArrowDown")
    field.press("ArrowDown")
    chosen = desk.page.get_by_role("option", selected=True).inner_text()
    field.press("Enter")
    desk.page.wait_for_function("user => location.hash.includes(user)", arg=chosen)
    desk.settle()
    assert desk.state["user"] == [chosen]
    assert desk.items() == model.recommend(chosen, n=20)["item"].to_list()


def test_a_newcomer_answers_questions_and_gets_a_list(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012")
    desk.press("I am new here")
    questions = desk.page.get_by_role("group").filter(has=desk.page.get_by_role("heading"))
    questions.first.wait_for()
    asked = model.questions(5)["item_name"].to_list()
    assert questions.locator("h3").all_inner_texts() == asked
    assert desk.items() == []
    desk.read("#list-problem", "Answer a question")

    questions.nth(0).get_by_role("radio", name="5").first.check()
    desk.settle()
    questions.nth(1).get_by_text("aspect by aspect").click()
    questions.nth(1).get_by_role("group", name="service").get_by_role("radio", name="2").check()
    desk.page.wait_for_function("() => location.hash.includes('service')")
    desk.settle()

    first, second = model.questions(5)["item"][:2]
    said = [{"item": first, "overall": 5}, {"item": second, "service": 2}]
    assert json.loads(desk.state["ratings"][0]) == said
    folded = model.fold_in([{"user": "new", **rating} for rating in said])
    assert desk.items() == folded.recommend("new", n=20)["item"].to_list()


def test_what_a_newcomer_does_not_know_is_exchanged(desk: Desk, model: dmrank.Hurdle) -> None:
    desk.open(user="u000012")
    desk.press("I am new here")
    first, more = (model.questions(n)["item_name"].to_list() for n in (5, 10))
    other = next(name for name in more if name not in first)
    headings = desk.page.locator(".question h3")
    headings.first.wait_for()
    desk.page.get_by_role("button", name=f"I do not know it: {first[1]}", exact=True).click()
    headings.get_by_text(other, exact=True).wait_for()
    assert headings.all_inner_texts() == [first[0], other, *first[2:]]


def test_answers_are_never_part_of_an_address_that_is_sent(desk: Desk) -> None:
    desk.open(ratings=[{"item": "h000004", "overall": 5}])
    assert [url for url in desk.requests if "h000004" in url] == []
