"""What a model keeps for the next question."""

from dmrank.fitted.cache import Cache


def test_what_is_asked_for_again_and_again_is_kept() -> None:
    cache, made = Cache(), []
    for question in range(100):
        cache("always", lambda: made.append("always"))
        cache(("once", question), lambda: made.append("once"))
    assert made.count("always") == 1


def test_what_is_not_asked_for_any_more_is_dropped() -> None:
    cache, made = Cache(), []
    for question in range(100):
        cache(("once", question), lambda: None)
    cache(("once", 0), lambda: made.append("again"))
    assert made == ["again"]
