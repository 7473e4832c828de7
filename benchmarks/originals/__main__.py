"""Our EFM, MTER and M-BPR beside the originals: Cornac's EFM and MTER, implicit's BPR.

    python -m benchmarks.originals --files ../shared/data/yahoo-movies.parquet [--record]

needs `pip install cornac implicit` beside dmrank; they are no dependencies of it. Both sides see
the same training ratings, have the same number of settings on the same validation ratings, and are
judged once on test by the same evaluator.
"""

from __future__ import annotations

import os

# implicit asks for it: its own threads and those of BLAS would get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from pathlib import Path

from benchmarks.originals import bpr, efm, mter
from benchmarks.originals.problem import Problem
from benchmarks.record import add_record_option, as_called, write_record

DATA = Path(__file__).parents[3] / "shared" / "data"
FILES = [DATA / "yahoo-movies.parquet", DATA / "tripadvisor.parquet"]
COMPARISONS = {"efm": efm.compare, "mter": mter.compare, "bpr": bpr.compare}
TITLES = {
    "efm": "EFM, Cornac",
    "mter": "MTER, Cornac",
    "bpr": "M-BPR with one aspect, implicit's BPR",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="+", type=Path, default=FILES)
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS))
    add_record_option(parser)
    arguments = parser.parse_args()
    for path in arguments.files:
        if not path.exists():
            parser.error(f"{path} does not exist: name ratings with --files")
        problem = Problem(path)
        rows = []
        for name in arguments.only:
            print(f"\n{name} on {problem.name}: {problem.train}", flush=True)
            found = {"seconds to their validation value": ""} | COMPARISONS[name](problem)
            rows.append({"model": TITLES[name], **found})
        if arguments.record:
            packages = ("cornac", "implicit")
            write_record(f"originals-{problem.name}", as_called("originals"), rows, packages)


if __name__ == "__main__":
    main()
