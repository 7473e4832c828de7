"""The same results on real Ray processes: whatever the workers, and whatever becomes of them."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import (
    ClusterError,
    ConfigError,
    DataError,
    Hurdle,
    Model,
    Split,
    WriteError,
    make_ratings,
)
from dmrank.distributed.lists import write_folded_in_parts, write_list_parts
from dmrank.distributed.parts import PartSettings
from dmrank.experiments.paper import run_paper
from dmrank.models.opened import ModelFile
from dmrank.support.workers import current_workers
from tests.distributed.conftest import add_node
from tests.distributed.processes import all_end, children_of, title_of
from tests.text.corpus import make_reviews

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def split() -> Split:
    return make_ratings(300, 60, 6_000, missing=0.2, seed=1).ratings.split(seed=0)


@pytest.fixture(scope="module")
def model(split: Split) -> Hurdle:
    return Hurdle(seed=0).fit(split.train, validation=split.validation)


@pytest.fixture(scope="module")
def file(model: Hurdle, tmp_path_factory) -> ModelFile:
    return ModelFile.at(model.save(tmp_path_factory.mktemp("model") / "hurdle.dmrank"))


@pytest.fixture(scope="module")
def users(model: Hurdle) -> list[str]:
    """Everybody, and a few whom nobody knows."""
    return [*model.users, "a stranger", "another"]


#: A mix, filters, aspects that are missing, and strangers.
OPTIONS: dict[str, Any] = {
    "by": {"service": 1.0, "value": 2.0},
    "allow": [f"h{item:06d}" for item in range(50)],
    "block": ["h000007"],
    "aspects": True,
    "on_unknown": "popular",
}


def _content(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def _parts(folder: Path, users_per_part: int = 20) -> PartSettings:
    return PartSettings(folder, is_joined=False, users_per_part=users_per_part)


def _saved(model: Model, path: Path) -> str:
    return hashlib.sha256(model.save(path).read_bytes()).hexdigest()


QUICK: dict[str, Any] = {"ials": {"iterations": 4}, "mixedeffects": {"iterations": 6}, "seed": 0}


@contextmanager
def _small_tasks() -> Iterator[None]:
    """Have blocks and tasks of a few rows, so that there is work for many."""
    sizes = {
        "text.extract._TASK": 1,
        "text.reviews.BLOCK": 64,
        "evaluation.blocks._USERS_PER_BLOCK": 50,
        "training.sums.BLOCK": 128,
        "training.rating_files.MOST_RATINGS": 500,
        "training.effects.spread.MOST_RATINGS": 500,
        "models.kinds.weighing._USERS_PER_TASK": 60,
    }
    with pytest.MonkeyPatch.context() as patch:
        for place, size in sizes.items():
            patch.setattr(f"dmrank.{place}", size)
        yield


class Results:
    """Everything that a cluster makes, as hashes."""

    def __init__(self, split: Split, model: Hurdle, file: ModelFile, users: list[str]) -> None:
        self.split, self.model, self.file, self.users = split, model, file, users
        self.means = dmrank.ItemMean().fit(split.train)
        self.new = make_ratings(40, 60, 400, missing=0.2, seed=9).ratings
        self.reviews = make_reviews(300)

    def made(self, folder: Path) -> dict[str, object]:
        """Make all of it, with files in a folder."""
        split, extracted = self.split, hashlib.sha256()
        with _small_tasks():
            fitted = Hurdle(**QUICK).fit(split.train, validation=split.validation)
            write_list_parts(self.file, self.users, 5, OPTIONS, _parts(folder / "lists"))
            write_folded_in_parts(
                self.file, self.new, 5, {"by": "service"}, _parts(folder / "new", 9)
            )
            ratings = dmrank.extract_aspects(self.reviews, overall="stars", verbose=False)
            ratings.update_digest(extracted)
            judged = {"hurdle": self.model, "means": self.means}
            report = dmrank.evaluate(judged, split, metrics=["ap", "ndcg@10", "coverage@5"])
        values = {key: hashlib.sha256(array).hexdigest() for key, array in report.values.items()}
        return {
            "model": _saved(fitted, folder / "fitted"),
            "lists": _content(folder / "lists"),
            "new users": _content(folder / "new"),
            "ratings": extracted.hexdigest(),
            "report": (values, report.joint_values, report.equal_scores),
        }


@pytest.fixture(scope="module")
def results(split: Split, model: Hurdle, file: ModelFile, users: list[str]) -> Results:
    return Results(split, model, file, users)


@pytest.fixture(scope="module")
def expected(results: Results, tmp_path_factory) -> dict[str, object]:
    """What one process makes, without a cluster."""
    return results.made(tmp_path_factory.mktemp("expected"))


@pytest.fixture(scope="module")
def lists(expected: dict[str, object]) -> object:
    """Those among it: parts, their manifest, and what identifies the run."""
    found = expected["lists"]
    assert isinstance(found, dict)
    assert len(found) == 16 + 2
    return found


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_nothing_depends_on_the_number_of_workers(
    ray_cluster, workers: int, results: Results, expected: dict[str, object], tmp_path: Path
) -> None:
    with _of_size(ray_cluster, workers), dmrank.cluster():
        made = results.made(tmp_path)
    assert made.keys() == expected.keys()
    for name, hashes in expected.items():
        assert made[name] == hashes, name


def test_fewer_users_than_workers_get_the_same_lists(
    ray_cluster, file: ModelFile, users: list[str], tmp_path: Path
) -> None:
    for place, where in (("here", None), ("there", "auto")):
        with dmrank.cluster(where) if where else _nothing():
            write_list_parts(file, users[:2], 5, OPTIONS, _parts(tmp_path / place, 1))
    assert _content(tmp_path / "there") == _content(tmp_path / "here")


def test_fewer_users_than_workers_have_the_same_fit(ray_cluster, tmp_path: Path) -> None:
    train = make_ratings(2, 30, 40, seed=3).ratings
    here = dmrank.IALS(factors=2, iterations=3).fit(train)
    with dmrank.cluster():
        there = dmrank.IALS(factors=2, iterations=3).fit(train)
    assert _saved(there, tmp_path / "there") == _saved(here, tmp_path / "here")


def test_a_model_that_is_made_of_others_holds_ratings_out_alike(
    ray_cluster, split: Split, tmp_path: Path
) -> None:
    here = Hurdle(seed=0).fit(split.train)
    with dmrank.cluster():
        there = Hurdle(seed=0).fit(split.train)
    # It outlives the cluster whose files it was made of.
    assert _saved(there, tmp_path / "there") == _saved(here, tmp_path / "here")


def test_a_search_depends_on_its_width_and_not_on_workers(ray_cluster, split: Split) -> None:
    def search() -> pl.DataFrame:
        quick = {"iterations": 6, "patience": 6, "factors": 4}
        found = dmrank.tune("IALS", split, trials=8, width=4, parameters=quick)
        return found.trials.drop("seconds")

    here = search()
    with dmrank.cluster():
        there = search()
    assert there.equals(here)


def test_the_tables_of_the_paper_are_the_same(ray_cluster, tmp_path: Path) -> None:
    ratings = make_ratings(80, 40, 1_600, seed=1).ratings
    settings: dict[str, Any] = {"models": ["EASE", "ItemMean"], "budget": "quick"}
    run_paper(ratings, tmp_path / "here", **settings)
    with dmrank.cluster():
        run_paper(ratings, tmp_path / "there", **settings)
    tables = sorted(path.name for path in (tmp_path / "here" / "tables").glob("table-*.csv"))
    assert "table-2.csv" in tables
    for name in tables:
        here, there = (tmp_path / place / "tables" / name for place in ("here", "there"))
        assert there.read_bytes() == here.read_bytes(), name


def test_a_mistake_on_a_worker_is_one_line_here(ray_cluster, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.text.reviews.BLOCK", 64)
    reviews = make_reviews(200).with_columns(
        user=pl.when(pl.int_range(pl.len()) == 150).then(pl.lit("")).otherwise("user")
    )
    with dmrank.cluster(), pytest.raises(DataError, match="row 151: the user is empty") as caught:
        dmrank.extract_aspects(reviews, overall="stars", verbose=False)
    assert len(str(caught.value).splitlines()) == 1


# What becomes of nodes, workers and drivers.


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _of_size(cluster: Any, workers: int) -> Iterator[None]:
    """Have so many nodes with a CPU for a while."""
    _resize(cluster, workers)
    try:
        yield
    finally:
        _resize(cluster, 3)


def _resize(cluster: Any, workers: int) -> None:
    nodes = sorted(cluster.worker_nodes, key=str)
    for node in nodes[workers:]:
        cluster.remove_node(node, allow_graceful=True)
    for _ in range(workers - len(nodes)):
        add_node(cluster)
    cluster.wait_for_nodes()


def _during(
    work: Callable[[], Any], folder: Path, act: Callable[[], Any], sign: str = "part-*[1-9].parquet"
) -> None:
    """Do something while others work: as soon as there is a file by which that is seen."""
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(copy_context().run, work)
        while not any(folder.glob(sign)) and not working.done():
            time.sleep(0.005)
        assert not working.done()
        act()
        working.result()


def _kill_node(cluster: Any) -> None:
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)


def _kill_worker(cluster: Any) -> None:
    """Kill a process that runs tasks, on whatever node there is one."""
    workers = [process for node in cluster.worker_nodes for process in _workers_of(node)]
    os.kill(workers[0], signal.SIGKILL)


def _stop_node(cluster: Any) -> None:
    """Stop everything of a node for ten seconds: it is given up, and its work done by others."""
    node = next(iter(cluster.worker_nodes))
    stopped = [*_workers_of(node), node.all_processes["raylet"][0].process.pid]
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    time.sleep(10)
    for process in stopped:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
    cluster.remove_node(node, allow_graceful=False)


def _workers_of(node: Any) -> list[int]:
    """Return the processes of a node that run tasks: children of its raylet."""
    raylet = node.all_processes["raylet"][0].process.pid
    titles = ("ray::_call", "ray::IDLE")
    return [process for process in children_of(raylet) if title_of(process).startswith(titles)]


@pytest.mark.parametrize(
    "act", [_kill_node, _kill_worker, _stop_node, add_node], ids=lambda act: act.__name__
)
def test_lists_are_the_same_whatever_becomes_of_a_node(
    ray_cluster, act, file: ModelFile, users: list[str], lists: object, tmp_path: Path
) -> None:
    folder = tmp_path / "lists"
    with _of_size(ray_cluster, 3), dmrank.cluster():
        _during(
            lambda: write_list_parts(file, users, 5, OPTIONS, _parts(folder)),
            folder,
            lambda: act(ray_cluster),
        )
    assert _content(folder) == lists


@pytest.mark.parametrize("act", [_kill_node, _kill_worker, add_node], ids=lambda act: act.__name__)
def test_a_fit_is_the_same_whatever_becomes_of_a_node(
    ray_cluster, act, split: Split, expected: dict[str, object], tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    with _small_tasks(), _of_size(ray_cluster, 3), dmrank.cluster(folder=shared):
        there = Hurdle(**QUICK)
        _during(
            lambda: there.fit(split.train, validation=split.validation),
            shared,
            lambda: act(ray_cluster),
            "*/call-*/users-2",  # the second sweep of IALS
        )
    assert _saved(there, tmp_path / "there") == expected["model"]


# What is wrong is said in one line.


def test_too_little_memory_is_said_first(ray_cluster) -> None:
    with dmrank.cluster():
        workers = current_workers()
        assert workers is not None
        workers.check_memory(1 << 20, "little")
        with pytest.raises(ClusterError, match=r"much needs .* GB of memory in each .* 0 workers"):
            workers.check_memory(1 << 60, "much")
        with pytest.raises(ClusterError, match="much needs .* on one node, and the largest"):
            workers.check_memory(1 << 60, "much", alone=True)


def test_a_task_that_ends_every_worker_is_given_up(ray_cluster, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.distributed.ray_workers._MOST_RETRIES", 1)
    with dmrank.cluster():
        workers = current_workers()
        assert workers is not None
        with pytest.raises(ClusterError, match="a task ended its worker 2 times"):
            list(workers.run(os._exit, [(1,)]))


def _work_for_ever(sign: Path) -> None:
    sign.with_suffix(".new").write_text(str(os.getpid()))
    sign.with_suffix(".new").rename(sign)
    time.sleep(600)


def _fail(sign: Path) -> None:
    while not sign.exists():
        time.sleep(0.01)
    raise DataError("no good")


def _call_of(function: Callable[[Path], None], sign: Path) -> None:
    function(sign)


def test_what_nobody_waits_for_any_more_ends(ray_cluster, tmp_path: Path) -> None:
    sign = tmp_path / "process"
    with dmrank.cluster():
        workers = current_workers()
        assert workers is not None
        with pytest.raises(DataError, match="no good"):
            list(workers.run(_call_of, [(_fail, sign), (_work_for_ever, sign)]))
        assert all_end([int(sign.read_text())])


def _out_of_memory() -> None:
    raise MemoryError("nothing left")


def test_too_little_memory_of_a_worker_is_one_line(ray_cluster) -> None:
    with dmrank.cluster():
        workers = current_workers()
        assert workers is not None
        with pytest.raises(ClusterError, match="a worker needs more memory than its node has") as e:
            list(workers.run(_out_of_memory, [()]))
    assert len(str(e.value).splitlines()) == 1


def test_a_node_that_would_compute_other_bits_is_refused(ray_cluster, monkeypatch) -> None:
    from dmrank.distributed import ray_workers

    other = ray_workers.own_environment()._replace(source="another")
    monkeypatch.setattr(ray_workers, "own_environment", lambda: other)
    with pytest.raises(ClusterError, match=r"node \S+ has another source of dmrank"):
        _enter("auto")


def _enter(where: str, **options: Any) -> None:
    with dmrank.cluster(where, **options):
        pass


def _many_bytes(count: int) -> np.ndarray:
    return np.full(count, 7, dtype=np.uint8)


def test_large_results_come_by_files_and_leave_none(ray_cluster, tmp_path: Path) -> None:
    with dmrank.cluster(folder=tmp_path):
        workers = current_workers()
        assert workers is not None
        sizes = [10, 1 << 20, 3 << 20]
        found = list(workers.run(_many_bytes, ((size,) for size in sizes)))
        left = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "visible"]
    for array, size in zip(found, sizes, strict=True):
        np.testing.assert_array_equal(array, _many_bytes(size))
    assert left == []


def test_a_large_result_that_cannot_be_written_is_one_line(ray_cluster, tmp_path: Path) -> None:
    with dmrank.cluster(folder=tmp_path):
        workers = current_workers()
        assert workers is not None
        shutil.rmtree(tmp_path)
        with pytest.raises(WriteError, match="cannot be written: No such file") as caught:
            list(workers.run(_many_bytes, [(1 << 20,)]))
    assert len(str(caught.value).splitlines()) == 1


def test_a_folder_that_nodes_do_not_see_is_refused(ray_cluster, tmp_path: Path) -> None:
    with dmrank.cluster(folder=tmp_path):
        workers = current_workers()
        assert workers is not None
        with pytest.raises(ClusterError, match="does not see .*/disk: name a folder that all"):
            workers.check_sees(tmp_path / "disk" / "of-the-driver")
    assert list(tmp_path.iterdir()) == []


def test_a_node_that_goes_while_it_is_asked_is_no_mistake(ray_cluster, monkeypatch) -> None:
    gone = {**ray.nodes()[1], "NodeID": "ab" * 28, "Alive": True, "Resources": {"CPU": 1.0}}
    answers = iter([[*ray.nodes(), gone]])
    known = ray.nodes
    monkeypatch.setattr("dmrank.distributed.cluster._shared", lambda _: None)
    monkeypatch.setattr(ray, "nodes", lambda: next(answers, None) or known())
    _enter("auto")


def test_a_process_has_one_cluster(ray_cluster) -> None:
    with pytest.raises(ConfigError, match="connected to a cluster already; give 'auto'"):
        _enter("local:2")
