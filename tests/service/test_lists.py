"""Lists over HTTP: those of `recommend`, with what their rows are made of."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from dmrank import DMR, Model, make_ratings
from tests.service.conftest import problem


def rows(response) -> list[dict]:
    assert response.status_code == 200, response.text
    return response.json()["lists"][0]["rows"]


def test_a_list_is_that_of_recommend(client: TestClient, hurdle: Model) -> None:
    found = client.get("/v1/recommend?user=u000003&n=5&by=service&by=value=2&preference=0.6")
    wanted = hurdle.recommend(
        "u000003", n=5, by={"service": 1, "value": 2}, aspects=True, preference=0.6
    )
    assert [row["item"] for row in rows(found)] == wanted["item"].to_list()
    assert [row["name"] for row in rows(found)] == wanted["item_name"].to_list()
    assert [row["rank"] for row in rows(found)] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose([row["score"] for row in rows(found)], wanted["score"], atol=2e-6)
    for aspect in hurdle.aspects:
        ratings = [row["ratings"][aspect] for row in rows(found)]
        np.testing.assert_allclose(ratings, wanted[aspect], atol=2e-6)
    assert found.json()["by"] == {"service": 1, "value": 2}
    assert found.json()["preference"] == 0.6


def test_a_score_is_exposure_and_what_aspects_contribute(client: TestClient) -> None:
    found = client.get("/v1/recommend?user=u000003&by=service&by=value=2&preference=0.6")
    for row in rows(found):
        total = 0.4 * row["exposure"] + sum(row["contributions"].values())
        assert row["score"] == pytest.approx(total, abs=1e-5)
        assert 0 <= row["better_than_next"] <= 1


def test_by_get_and_by_post_the_answer_is_the_same(client: TestClient) -> None:
    options = {"n": 3, "exclude_seen": False, "preference": 0.5, "block": ["h000001", "h000002"]}
    by_post = client.post(
        "/v1/recommend",
        json={"users": ["u000003", "u000004"], "by": {"service": 1, "value": 0.5}, **options},
    )
    asked = {**options, "user": ["u000003", "u000004"], "by": ["service", "value=0.5"]}
    assert client.get("/v1/recommend", params=asked).json() == by_post.json()
    assert [each["user"] for each in by_post.json()["lists"]] == ["u000003", "u000004"]


@pytest.mark.parametrize(
    "options",
    [
        {"by": "all"},
        {"by": "location", "allow": [f"h{i:06}" for i in range(0, 40, 3)]},
        {"block": ["h000003", "h000004"], "exclude_seen": False},
        {"candidates": [f"h{i:06}" for i in range(20)]},
        {"candidates": [f"h{i:06}" for i in range(20)], "preference": 0.1, "by": "all"},
        {"aspects": False, "by": {"value": 3, "rooms": 1}},
    ],
)
def test_options_are_those_of_recommend(client: TestClient, hurdle: Model, options: dict) -> None:
    found = client.post("/v1/recommend", json={"users": ["u000005"], "n": 6, **options})
    wanted = hurdle.recommend("u000005", n=6, **options)
    assert [row["item"] for row in rows(found)] == wanted["item"].to_list()
    np.testing.assert_allclose([row["score"] for row in rows(found)], wanted["score"], atol=2e-6)
    assert (rows(found)[0]["ratings"] is None) is (options.get("aspects") is False)


def test_candidates_of_each_user(client: TestClient, hurdle: Model) -> None:
    own = {"u000005": ["h000001", "h000002"], "u000006": ["h000003", "h000001", "h000009"]}
    asked = {"users": list(own), "candidates": own, "exclude_seen": False}
    found = client.post("/v1/recommend", json=asked).json()["lists"]
    wanted = hurdle.recommend(list(own), candidates=own, exclude_seen=False)
    for each in found:
        expected = wanted.filter(user=each["user"])["item"].to_list()
        assert [row["item"] for row in each["rows"]] == expected
    asked["users"] = ["u000007"]
    assert "no list for user 'u000007'" in problem(client.post("/v1/recommend", json=asked), 422)


def test_strangers_get_an_error_or_what_is_popular(client: TestClient, hurdle: Model) -> None:
    assert "'stranger' is not in the ratings" in problem(
        client.get("/v1/recommend?user=stranger"), 404
    )
    found = client.get("/v1/recommend?user=stranger&user=u000003&on_unknown=popular&n=4").json()
    wanted = hurdle.recommend("stranger", n=4, on_unknown="popular")
    assert [each["personal"] for each in found["lists"]] == [False, True]
    assert [row["item"] for row in found["lists"][0]["rows"]] == wanted["item"].to_list()


@pytest.mark.parametrize("by", ["service", "all"])
def test_a_cursor_goes_on_where_a_list_ended(client: TestClient, hurdle: Model, by: str) -> None:
    whole = hurdle.recommend("u000003", n=40, by=by)["item"].to_list()
    listed, cursor = [], None
    for _ in range(20):
        asked = {"user": "u000003", "by": by, "n": 7} | ({"cursor": cursor} if cursor else {})
        page = client.get("/v1/recommend", params=asked).json()["lists"][0]
        listed += [row["item"] for row in page["rows"]]
        assert [row["rank"] for row in page["rows"]][-1] == len(listed)
        cursor = page["cursor"]
        if cursor is None:
            break
    assert listed == whole


def test_a_cursor_is_for_its_request_and_its_model(
    client: TestClient, serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    cursor = client.get("/v1/recommend?user=u000003&n=2").json()["lists"][0]["cursor"]
    other = client.get(f"/v1/recommend?user=u000004&n=2&cursor={cursor}")
    assert "belongs to another request" in problem(other, 422)
    assert "none of ours" in problem(client.get("/v1/recommend?user=u000003&cursor=x"), 422)
    ratings = make_ratings(120, 40, 2_400, seed=9).ratings
    file = DMR(iterations=20, seed=0).fit(ratings).save(tmp_path / "other.dmrank")
    gone = serve(file).get(f"/v1/recommend?user=u000003&n=2&cursor={cursor}")
    assert "another model" in problem(gone, 410)


def test_the_last_row_of_a_page_is_compared_with_the_first_of_the_next(client: TestClient) -> None:
    ten = rows(client.get("/v1/recommend?user=u000003&n=10"))
    five = rows(client.get("/v1/recommend?user=u000003&n=5"))
    assert five == ten[:5]


def test_a_newcomer_is_folded_in_and_nothing_is_stored(client: TestClient, hurdle: Model) -> None:
    given = [
        {"item": "h000001", "overall": 5, "service": 4},
        {"item": "h000007", "overall": 1},
        {"item": "h000009", "value": 2.5},
    ]
    found = client.post("/v1/recommend/new", json={"ratings": given, "by": "service", "n": 8})
    folded = hurdle.fold_in([{"user": "new", **each} for each in given])
    wanted = folded.recommend("new", n=8, by="service")
    assert [row["item"] for row in rows(found)] == wanted["item"].to_list()
    assert found.json()["lists"][0]["user"] is None
    assert client.get("/v1/ratings?user=new").json()["ratings"] == []


def test_lists_of_other_models_say_what_they_can(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    ratings = make_ratings(60, 30, 900, seed=4).ratings
    model = DMR(iterations=60, seed=0).fit(ratings)
    client = serve(model.save(tmp_path / "dmr.dmrank"))
    found = client.get("/v1/recommend?user=u000003&n=4&by=value&by=rooms")
    wanted = model.recommend("u000003", n=4, by={"value": 1, "rooms": 1})
    assert [row["item"] for row in rows(found)] == wanted["item"].to_list()
    assert found.json()["preference"] is None
    for row in rows(found):
        assert row["exposure"] is None
        assert row["score"] == pytest.approx(sum(row["contributions"].values()), abs=1e-4)
    refused = client.get("/v1/recommend?user=u000003&preference=0.5")
    assert "has one score for lists" in problem(refused, 422)


def test_scores_and_their_recipe_make_every_list(client: TestClient, hurdle: Model) -> None:
    answer = client.get("/v1/scores?user=u000003")
    recipe = json.loads(answer.headers["dmrank-recipe"])
    count = len(answer.content) // 4
    table = np.array(struct.unpack(f"<{count}f", answer.content)).reshape(recipe["items"], -1)
    assert recipe["columns"] == ["exposure", *hurdle.aspects]
    ids = client.get("/v1/items").json()["items"]
    rng = np.random.default_rng(0)
    for share in (0.0, recipe["preference"], 0.7, 1.0):
        mix = rng.random(len(hurdle.aspects))
        scores = (1 - share) * table[:, 0] + share * table[:, 1:] @ mix / mix.sum()
        order = [ids[i] for i in np.argsort(-scores, kind="stable") if not np.isnan(scores[i])]
        by = dict(zip(hurdle.aspects, mix, strict=True))
        wanted = hurdle.recommend("u000003", n=40, by=by, preference=share)
        assert order == wanted["item"].to_list()


def test_ids_that_are_numbers_stay_numbers(
    serve: Callable[..., TestClient], tmp_path: Path
) -> None:
    table = make_ratings(60, 30, 900, seed=4).ratings.to_pandas()
    table["user"] = table["user"].str[1:].astype(int)
    table["item"] = table["item"].str[1:].astype(int)
    from dmrank import ItemMean, read_ratings

    model = ItemMean().fit(read_ratings(table))
    client = serve(model.save(tmp_path / "numbers.dmrank"))
    by_text = client.get("/v1/recommend?user=3&n=2").json()
    by_number = client.post("/v1/recommend", json={"users": [3], "n": 2}).json()
    assert by_text["lists"][0]["rows"] == by_number["lists"][0]["rows"]
    assert isinstance(by_number["lists"][0]["rows"][0]["item"], int)
    assert "is no whole number" in problem(client.get("/v1/recommend?user=ann"), 404)
