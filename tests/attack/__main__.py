"""The command line of the attack: ``python -m tests.attack --cases 50000 --seed 7``."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.case import FAULTS
from tests.attack.kinds import KINDS
from tests.attack.report import Tally, write_report
from tests.attack.runner import Result, run
from tests.attack.worker import Stretch, run_case, work


def main() -> int:
    """Run the attack, or one case of it; the exit code says whether there was a fault."""
    options = _options()
    if options.work:
        work([Stretch.parse(text) for text in options.work.split(",")])
        return 0
    if options.replay:
        return _replay(options.replay)
    return _attack(options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000, help="how many (default: 50000)")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), help="only these")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="default: every core")
    parser.add_argument("--report", type=Path, help="page whose figures are to be replaced")
    parser.add_argument("--faults", type=Path, help="file for a line per fault")
    parser.add_argument("--replay", metavar="KIND/SEED/NUMBER", help="run one case and show it")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args()


def _attack(options: argparse.Namespace) -> int:
    tally = Tally(options.cases, options.seed)
    started = time.monotonic()
    for result in run(options.cases, options.seed, options.workers, options.kinds):
        tally.add(result)
        if result.verdict in FAULTS:
            _show_fault(result, options.faults)
        if tally.done % 1_000 == 0:
            print(f"{tally.done:,} cases, {time.monotonic() - started:,.0f} s", file=sys.stderr)
    tally.seconds = time.monotonic() - started
    print(tally.to_markdown())
    if options.report is not None:
        write_report(options.report, tally)
    return 1 if tally.faults else 0


def _show_fault(result: Result, file: Path | None) -> None:
    line = f"{result.verdict}: {result.what}: {result.detail} [{result.replay}]"
    print(line, file=sys.stderr)
    if file is not None:
        with file.open("a", encoding="utf-8") as lines:
            lines.write(line + "\n")


def _replay(place: str) -> int:
    kind, seed, number = place.split("/")
    with tempfile.TemporaryDirectory(prefix="dmrank-attack-") as folder:
        what, outcome = run_case(kind, int(seed), int(number), Path(folder))
    print(f"{what}\n{outcome.verdict}: {outcome.detail}")
    return 1 if outcome.verdict in FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
