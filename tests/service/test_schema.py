"""Requests that Schemathesis makes of the description, also ones that follow from each other.

A few hundred here; `make attack-service` makes 10,000.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.service.running import running

HERE = Path(__file__).parent
EXAMPLES = os.environ.get("DMRANK_EXAMPLES", "5")


def test_no_request_that_the_description_leads_to_is_answered_by_a_fault(
    hurdle_file: Path, tmp_path: Path
) -> None:
    file = tmp_path / "hotels.dmrank"
    file.write_bytes(hurdle_file.read_bytes())
    with running(file) as service:
        command = [
            sys.executable, "-m", "schemathesis.cli", "--config-file", HERE / "schemathesis.toml",
            "run", f"{service.address}/openapi.json", "--max-examples", EXAMPLES, "--seed", "1",
            "--no-color",
        ]  # fmt: skip
        ran = subprocess.run(
            command,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "tests.service.known_values"},
            cwd=HERE.parents[1],
            capture_output=True,
            text=True,
            check=False,
        )
        shown = "\n".join(line[:300] for line in ran.stdout.splitlines())
        assert ran.returncode == 0, shown + ran.stderr
        assert '"status":500' not in service.log()
    made = re.search(r"(\d+) generated", ran.stdout)
    assert made is not None
    assert int(made[1]) >= 20 * int(EXAMPLES), shown
    print(f"{made[1]} requests")
