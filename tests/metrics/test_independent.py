"""Every metric agrees with an independent library on random rankings."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, P, R, Success, nDCG

from dmrank.metrics import parse_metric

ITEMS = 40
PAIRS = {
    "ndcg@5": nDCG @ 5,
    "ndcg@50": nDCG @ 50,
    "ap": AP,
    "rr": RR,
    "precision@5": P @ 5,
    "recall@10": R @ 10,
    "hit@3": Success @ 3,
}


def random_rankings(users: int = 30, seed: int = 0) -> tuple[list, list, list, list, list]:
    """Return ranks, gains and pointer as we take them, and judgements and run as they do."""
    rng = np.random.default_rng(seed)
    ranks, gains, pointer, judgements, run = [], [], [0], [], []
    for user in range(users):
        order = rng.permutation(ITEMS)
        relevant = rng.choice(ITEMS, size=rng.integers(1, 9), replace=False)
        ratings = rng.integers(1, 6, len(relevant))
        place = np.argsort(order) + 1
        ranks += place[relevant].tolist()
        gains += ratings.tolist()
        pointer.append(len(ranks))
        judgements += [
            ir_measures.Qrel(f"u{user}", f"i{item}", int(rating))
            for item, rating in zip(relevant, ratings, strict=True)
        ]
        run += [
            ir_measures.ScoredDoc(f"u{user}", f"i{item}", float(ITEMS - n))
            for n, item in enumerate(order)
        ]
    return ranks, gains, pointer, judgements, run


@pytest.mark.parametrize("name", PAIRS)
def test_an_independent_library_agrees(name: str) -> None:
    ranks, gains, pointer, judgements, run = random_rankings()
    ours = parse_metric(name)(ranks, gains, pointer)
    theirs = {
        value.query_id: value.value
        for value in ir_measures.iter_calc([PAIRS[name]], judgements, run)
    }
    np.testing.assert_allclose(ours, [theirs[f"u{user}"] for user in range(len(ours))], atol=1e-6)
