"""Change lines of the core at random, and see whether a test notices (cosmic-ray, on a sample).

    python -m benchmarks.mutants --sample 100 --seed 0

cosmic-ray and not mutmut: mutmut puts every variant of a function into one file and chooses among
them at run time, which compiled code cannot do; cosmic-ray changes the file, and the cache of
compiled code notices. The project is copied first: what is killed on the way leaves nothing behind.
What survives is printed as a difference: it is equivalent, or a test is missing.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
#: Rooms, and the tests that should notice, beside the examples of the room itself.
ROOMS = {
    "directional": "tests/directional",
    "metrics": "tests/metrics",
    "ranking": "tests/ranking",
    "data/reading": "tests/data/reading",
}
CONFIG = """[cosmic-ray]
module-path = "src/dmrank/{room}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -q -x -p no:cacheprovider {tests} src/dmrank/{room}"

[cosmic-ray.distributor]
name = "local"
"""


def main() -> None:
    options = parse_options()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="dmrank-mutants-") as folder:
        copy = Path(folder) / "project"
        shutil.copytree(
            PROJECT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__")
        )
        for room in options.rooms:
            run_room(room, rng, max(1, options.sample // len(options.rooms)), copy, options.timeout)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=100, help="mutants over all rooms")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one mutant")
    parser.add_argument("--rooms", nargs="*", choices=list(ROOMS), default=list(ROOMS))
    return parser.parse_args()


def run_room(room: str, rng: random.Random, sample: int, copy: Path, timeout: float) -> None:
    config, session = copy / "cosmic-ray.toml", copy / "session.sqlite"
    session.unlink(missing_ok=True)
    text = CONFIG.format(room=room, timeout=timeout, python=sys.executable, tests=ROOMS[room])
    config.write_text(text, encoding="utf-8")
    call(copy, "cosmic-ray", "init", config, session)
    everything = keep_sample(session, rng, sample)
    call(copy, "cosmic-ray", "exec", config, session)
    print(f"{room}: {sample} of {everything:,} mutants")
    print(call(copy, "cr-report", "--surviving-only", "--show-diff", session))


def keep_sample(session: Path, rng: random.Random, sample: int) -> int:
    """Leave so many mutants in a session, and return how many there were."""
    with sqlite3.connect(session) as connection:
        # Ids differ from run to run, the places of mutants do not.
        query = "SELECT job_id FROM mutation_specs ORDER BY module_path, operator_name, occurrence"
        ordered = [job for (job,) in connection.execute(query)]
        kept = set(rng.sample(ordered, min(sample, len(ordered))))
        dropped = [(job,) for job in ordered if job not in kept]
        connection.executemany("DELETE FROM mutation_specs WHERE job_id = ?", dropped)
        connection.executemany("DELETE FROM work_items WHERE job_id = ?", dropped)
    connection.close()
    return len(ordered)


def call(copy: Path, program: str, *arguments: object) -> str:
    source = f"{copy / 'src'}{os.pathsep}{copy}"
    return subprocess.run(
        [Path(sys.executable).parent / program, *map(str, arguments)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": source, "NUMBA_CACHE_DIR": str(copy / ".numba")},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


if __name__ == "__main__":
    main()
