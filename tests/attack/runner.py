"""Runs cases in processes with limits, and notices which case ended one."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tests.attack.case import Verdict
from tests.attack.kinds import KINDS

#: Cases that one process runs before another takes over.
PER_PROCESS = 1_000
#: Seconds until a process has its models and compiled code, and of a case that cannot be stopped.
_TO_BE_READY = 900.0
_UNSTOPPABLE = 60.0
#: Where the process ended without having begun a case.
_NONE = -1


class Result(NamedTuple):
    """What came of a case, with what is needed to run it again."""

    kind: str
    seed: int
    number: int
    what: str
    verdict: Verdict
    detail: str
    seconds: float

    @property
    def replay(self) -> str:
        """The command that runs this case again."""
        return f"python -m tests.attack --replay {self.kind}/{self.seed}/{self.number}"


class _Job(NamedTuple):
    kind: str
    numbers: range


def run(
    cases: int, seed: int, workers: int, kinds: Iterable[str] | None = None
) -> Iterator[Result]:
    """Yield what comes of so many cases, shared out over the kinds by their weights."""
    shares = {name: kind.share for name, kind in KINDS.items() if kinds is None or name in kinds}
    jobs = [
        _Job(kind, range(first, min(first + PER_PROCESS, count)))
        for kind, count in share_out(cases, shares).items()
        for first in range(0, count, PER_PROCESS)
    ]
    found: queue.Queue[Result | BaseException | None] = queue.Queue()

    def take(job: _Job) -> None:
        try:
            for result in _run_job(job, seed):
                found.put(result)
        except BaseException as error:
            found.put(error)

    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(take, job) for job in jobs]
        threading.Thread(
            target=lambda: ([task.exception() for task in tasks], found.put(None)), daemon=True
        ).start()
        while (result := found.get()) is not None:
            if isinstance(result, BaseException):
                raise result
            yield result


def share_out(cases: int, shares: dict[str, float]) -> dict[str, int]:
    """Give each kind its share of the cases, at least one, and all of them together the number."""
    whole = sum(shares.values())
    counts = {name: max(1, int(cases * share / whole)) for name, share in shares.items()}
    counts[max(counts, key=lambda name: counts[name])] += cases - sum(counts.values())
    return counts


def _run_job(job: _Job, seed: int) -> Iterator[Result]:
    """Run a job, in another process after each case that ends one."""
    left = job.numbers
    while left:
        results, ended_by = _run_process(job.kind, seed, left)
        yield from results
        if ended_by is None:
            return
        if ended_by.number == _NONE:
            raise RuntimeError(f"no case of {job.kind} could be begun: {ended_by.detail}")
        yield ended_by
        left = range(ended_by.number + 1, left.stop)


def _run_process(kind: str, seed: int, numbers: range) -> tuple[list[Result], Result | None]:
    """Return what one process found, and the case that ended it, if one did."""
    place = f"{kind}/{seed}/{numbers.start}-{numbers.stop}"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.attack", "--work", place],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
    )
    results: list[Result] = []
    current, judging = _NONE, False
    killed = threading.Event()

    def kill() -> None:
        killed.set()
        process.kill()

    clock = threading.Timer(_TO_BE_READY, kill)
    clock.start()
    assert process.stdout is not None
    for line in process.stdout:
        clock.cancel()
        clock = threading.Timer(_UNSTOPPABLE, kill)
        clock.start()
        event: dict[str, Any] = json.loads(line)
        if "start" in event:
            current, judging = event["start"], False
        elif "judging" in event:
            judging = True
        else:
            results.append(Result(kind, seed, event["number"], event["what"],
                                  Verdict(event["verdict"]), event["detail"],
                                  event["seconds"]))  # fmt: skip
            current = _NONE
    process.stdout.close()
    code = process.wait()
    clock.cancel()
    if code == 0:
        return results, None
    if code > 0:
        raise RuntimeError(f"the attack itself failed at {kind}/{seed}/{current}: replay it")
    if killed.is_set():
        verdict, detail = Verdict.SLOW, "it could not be stopped and was killed"
    elif judging:
        # The independent reader has died of the file, not dmrank, which had read it by then.
        verdict, detail = Verdict.RIGHT, f"not judged: the independent reader ended with {code}"
    else:
        verdict, detail = Verdict.SIGNAL, signal.Signals(-code).name
    return results, Result(kind, seed, current, "see the replay", verdict, detail, _UNSTOPPABLE)
