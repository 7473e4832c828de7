"""One process of the attack: many cases, within limits of memory and time.

What happens is said line by line, so that whoever started the process knows which case ended it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.attack.case import Outcome, TimeIsUpError, Verdict, chance, judge
from tests.attack.kinds import KINDS

#: Memory that cases may take beyond what the process has when it is ready.
MEMORY = 3 << 30
#: Seconds of a case, in which nothing comes near it unless it hangs.
SECONDS = 20.0
#: What a case may write to disk at most, in one file.
FILE_SIZE = 1 << 30


class Stretch(NamedTuple):
    """Some cases of one kind, in their order."""

    kind: str
    seed: int
    numbers: range

    def __str__(self) -> str:
        return f"{self.kind}/{self.seed}/{self.numbers.start}/{self.numbers.stop}"

    @classmethod
    def parse(cls, text: str) -> Stretch:
        """Return what `str` made a text of."""
        kind, seed, first, stop = text.split("/")
        return cls(kind, int(seed), range(int(first), int(stop)))


def work(stretches: list[Stretch]) -> None:
    """Run cases, and say line by line what happens to standard output."""
    say = _private_output()
    _be_quiet()
    folder = Path(tempfile.mkdtemp(prefix="dmrank-attack-"))
    try:
        for kind in {stretch.kind: None for stretch in stretches}:
            _warm_up(kind, folder)
        _limit()
        for kind, seed, number in _each(stretches):
            say({"start": f"{kind}/{seed}/{number}"})
            started = time.perf_counter()
            what, outcome = run_case(kind, seed, number, folder, lambda: say({"judging": True}))
            say({
                "what": what, "verdict": outcome.verdict,
                "detail": outcome.detail, "seconds": time.perf_counter() - started,
            })  # fmt: skip
    except Exception as error:
        say({"failed": repr(error)})
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _each(stretches: list[Stretch]) -> Iterator[tuple[str, int, int]]:
    for kind, seed, numbers in stretches:
        yield from ((kind, seed, number) for number in numbers)


def run_case(
    kind: str,
    seed: int,
    number: int,
    folder: Path,
    before_judging: Callable[[], None] = lambda: None,
) -> tuple[str, Outcome]:
    """Make and judge one case in a folder of its own."""
    own = folder / "case"
    own.mkdir()
    case = KINDS[kind].make(chance(seed, kind, number), own)
    try:
        signal.signal(signal.SIGALRM, _time_is_up)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        try:
            outcome = judge(case, before_judging)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeIsUpError:
        outcome = Outcome(Verdict.SLOW, "it took longer than its time")
    shutil.rmtree(own)
    return case.what, outcome


def _warm_up(kind: str, folder: Path) -> None:
    """Fit models and compile before there are limits, and before a clock runs."""
    KINDS[kind].prepare()
    for number in range(3):
        run_case(kind, -1, number, folder)


def _limit() -> None:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))


def _time_is_up(signum: int, frame: Any) -> None:
    raise TimeIsUpError


def _private_output() -> Callable[[dict[str, Any]], None]:
    """Keep standard output for ourselves; what anybody else prints goes nowhere."""
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)

    def say(event: dict[str, Any]) -> None:
        ours.write(json.dumps(event) + "\n")
        ours.flush()

    return say


def _be_quiet() -> None:
    # A warning is no answer: what counts is the answer or the error.
    warnings.simplefilter("ignore")
