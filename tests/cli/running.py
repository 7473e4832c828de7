"""Running the command line as a person does."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def run(
    *arguments: object, cwd: Path | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dmrank", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
        **options,
    )
