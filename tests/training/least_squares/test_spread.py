"""Fits that are spread: the same bits, and as many bytes on the way as the docs say."""

from __future__ import annotations

import resource
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from dmrank import EASE, IALS, Cooccurrence, Hurdle, ItemMean, MixedEffects, Model, make_ratings
from dmrank.support.errors import WriteError
from dmrank.support.workers import use_workers
from dmrank.training.rating_files import ranges
from tests.training.counting_workers import BreakdownError, CountingWorkers

SPLIT = make_ratings(700, 90, 7_000, missing=0.2, seed=1).ratings.split(seed=0)
MODELS = {
    "ials": IALS(factors=8, iterations=6, patience=2, seed=1),
    "ease": EASE(),
    "ease, pruned": EASE(weights_per_item=9),
    "cooccurrence": Cooccurrence(),
    "mixedeffects": MixedEffects(iterations=12, evaluate_every=1),
    "mixedeffects, one noise": MixedEffects(iterations=4, noise="shared"),
    "hurdle": Hurdle(ials={"iterations": 4}, mixedeffects={"iterations": 6}, seed=1),
}


@pytest.fixture
def small_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks, parts and tasks of a few rows, so that there are many of each."""
    monkeypatch.setattr("dmrank.training.sums.BLOCK", 256)
    monkeypatch.setattr("dmrank.training.rating_files.MOST_RATINGS", 300)
    monkeypatch.setattr("dmrank.training.effects.spread.MOST_RATINGS", 300)
    monkeypatch.setattr("dmrank.models.kinds.weighing._USERS_PER_TASK", 50)


def assert_same(there: Model, here: Model) -> None:
    assert there.arrays.keys() == here.arrays.keys()
    for name, array in here.arrays.items():
        np.testing.assert_array_equal(there.arrays[name], array, err_msg=name)
    np.testing.assert_array_equal(there.history.objective, here.history.objective)
    for name, array in here.calibration.to_arrays().items():
        np.testing.assert_array_equal(there.calibration.to_arrays()[name], array, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_what_workers_fit_has_the_bits_of_one_machine(
    name: str, small_tasks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = MODELS[name]
    assert model.spreads_its_fit
    here = model.clone().fit(SPLIT.train, validation=SPLIT.validation)
    workers = CountingWorkers(tmp_path, monkeypatch)
    with use_workers(workers):
        there = model.clone().fit(SPLIT.train, validation=SPLIT.validation)
    assert_same(there, here)
    assert workers.folders > 0


@pytest.mark.parametrize(
    ("name", "share"),
    [("ials", 0.4), ("ials", 0.95), ("mixedeffects", 0.4), ("mixedeffects", 0.95), ("hurdle", 0.7)],
)
def test_a_run_that_was_killed_goes_on_to_the_same_bits(
    name: str, share: float, small_tasks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every state is saved, not one in half a minute.
    monkeypatch.setattr("dmrank.training.checkpoints.time.monotonic", count(0, 99).__next__)
    model, folder = MODELS[name], tmp_path / "checkpoint"
    workers = CountingWorkers(tmp_path / "whole", monkeypatch)
    with use_workers(workers):
        whole = model.clone().fit(SPLIT.train, validation=SPLIT.validation)
    tasks = (1 << 60) - workers.tasks_left
    killed = CountingWorkers(tmp_path / "killed", monkeypatch, int(share * tasks))
    with use_workers(killed), pytest.raises(BreakdownError):
        model.clone().fit(SPLIT.train, validation=SPLIT.validation, checkpoint=folder)
    resumed = CountingWorkers(tmp_path / "resumed", monkeypatch)
    with use_workers(resumed):
        there = model.clone().fit(SPLIT.train, validation=SPLIT.validation, checkpoint=folder)
    assert_same(there, whole)
    # What was done before is not done again.
    assert (1 << 60) - resumed.tasks_left < tasks


def test_a_full_disk_is_one_line(
    small_tasks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        with (
            use_workers(CountingWorkers(tmp_path, monkeypatch)),
            pytest.raises(WriteError, match="cannot be written: File too large") as caught,
        ):
            IALS(factors=8, iterations=2).fit(SPLIT.train)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(str(caught.value).splitlines()) == 1


def test_a_model_that_is_not_spread_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with use_workers(CountingWorkers(tmp_path, monkeypatch)):
        ItemMean().fit(SPLIT.train)
    assert "ItemMean is fitted on one machine" in capsys.readouterr().err


def test_bytes_on_the_way_are_those_of_the_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dmrank.training.rating_files.MOST_RATINGS", 5_000)
    ratings = make_ratings(20_000, 900, 60_000, seed=1).ratings
    d, sweeps = 16, 3
    workers = CountingWorkers(tmp_path, monkeypatch)
    with use_workers(workers):
        IALS(factors=d, iterations=sweeps, seed=1).fit(ratings)
    n, M, N = len(ratings), len(ratings.users), len(ratings.items)
    raters = _distinct_raters(ratings)
    expected = {
        # Who rated what, by user and by item.
        "read user": 4 * n + 8 * M,
        "read item": 4 * n + 8 * N,
        # V once for each worker, of which there is one; U as it is written and added up.
        "read items": 4 * d * N,
        "write users": 4 * d * M,
        "read users": 4 * d * M,
        # U again, by those who rated each range of items.
        "take users": 4 * d * raters,
        "returned by _solve_items": (4 * d + 8) * N,
    }
    for what, size in expected.items():
        assert workers.bytes[what] == pytest.approx(sweeps * size, rel=0.05), what


def _distinct_raters(ratings) -> int:
    order = np.argsort(ratings.item_codes, kind="stable")
    counts = np.bincount(ratings.item_codes, minlength=len(ratings.items))
    pointer = np.concatenate([[0], np.cumsum(counts)])
    users = ratings.user_codes[order]
    return sum(
        len(np.unique(users[pointer[own.start] : pointer[own.stop]])) for own in ranges(pointer)
    )
