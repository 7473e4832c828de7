"""Reading, indexing, 5-core and split, beside plain pandas doing the same.

    python -m benchmarks.ratings [--rows 10000000] [--repeat 3]

Each measurement runs in a process of its own; peak memory is what the process needed above an
interpreter with the same imports. Rows, users and items of the results are compared.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.record import add_record_option, as_called, write_record

SHARED = Path(__file__).parents[2] / "shared" / "data" / "beeradvocate.parquet"


def run_dmrank(path: str) -> dict[str, float]:
    import dmrank
    from dmrank.data.reading.read import read_ratings

    # Compiled code is cached on disk; loading it is part of starting up.
    small = dmrank.make_ratings(users=10, items=10, ratings=50).ratings.to_polars()
    read_ratings(small, verbose=False).k_core(2).split()
    before = _peak_memory()
    started = time.perf_counter()
    ratings = read_ratings(path, verbose=False)
    read = time.perf_counter()
    rows = len(ratings)
    arrays = (ratings.values, ratings.item_codes, ratings.user_pointer)
    size = sum(array.nbytes for array in arrays)
    del arrays
    ratings = ratings.k_core(5)
    split = ratings.split(0.7, 0.15, 0.15, seed=0)
    done = time.perf_counter()
    return {
        "read": read - started,
        "core and split": done - read,
        "total": done - started,
        "memory": _peak_memory() - before,
        "arrays": size,
        "rows": rows,
        "core rows": len(ratings),
        "train rows": len(split.train),
    }


def run_pandas(path: str) -> dict[str, float]:
    import numpy as np
    import pandas as pd

    before = _peak_memory()
    started = time.perf_counter()
    frame = pd.read_csv(path) if path.endswith(".csv") else pd.read_parquet(path)
    frame = frame.drop_duplicates(["user", "item"], keep="last")
    frame["user"], _ = pd.factorize(frame["user"], sort=True)
    frame["item"], _ = pd.factorize(frame["item"], sort=True)
    frame = frame.sort_values(["user", "item"])
    values = frame.drop(columns=["user", "item"]).to_numpy(dtype=np.float32)
    read = time.perf_counter()
    rows, size = len(frame), values.nbytes
    del values
    while True:
        by_user = frame.groupby("user")["item"].transform("size")
        by_item = frame.groupby("item")["user"].transform("size")
        keep = (by_user >= 5) & (by_item >= 5)
        if keep.all():
            break
        frame = frame[keep]
    shuffled = frame.sample(frac=1, random_state=0)
    first, second = round(0.7 * len(frame)), round(0.85 * len(frame))
    parts = [shuffled.iloc[:first], shuffled.iloc[first:second], shuffled.iloc[second:]]
    train, _, _ = (part.sort_values(["user", "item"]) for part in parts)
    done = time.perf_counter()
    return {
        "read": read - started,
        "core and split": done - read,
        "total": done - started,
        "memory": _peak_memory() - before,
        "arrays": size,
        "rows": rows,
        "core rows": len(frame),
        "train rows": len(train),
    }


def _peak_memory() -> int:
    # Not getrusage: its maximum is inherited from the parent process.
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) * 1024


def measure(tool: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.ratings", "--run", tool, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compare(name: str, path: Path, repeat: int) -> list[dict[str, str]]:
    """Print what both took, and return it as rows of a table."""
    # In turns, so that a busy moment of the machine hits both.
    turns = [(measure("dmrank", path), measure("pandas", path)) for _ in range(repeat)]
    ours, theirs = (
        {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for runs in zip(*turns, strict=True)
    )
    for rows in ("rows", "core rows", "train rows"):
        assert ours[rows] == theirs[rows], f"{rows} differ: {ours[rows]} and {theirs[rows]}"
    data = f"{name}, {int(ours['rows']):,} rows"
    units = {"read": "s", "core and split": "s", "total": "s", "memory": "MB", "arrays": "MB"}
    rows = []
    for part, unit in units.items():
        size, digits = (1, 2) if unit == "s" else (1e6, 0)
        has_peer = part != "arrays"
        rows.append(
            {
                "data": data,
                "part": {"memory": "peak memory", "arrays": "final arrays"}.get(part, part),
                "dmrank": f"{ours[part] / size:,.{digits}f} {unit}",
                "pandas": f"{theirs[part] / size:,.{digits}f} {unit}" if has_peer else "",
                "ratio": f"{theirs[part] / ours[part]:.1f}×" if has_peer else "",
            }
        )
        print("{data:40}{part:16}{dmrank:>12}{pandas:>12}{ratio:>8}".format(**rows[-1]), flush=True)
    return rows


def write_large_csv(path: Path, rows: int) -> None:
    import dmrank

    drawn = dmrank.make_ratings(
        users=max(rows // 20, 10), items=max(rows // 200, 60), ratings=rows, taste=0.5, seed=0
    )
    table = drawn.ratings.to_polars().drop("item_name")
    # Shuffled, as exports are.
    table.sample(fraction=1, shuffle=True, seed=0).write_csv(path, float_precision=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    add_record_option(parser)
    parser.add_argument("--run", nargs=2, metavar=("TOOL", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        tool, path = arguments.run
        print(json.dumps((run_dmrank if tool == "dmrank" else run_pandas)(path)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        write_large_csv(path, arguments.rows)
        rows += compare("synthetic csv", path, arguments.repeat)
    if SHARED.exists():
        rows += compare("beeradvocate.parquet", SHARED, arguments.repeat)
    if arguments.record:
        write_record("ratings", as_called("ratings"), rows, ("pandas",))


if __name__ == "__main__":
    main()
