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
from tests.attack.worker import Stretch

#: Cases that one process runs before another takes over.
PER_PROCESS = 1_000
#: Seconds until a process has its models and compiled code, and of a case that cannot be stopped.
_TO_BE_READY = 900.0
_UNSTOPPABLE = 60.0


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


def run(
    cases: int, seed: int, workers: int, kinds: Iterable[str] | None = None
) -> Iterator[Result]:
    """Yield what comes of so many cases, shared out over the kinds by their weights."""
    shares = {name: kind.share for name, kind in KINDS.items() if kinds is None or name in kinds}
    return run_counts(share_out(cases, shares), seed, workers)


def run_counts(counts: dict[str, int], seed: int, workers: int) -> Iterator[Result]:
    """Yield what comes of so many cases of each kind."""
    found: queue.Queue[Result | BaseException | None] = queue.Queue()

    def take(stretches: list[Stretch]) -> None:
        try:
            for result in _run_all(stretches):
                found.put(result)
        except BaseException as error:
            found.put(error)

    with ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(take, stretches) for stretches in _pack(counts, seed)]
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


def _pack(counts: dict[str, int], seed: int) -> list[list[Stretch]]:
    """Give each process its cases; kinds with few of them share one, since beginning takes long."""
    packs: list[list[Stretch]] = []
    room = 0
    for kind, count in counts.items():
        for first in range(0, count, PER_PROCESS):
            stretch = Stretch(kind, seed, range(first, min(first + PER_PROCESS, count)))
            if room < len(stretch.numbers):
                packs.append([])
                room = PER_PROCESS
            packs[-1].append(stretch)
            room -= len(stretch.numbers)
    return packs


def _run_all(stretches: list[Stretch]) -> Iterator[Result]:
    """Run cases, those after a case that ends its process in another one."""
    while stretches:
        results, ended_by = _run_process(stretches)
        yield from results
        if ended_by is None:
            return
        yield ended_by
        stretches = _after(stretches, ended_by)


def _after(stretches: list[Stretch], result: Result) -> list[Stretch]:
    kinds = [stretch.kind for stretch in stretches]
    current, *others = stretches[kinds.index(result.kind) :]
    left = current._replace(numbers=range(result.number + 1, current.numbers.stop))
    return [left, *others] if left.numbers else others


def _run_process(stretches: list[Stretch]) -> tuple[list[Result], Result | None]:
    """Return what one process found, and the case that ended it, if one did."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.attack", "--work", ",".join(map(str, stretches))],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
    )
    results: list[Result] = []
    current, judging, failed = "", False, ""
    with _Clock(process) as clock:
        assert process.stdout is not None
        for line in process.stdout:
            clock.set(_UNSTOPPABLE)
            event: dict[str, Any] = json.loads(line)
            if "failed" in event:
                failed = event["failed"]
            elif "start" in event:
                current, judging = event["start"], False
            elif "judging" in event:
                judging = True
            else:
                results.append(_result(current, Verdict(event.pop("verdict")), **event))
        process.stdout.close()
        code = process.wait()
    if code == 0:
        return results, None
    if code > 0 or not current:
        where = current or "its beginning"
        raise RuntimeError(f"the attack itself failed at {where}: {failed or 'no word'}")
    if clock.has_rung:
        verdict, detail = Verdict.SLOW, "it could not be stopped and was killed"
    elif judging:
        # The independent reader has died of the file, not dmrank, which had read it by then.
        verdict, detail = Verdict.RIGHT, f"not judged: the independent reader ended with {code}"
    else:
        verdict, detail = Verdict.SIGNAL, signal.Signals(-code).name
    return results, _result(current, verdict, "see the replay", detail, 0.0)


def _result(place: str, verdict: Verdict, what: str, detail: str, seconds: float) -> Result:
    kind, seed, number = place.split("/")
    return Result(kind, int(seed), int(number), what, verdict, detail, seconds)


class _Clock:
    """Kills a process that says nothing for too long."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.has_rung = process, False

    def __enter__(self) -> _Clock:
        self.timer = threading.Timer(_TO_BE_READY, self._ring)
        self.timer.start()
        return self

    def set(self, seconds: float) -> None:
        """Wait so long from now on."""
        self.timer.cancel()
        self.timer = threading.Timer(seconds, self._ring)
        self.timer.start()

    def _ring(self) -> None:
        self.has_rung = True
        self.process.kill()

    def __exit__(self, *error: object) -> None:
        self.timer.cancel()
