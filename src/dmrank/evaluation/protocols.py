"""Protocols: among which candidates a test item has to come first (see docs/experiments.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol as Interface

import numpy as np

from dmrank.fitted.scorers import Scorer
from dmrank.ranking import RankQuery
from dmrank.support.arrays import AnyFloats, Float32s, Int32s, Int64s
from dmrank.support.errors import ConfigError
from dmrank.support.seeds import check_seed
from dmrank.training.held_out import HeldOut


class Ranking(Interface):
    """Held-out items, ready to be ranked by any model."""

    def ranks(self, aspect: str, scorer: Scorer, threads: int | None = None) -> Int64s:
        """Return the rank of each held-out item, 0 for one without a rating on the aspect."""

    def candidates(self, aspect: str) -> Int64s:
        """Return how many items are ranked for each user."""


class Protocol(Interface):
    """Decides what the candidates are."""

    def prepare(self, held_out: HeldOut) -> Ranking:
        """Prepare held-out items to be ranked."""


@dataclass(frozen=True)
class Full:
    """Candidates are all items with a training row that the user has not rated before."""

    def __str__(self) -> str:
        return "full"

    def prepare(self, held_out: HeldOut) -> Ranking:
        """Prepare held-out items to be ranked."""
        return _FullRanking(held_out)


@dataclass(frozen=True)
class Sampled:
    """Candidates are the user's test items and so many seeded items that the user never rated.

    They are the same for all models and aspects. Close to the paper's Table 2 in magnitude; not
    for claims, for a sampled metric may order models differently from the full one.
    """

    negatives: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.negatives < 1:
            raise ConfigError(f"sampled({self.negatives}): give at least one negative")
        check_seed(self.seed)

    def __str__(self) -> str:
        return f"sampled({self.negatives})"

    def prepare(self, held_out: HeldOut) -> Ranking:
        """Prepare held-out items to be ranked."""
        items = np.flatnonzero(held_out.candidates).astype(np.int32)
        drawn = []
        for n, user in enumerate(held_out.users):
            lists = (held_out.items.of(n, n + 1), held_out.excluded.of(n, n + 1))
            free = np.setdiff1d(items, np.concatenate([rated.items for rated in lists]))
            # Keyed by the user: the draw depends on no other user.
            rng = np.random.default_rng([self.seed, int(user)])
            drawn.append(rng.choice(free, size=min(self.negatives, len(free)), replace=False))
        return _SampledRanking(held_out, drawn)


def parse_protocol(name: str) -> Protocol:
    """Return a protocol by its name.

    Examples
    --------
    >>> parse_protocol("sampled(100)")
    Sampled(negatives=100, seed=0)
    """
    spelled = name.strip().lower()
    if spelled == "full":
        return Full()
    if match := re.fullmatch(r"sampled\((\d+)\)", spelled):
        return Sampled(int(match[1]))
    raise ConfigError(f"no protocol {name!r}: give 'full' or 'sampled(100)'")


@dataclass(frozen=True)
class _FullRanking:
    held_out: HeldOut

    def ranks(self, aspect: str, scorer: Scorer, threads: int | None = None) -> Int64s:
        """Return the rank of each held-out item, 0 for one without a rating on the aspect."""
        return scorer.ranks(self.held_out.users, self.held_out.query(aspect), threads)

    def candidates(self, aspect: str) -> Int64s:
        """Return how many items are ranked for each user."""
        pointer, excluded = self.held_out.excluded
        rows = np.repeat(np.arange(len(self.held_out.users)), np.diff(pointer))
        is_candidate = self.held_out.candidates[excluded]
        taken = np.bincount(rows[is_candidate], minlength=len(self.held_out.users))
        asked = self.held_out.query(aspect)
        all_tests = np.diff(asked.items.pointer)
        return np.asarray(self.held_out.candidates.sum() - taken - (all_tests - _rated(asked)))


class _SampledRanking:
    def __init__(self, held_out: HeldOut, negatives: list[Int32s]) -> None:
        self.held_out = held_out
        sizes = [len(drawn) for drawn in negatives]
        self.pointer = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self.users = np.repeat(held_out.users, sizes)
        self.items = np.concatenate([*negatives, np.empty(0, dtype=np.int32)])

    def ranks(self, aspect: str, scorer: Scorer, threads: int | None = None) -> Int64s:
        """Return the rank of each held-out item, 0 for one without a rating on the aspect."""
        del threads  # so few scores are not worth sharing out
        asked = self.held_out.query(aspect)
        pointer, items = asked.items
        row_users = np.repeat(self.held_out.users, np.diff(pointer))
        of_tests = scorer.of_pairs(row_users, items)
        of_negatives = scorer.of_pairs(self.users, self.items)
        ranks = np.zeros(len(items), dtype=np.int64)
        for n in range(len(self.held_out.users)):
            rows = np.arange(pointer[n], pointer[n + 1])
            rows = rows[~np.isnan(asked.gains[rows])]
            negatives = of_negatives[self.pointer[n] : self.pointer[n + 1]]
            ranks[rows] = _places(of_tests[rows], asked.gains[rows], negatives)
        return ranks

    def candidates(self, aspect: str) -> Int64s:
        """Return how many items are ranked for each user."""
        return np.asarray(np.diff(self.pointer) + _rated(self.held_out.query(aspect)))


def _rated(asked: RankQuery) -> Int64s:
    """Return how many of each user's asked items have a rating."""
    pointer = asked.items.pointer
    rows = np.repeat(np.arange(len(pointer) - 1), np.diff(pointer))
    return np.bincount(rows[~np.isnan(asked.gains)], minlength=len(pointer) - 1)


# The rule of `ranking.ranks`, of which a block of users × candidates would be mostly padding.
def _places(tests: Float32s, gains: AnyFloats, negatives: Float32s) -> Int64s:
    """Return the places of test items among each other and the negatives, ties against them."""
    order = np.lexsort((gains, -tests))
    among_tests = np.empty(len(tests), dtype=np.int64)
    among_tests[order] = np.arange(1, len(tests) + 1)
    before = len(negatives) - np.searchsorted(np.sort(negatives), tests, side="left")
    return among_tests + before
