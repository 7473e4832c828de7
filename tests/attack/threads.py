"""One model asked by many threads at once: everybody gets what one would get alone."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

import dmrank
from dmrank import Model
from tests.attack.case import Case
from tests.attack.fixtures import QUICK, model

_THREADS = 8


def make(rng: random.Random, folder: Path) -> Case:
    """Ask a model that was just loaded, so that nothing of it is laid out yet."""
    name = rng.choice(list(QUICK))
    file = model(name).save(folder / "model.dmrank")
    questions = [_question(rng) for _ in range(_THREADS * 3)]

    def ask_all() -> list[str]:
        loaded = dmrank.load(file)
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda question: _ask(loaded, *question), questions))

    def wrong(answers: list[str]) -> str | None:
        alone = dmrank.load(file)
        for question, answer in zip(questions, answers, strict=True):
            if answer != _ask(alone, *question):
                return f"another answer to {question!r} among threads"
        return None

    return Case(f"{name}, {_THREADS} threads", ask_all, wrong)


def _question(rng: random.Random) -> tuple[str, str, str]:
    what = rng.choice(["list", "list", "rating", "similar", "grown"])
    by = rng.choice(["overall", "service", "value"])
    return what, f"u{rng.randrange(40):06}", by


def _ask(asked: Model, what: str, user: str, by: str) -> str:
    users, items = list(asked.catalogue.users), list(asked.catalogue.items)
    known = user if user in users else users[0]
    try:
        if what == "list":
            return repr(asked.recommend(known, n=4, by=by, aspects=True).to_dicts())
        if what == "rating":
            return repr(asked.predict(known, items[:3]).tolist())
        if what == "similar":
            return repr(asked.similar_items(items[1], n=3, by=by).to_dicts())
        stars = {aspect: [4.0] for aspect in asked.catalogue.aspects}
        new = {"user": ["new"], "item": items[:1], **stars}
        return repr(asked.fold_in(pl.DataFrame(new)).recommend("new", n=3, by=by).to_dicts())
    except dmrank.UnsupportedError as error:
        return str(error)
