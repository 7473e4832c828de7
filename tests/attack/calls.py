"""Calls with odd values: of the documented types, or of those that people give by mistake."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import dmrank
from dmrank import Model, Ratings
from tests.attack.case import Case
from tests.attack.fixtures import QUICK, lists_wrong, model, ratings, split
from tests.attack.reading import Reading, read, wrong

#: Examples that Hypothesis makes for one case: the first are always the simplest.
_EXAMPLES = 4

_USERS = [f"u{number:06}" for number in range(0, 40, 7)]
_ITEMS = [f"h{number:06}" for number in range(0, 30, 5)]
_text = st.text(max_size=8)
_user = st.integers(0, 9).flatmap(
    lambda n: _text if n == 9 else st.sampled_from([*_USERS * 3, "nobody", ""])
)
_item = st.integers(0, 9).flatmap(
    lambda n: _text if n == 9 else st.sampled_from([*_ITEMS * 3, "nothing", ""])
)
_not_an_id = st.sampled_from([5, 5.0, None, b"u000007", float("nan"), True, np.int64(3)])
_aspect = st.sampled_from(
    [*["overall", "service", "value", "all"] * 3, "price", "", "^x$", "\x1b[31m"]
)
_number = st.floats() | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-300, 1e300])
_by = st.none() | _aspect | st.dictionaries(_aspect, _number, max_size=3)
_count = st.integers(-3, 40) | st.sampled_from([2**31, 2**63, 2**70, -(2**63)])
_stars = st.sampled_from([1.0, 3.0, 5.0, 4.5, -1.0, 0.0, 1e30, float("nan"), float("inf"), None])


def make(rng: random.Random, folder: Path) -> Case:
    """Make a call."""
    name = rng.choice(list(_CALLS))
    return _CALLS[name](rng)


def draw(rng: random.Random, strategy: SearchStrategy[Any]) -> Any:
    """Return a value of a strategy, the same for the same chance."""
    drawn: list[Any] = []

    @seed(rng.randrange(2**32))
    @settings(
        max_examples=_EXAMPLES,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def keep(value: Any) -> None:
        drawn.append(value)

    keep()
    return drawn[-1]


def _draw_some(
    rng: random.Random, optional: dict[str, SearchStrategy[Any]], most: int = 2
) -> dict[str, Any]:
    """Return values of a few of the optional arguments: one odd one hides others."""
    names = rng.sample(list(optional), rng.randint(0, most))
    return {name: draw(rng, optional[name]) for name in names}


def _shown(method: str, arguments: dict[str, Any]) -> str:
    return f"{method}({', '.join(f'{name}={value!r:.60}' for name, value in arguments.items())})"


def _recommend(rng: random.Random) -> Case:
    users = rng.choice(
        [_user, _user, st.lists(_user, max_size=4), st.lists(_user | _not_an_id, max_size=2)]
    )
    items = st.lists(_item, max_size=5)
    arguments = {"users": draw(rng, users)} | _draw_some(
        rng,
        {
            "n": _count,
            "by": _by,
            "exclude_seen": st.booleans(),
            "aspects": st.booleans(),
            "allow": items,
            "block": items,
            "candidates": items | st.dictionaries(_user, items, max_size=3),
            "on_unknown": st.sampled_from(["raise", "popular", "popular", "other"]),
            "preference": _number,
        },
    )
    asked = model(rng.choice(list(QUICK)))

    def lists_are_wrong(lists: pl.DataFrame) -> str | None:
        users = arguments["users"]
        each = [users] if isinstance(users, str) else users
        if len(set(each)) < len(each):
            return None
        if "allow" in arguments and not set(lists["item"]) <= set(arguments["allow"]):
            return "an item that is not allowed"
        if "block" in arguments and set(lists["item"]) & set(arguments["block"]):
            return "an item that is blocked"
        if len(lists) > max(arguments.get("n", 10), 0) * len(each):
            return "more items than were asked for"
        return lists_wrong(lists, asked)

    return Case(
        f"{type(asked).__name__}.{_shown('recommend', arguments)}",
        lambda: asked.recommend(**arguments),
        lists_are_wrong,
    )


def _predict(rng: random.Random) -> Case:
    pairs = draw(rng, st.lists(st.tuples(_user, _item), max_size=3))
    arguments: dict[str, Any] = {
        "users": [user for user, _ in pairs],
        "items": [item for _, item in pairs],
    }
    arguments["raw"] = rng.random() < 0.5
    if rng.random() < 0.3:
        odd = _not_an_id | st.lists(_user | _not_an_id, max_size=3)
        arguments[rng.choice(["users", "items"])] = draw(rng, odd)
    asked = model(rng.choice(list(QUICK)))

    def prediction_is_wrong(values: np.ndarray) -> str | None:
        if not np.isfinite(values).all():
            return "a rating that is no finite number"
        if not arguments["raw"] and values.size and not (values.min() >= 1 and values.max() <= 5):
            return "a rating outside the scale"
        return None

    return Case(
        f"{type(asked).__name__}.{_shown('predict', arguments)}",
        lambda: asked.predict(**arguments),
        prediction_is_wrong,
    )


def _question(rng: random.Random) -> Case:
    """Ask what has no rule of its own but to answer or to refuse."""
    asked = model(rng.choice(list(QUICK)))
    method, strategy = rng.choice(
        [
            (
                "compare",
                {
                    "user": _user,
                    "first": _item,
                    "second": _item,
                    "pairs": _count.filter(lambda n: n < 10**4),
                },
            ),
            (
                "explain",
                {
                    "user": _user,
                    "item": _item,
                    "by": _by,
                    "template": st.none()
                    | _text
                    | st.sampled_from(["{item}", "{x}", "{0}", "{item.__class__}", "{", "%s"]),
                    "language": st.sampled_from(["en", "de", ""]),
                },
            ),
            ("correlation", {"user": _user, "item": _item}),
            ("similar_items", {"item": _item, "n": _count, "by": _by}),
            ("similar_users", {"user": _user, "n": _count, "by": _by}),
            ("vectors", {"by": _by}),
            (
                "index",
                {
                    "clusters": st.none() | _count.filter(lambda n: n < 10**3),
                    "probes": st.none() | _count,
                },
            ),
            ("set_params", {"seed": _count}),
        ]
    )
    arguments = draw(rng, st.fixed_dictionaries(strategy))
    target = asked.clone() if method == "set_params" else asked
    return Case(
        f"{type(asked).__name__}.{_shown(method, arguments)}",
        lambda: repr(getattr(target, method)(**arguments)),
        lambda answer: None,
    )


def _fold_in(rng: random.Random) -> Case:
    asked = model(rng.choice(list(QUICK)))
    method = rng.choice(["fold_in", "fold_in", "complete"])
    rows = draw(rng, st.lists(st.tuples(_user, _item, _stars, _stars), min_size=1, max_size=4))
    table = pl.DataFrame(
        {
            "user": [r[0] for r in rows],
            "item": [r[1] for r in rows],
            "overall": [r[2] for r in rows],
            "service": [r[3] for r in rows],
            "value": [3.0] * len(rows),
        },
        strict=False,
    )
    of = rng.choice(["users", "items", "other"])
    grown: Callable[[], Any] = (
        (lambda: asked.complete(table))
        if method == "complete"
        else (lambda: asked.fold_in(table, of=of))
    )

    def grown_is_wrong(answer: Model | pl.DataFrame) -> str | None:
        if isinstance(answer, pl.DataFrame):
            return None
        lists = answer.recommend(list(answer.catalogue.users), n=3)
        return lists_wrong(lists, answer)

    return Case(f"{type(asked).__name__}.{method}({rows!r:.120}, of={of})", grown, grown_is_wrong)


def _arrays(rng: random.Random) -> Case:
    rows = draw(rng, st.lists(st.tuples(_user, _item, _stars), max_size=5))
    bounds = st.tuples(_number, _number) | st.just((1, 5))
    arguments = {"aspects": ["overall"]} | _draw_some(
        rng,
        {
            "aspects": st.sampled_from([["a", "a"], [], [""], ["user"], ["\x1b"]]),
            "scale": bounds | st.dictionaries(_aspect, bounds, max_size=2),
            "timestamps": st.lists(
                st.integers(-(2**65), 2**65), min_size=len(rows) // 2, max_size=len(rows)
            ),
        },
        most=1,
    )
    values = [[row[2]] for row in rows]
    users = [row[0] for row in rows][: rng.choice([99, 99, 2])]

    def arrays_are_wrong(made: Ratings) -> str | None:
        pairs = {(row[0], row[1]) for row in rows}
        return None if len(made) == len(pairs) else f"{len(made)} rows of {len(pairs)} pairs"

    return Case(
        _shown(f"Ratings.from_arrays({rows!r:.80}, ", arguments),
        lambda: Ratings.from_arrays(users, [row[1] for row in rows], values, **arguments),
        arrays_are_wrong,
    )


def _of_ratings(rng: random.Random) -> Case:
    method, strategy = rng.choice(
        [
            ("k_core", {"k": _count | _number}),
            ("split", {"train": _number, "validation": _number, "test": _number, "seed": _count}),
            (
                "split",
                {
                    "by": st.sampled_from(["random", "time", "time-per-user", "times", ""]),
                    "seed": _count,
                },
            ),
        ]
    )
    arguments = draw(rng, st.fixed_dictionaries(strategy))

    def part_is_wrong(answer: Any) -> str | None:
        if method == "split":
            count = len(answer.train) + len(answer.validation) + len(answer.test)
            return None if count == len(ratings()) else f"{count} rows of {len(ratings())}"
        k = arguments["k"]
        if not len(answer):
            return None
        counts = [np.diff(answer.user_pointer).min(), np.bincount(answer.item_codes).min()]
        return None if min(counts) >= k else f"somebody has {min(counts)} ratings"

    return Case(
        f"Ratings.{_shown(method, arguments)}",
        lambda: getattr(ratings(), method)(**arguments),
        part_is_wrong,
    )


def _evaluate(rng: random.Random) -> Case:
    arguments = _draw_some(
        rng,
        {
            "metrics": st.lists(
                st.sampled_from(
                    ["ndcg@10", "map", "mrr@5", "ndcg@0", "ndcg@-1", "x", "", "ndcg@1e3"]
                ),
                max_size=3,
            ),
            "aspects": st.lists(_aspect, max_size=3),
        },
    )
    asked = model("ItemMean")

    def report_is_wrong(answer: Any) -> str | None:
        repeated = len(set(arguments.get("aspects", []))) < len(arguments.get("aspects", []))
        return "repeated aspects were judged without a word" if repeated else None

    return Case(
        _shown("evaluate", arguments),
        lambda: dmrank.evaluate(asked, split(), **arguments),
        report_is_wrong,
    )


def _tune(rng: random.Random) -> Case:
    arguments = _draw_some(
        rng,
        {
            "trials": st.integers(-2, 2),
            "strategy": st.sampled_from(["tpe", "grid", "random", "gird", ""]),
            "metric": st.sampled_from(["ndcg@10", "map", "x", "ndcg@-1"]),
            "users": st.integers(-2, 20),
            "seed": _count,
            "parameters": st.dictionaries(
                st.sampled_from(["shrinkage", "x", "seed"]), _number, max_size=1
            ),
            "space": st.just({})
            | st.just({"x": dmrank.Search((1.0, 2.0))})
            | st.just({"shrinkage": dmrank.Search(())}),
        },
    )

    def search_is_wrong(found: Any) -> str | None:
        known = arguments.get("strategy", "tpe") in ("tpe", "grid", "random")
        return None if known else "another strategy than the one that was asked for"

    return Case(
        _shown("tune", arguments),
        lambda: dmrank.tune("ItemMean", split(), **{"trials": 1, **arguments}),
        search_is_wrong,
    )


def _make(rng: random.Random) -> Case:
    arguments = _draw_some(
        rng,
        {
            "users": st.integers(-1, 20),
            "items": st.integers(-1, 20),
            "ratings": st.integers(-1, 500),
            "aspects": st.sampled_from([["a"], [], ["a", "a"], ["user"], [""]]),
            "factors": st.integers(-1, 3),
            "missing": _number,
            "signal": _number,
            "noise": _number,
            "correlation": _number,
            "seed": _count,
        },
    )
    smaller = {"users": 10, "items": 8, "ratings": 30, **arguments}
    return Case(
        _shown("make_ratings", arguments),
        lambda: dmrank.make_ratings(**smaller).ratings,
        lambda made: None if np.isfinite(made.scale).all() else "a scale that is not finite",
    )


def _frame(rng: random.Random) -> Case:
    """Read a pandas frame with ids and columns as notebooks have them."""
    ids = rng.choice(
        [
            st.sampled_from(["a", "b", "1"]),
            st.integers(1, 4),
            st.sampled_from(["a", 1, 2]),
            st.sampled_from(["a", "b", "1", 1, 2, 1.5, 1.0, None, float("nan"), "", True, b"a"]),
        ]
    )
    rows = draw(rng, st.lists(st.tuples(ids, ids, _stars), min_size=1, max_size=5))
    names = rng.choice(
        [["user", "item", "overall"]] * 4
        + [["user", "item", "item"], ["user", "item", 5], ["user", "user", "overall"]]
    )
    frame = pd.DataFrame(rows, columns=names)
    arguments = _draw_some(
        rng,
        {
            "scale": st.sampled_from(
                [(1, 5), (5, 1), (1,), "1:5", (float("nan"), 5), {"x": (1, 5)}, (1, 1)]
            ),
            "missing_values": st.sampled_from([[], [-1], [0, 5], ["x"], [None], [float("nan")]]),
            "aspects": st.sampled_from([["overall"], ["overall", "overall"], [], ["x"], ["user"]]),
        },
    )

    def frame_is_wrong(answer: Any) -> str | None:
        texts = [[_id_text(value) for value in row[:2]] for row in rows]
        if any(text is None for row in texts for text in row):
            return (
                f"ids that are no texts and no whole numbers became {list(answer.ratings.users)!r}"
            )
        reading = Reading(
            [frozenset([row[0]]) for row in texts], [frozenset([row[1]]) for row in texts]
        )
        return wrong(answer, [reading], None)

    return Case(
        f"read_ratings(pandas {rows!r:.100}, {names}, {arguments})",
        lambda: read(frame, **arguments),
        frame_is_wrong,
    )


def _id_text(value: Any) -> str | None:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # what is missing elsewhere made pandas add a point
    return str(value) if type(value) is int else None


_CALLS: dict[str, Callable[[random.Random], Case]] = {
    "recommend": _recommend,
    "predict": _predict,
    "question": _question,
    "fold in": _fold_in,
    "arrays": _arrays,
    "of ratings": _of_ratings,
    "evaluate": _evaluate,
    "tune": _tune,
    "make": _make,
    "frame": _frame,
}
