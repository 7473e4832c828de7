"""Rows that are solved elsewhere: the same bits, and as many bytes on the way as the docs say."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dmrank import IALS, make_ratings
from dmrank.support.workers import use_workers


class CountingWorkers:
    """Does everything in this process, by way of bytes, which it counts."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.shared = self.returned = 0

    def new_folder(self) -> Path:
        raise AssertionError("no file is needed")

    def check_sees(self, file: Path) -> None:
        raise AssertionError("no file is needed")

    def share(self, value: Any) -> bytes:
        sent = pickle.dumps(value, protocol=5)
        # What is held goes to every node, observations to the one that works on them.
        self.shared += len(sent) * (self.nodes if type(value).__name__ == "_Held" else 1)
        return sent

    def run(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for arguments in calls:
            result = pickle.dumps(function(*map(pickle.loads, arguments)), protocol=5)
            self.returned += len(result)
            yield pickle.loads(result)


@pytest.mark.parametrize("nodes", [1, 3])
def test_bytes_are_those_of_the_formula_and_bits_those_of_one_machine(nodes, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.training.least_squares.spread._ROWS_PER_BLOCK", 500)
    ratings = make_ratings(2_000, 900, 20_000, seed=1).ratings
    d, sweeps = 16, 3
    here = IALS(factors=d, iterations=sweeps, seed=1).fit(ratings)
    workers = CountingWorkers(nodes)
    with use_workers(workers):
        there = IALS(factors=d, iterations=sweeps, seed=1).fit(ratings)
    for name, array in here.arrays.items():
        np.testing.assert_array_equal(there.arrays[name], array)
    rows, n = len(ratings.users) + len(ratings.items), len(ratings)
    once, to_nodes, back = 16 * n + 16 * rows, 4 * d * nodes * rows, (4 * d + 8) * rows
    assert workers.shared == pytest.approx(once + sweeps * to_nodes, rel=0.05)
    assert workers.returned == pytest.approx(sweeps * back, rel=0.05)
