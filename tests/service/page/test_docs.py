"""The documentation page is made of the server's own OpenAPI document."""

import json
import shlex
import urllib.error
import urllib.request

from tests.service.page.desk import Desk


def test_every_route_is_documented(desk: Desk) -> None:
    with urllib.request.urlopen(f"{desk.address}/openapi.json") as answer:
        paths = json.load(answer)["paths"]
    desk.page.goto(f"{desk.address}/docs")
    desk.page.locator(".operation").first.wait_for()
    shown = desk.page.eval_on_selector_all(
        ".operation", "operations => operations.map(operation => operation.ariaLabel)"
    )
    expected = [f"{verb.upper()} {path}" for path, verbs in paths.items() for verb in verbs]
    assert sorted(shown) == sorted(expected)
    assert "preference" in desk.text("#post-v1-recommend")
    assert "needed" in desk.text("#get-v1-recommend")


def test_every_example_works(desk: Desk) -> None:
    desk.page.goto(f"{desk.address}/docs")
    desk.page.locator(".operation").first.wait_for()
    calls = desk.page.locator(".operation pre").all_inner_texts()
    asked = [shlex.split(call.replace("\\\n", "")) for call in calls]
    # This server keeps no ratings.
    tried = [words for words in asked if "/v1/ratings" not in " ".join(words)]
    assert len(tried) > 15
    refused = {" ".join(words): status for words in tried if (status := _status(words)) != 200}
    assert refused == {}


def _status(words: list[str]) -> int:
    """Do what curl would do."""
    url = next(word for word in words if word.startswith("http"))
    body = words[words.index("-d") + 1].encode() if "-d" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, body, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            print(url, body, error.read())
        return error.code
