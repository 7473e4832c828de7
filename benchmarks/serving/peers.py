"""Other services around the same factors: FastAPI with implicit, and Cornac's own server.

Run by the interpreter of `.peers/serving`, which has these packages and not dmrank.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_FACTORS = "DMRANK_BENCH_FACTORS"


def _ranker() -> Callable[[str, int], list[dict[str, Any]]]:
    """Return what makes a list of implicit's matrix factorization."""
    import scipy.sparse as sp
    from implicit.cpu.als import AlternatingLeastSquares

    arrays = np.load(os.environ[_FACTORS])
    model = AlternatingLeastSquares(factors=arrays["users"].shape[1], num_threads=1)
    model.user_factors, model.item_factors = arrays["users"], arrays["items"]
    seen = sp.csr_matrix(
        (np.ones(len(arrays["seen"]), np.float32), arrays["seen"], arrays["pointer"]),
        shape=(len(arrays["users"]), len(arrays["items"])),
    )
    users = {name: code for code, name in enumerate(arrays["user_names"].tolist())}
    items = arrays["item_names"].tolist()

    def rank(user: str, n: int) -> list[dict[str, Any]]:
        code = users[user]
        found, scores = model.recommend(code, seen[code], N=n)
        return [
            {"rank": rank, "item": items[item], "score": float(score)}
            for rank, (item, score) in enumerate(zip(found, scores, strict=True), start=1)
        ]

    return rank


def implicit_app() -> Any:
    """Rank in the loop, and return plain values: the fastest that FastAPI does."""
    from fastapi import FastAPI

    rank, app = _ranker(), FastAPI(openapi_url=None)

    @app.get("/recommend")
    async def recommend(user: str, n: int = 10) -> Any:
        return rank(user, n)

    return app


def implicit_app_as_usual() -> Any:
    """Rank on a thread, so that others do not wait, and answer with a type: as its docs do."""
    from fastapi import FastAPI
    from pydantic import create_model

    rank, app = _ranker(), FastAPI()
    row = create_model("Row", rank=(int, ...), item=(str, ...), score=(float, ...))

    def recommend(user: str, n: int = 10) -> Any:
        return rank(user, n)

    app.get("/recommend", response_model=list[row])(recommend)
    return app


def save_cornac(folder: str) -> None:
    """Fit Cornac's BPR on the same ratings for an iteration, and put the factors into it."""
    import cornac

    arrays = np.load(os.environ[_FACTORS])
    counts = np.diff(arrays["pointer"])
    users = np.repeat(arrays["user_names"], counts)
    data = [
        (user, item, 1.0)
        for user, item in zip(users, arrays["item_names"][arrays["seen"]], strict=True)
    ]
    train = cornac.data.Dataset.from_uir(data, seed=0)
    model = cornac.models.BPR(k=arrays["users"].shape[1], max_iter=1, seed=0, use_bias=False)
    model.fit(train)
    model.save(folder, save_trainset=True)


if __name__ == "__main__":
    save_cornac(str(Path(sys.argv[1])))
