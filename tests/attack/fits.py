"""Fits of extreme ratings with extreme parameters: what is fitted answers, and within its scale."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

import dmrank
from dmrank import Model, Ratings
from tests.attack.case import Case
from tests.attack.fixtures import QUICK, lists_wrong

_FIXED = ("threads", "iterations", "evaluate_every", "patience", "validation_users")


def make(rng: random.Random, folder: Path) -> Case:
    """Fit a model to ratings that nobody has, with parameters that nobody chooses."""
    name = rng.choice(list(QUICK))
    kind = getattr(dmrank, name)
    parameters = {**QUICK[name], "threads": 1, **_extreme(rng, kind)}
    ratings, what = _ratings(rng)
    held_out = ratings.split(0.6, 0.2, 0.2) if rng.random() < 0.3 and len(ratings) > 5 else None

    def fit() -> tuple[Model, Any, np.ndarray]:
        model = kind(**parameters)
        train = ratings if held_out is None else held_out.train
        model.fit(train, validation=None if held_out is None else held_out.validation)
        known = np.unique(train.user_codes)
        users = [train.users[int(code)] for code in known[:5]]
        items = [train.items[int(code)] for code in np.unique(train.item_codes)[:5]]
        lists = model.recommend(users, n=3)
        return model, lists, np.concatenate([model.predict(user, items) for user in users])

    def wrong(answer: tuple[Model, Any, np.ndarray]) -> str | None:
        model, lists, predicted = answer
        if not np.isfinite(predicted[:, ~np.isnan(ratings.scale[:, 0])]).all():
            return "a predicted rating that is no finite number"
        slack = 1e-5 * np.maximum(np.abs(ratings.scale).max(axis=1), 1e-30)
        if (
            name != "Popularity"
            and (
                (predicted < ratings.scale[:, 0] - slack)
                | (predicted > ratings.scale[:, 1] + slack)
            ).any()
        ):
            low, high = predicted.min(axis=0), predicted.max(axis=0)
            return f"a predicted rating outside its scale: {low} to {high}"
        return lists_wrong(lists, model)

    shown = {key: value for key, value in parameters.items() if key not in QUICK[name]}
    return Case(f"{name}, {what}, {shown}", fit, wrong)


def _extreme(rng: random.Random, kind: type[Model]) -> dict[str, Any]:
    """Choose some parameters at the ends of what their declaration allows."""
    chosen: dict[str, Any] = {}
    for name, field in kind.Config.model_fields.items():
        if name in _FIXED or rng.random() > 0.12 or field.annotation not in (int, float):
            continue
        low = next((b.ge for b in field.metadata if isinstance(b, Ge)), None)
        above = next((b.gt for b in field.metadata if isinstance(b, Gt)), None)
        high = next((b.le for b in field.metadata if isinstance(b, Le)), None)
        below = next((b.lt for b in field.metadata if isinstance(b, Lt)), None)
        if field.annotation is int:
            least = int(low if low is not None else 0)
            chosen[name] = rng.choice([least, least + 1, least + 7])
            continue
        ends = [low, high, 1e-12, 1e-3, 10.0, 1e4, 0.5, field.default, -1.0]
        ends += [] if above is None else [above, above + 1e-9]
        ends += [] if below is None else [below, below - 1e-9]
        chosen[name] = rng.choice([end for end in ends if end is not None])
    return chosen


def _ratings(rng: random.Random) -> tuple[Ratings, str]:
    users, items, aspects = rng.choice(
        [(1, 1, 1), (1, 8, 2), (8, 1, 2), (3, 3, 1), (20, 12, 3), (20, 12, 3)]
    )
    count = rng.randint(1, users * items)
    drawn = np.random.default_rng(rng.randrange(2**32))
    pairs = drawn.choice(users * items, count, replace=False)
    values = drawn.integers(1, 6, (count, aspects)).astype(np.float64)
    what = rng.choice(
        [
            "plain",
            "constant",
            "one constant",
            "missing",
            "tiny",
            "huge",
            "shifted",
            "far",
            "negative",
            "one outlier",
        ]
    )
    if what == "constant":
        values[:] = 3
    elif what == "one constant":
        values[:, 0] = 5
    elif what == "missing":
        values[drawn.random(values.shape) < 0.7] = np.nan
    elif what in ("tiny", "huge"):
        values *= 1e-20 if what == "tiny" else 1e20
    elif what == "shifted":
        values += 1e6
    elif what == "far":
        values *= 10.0 ** drawn.integers(-10, 10, values.shape)
    elif what == "negative":
        values = -10 * values
    elif what == "one outlier":
        values[0, 0] = 1e15
    scale = (1.0, 5.0) if what in ("plain", "constant", "missing") and rng.random() < 0.5 else None
    made = Ratings.from_arrays(
        [f"u{pair // items}" for pair in pairs], [f"i{pair % items}" for pair in pairs], values,
        aspects=["overall", "service", "value"][:aspects], scale=scale,
    )  # fmt: skip
    return made, f"{what} {users} × {items} × {aspects}, {count} rows, scale {scale}"
