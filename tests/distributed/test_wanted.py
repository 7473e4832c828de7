"""Work goes on only while somebody waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dmrank import ClusterError, WriteError
from dmrank.distributed.wanted import wanted_file, while_wanted

_WORK = """
import sys, time
from pathlib import Path
from dmrank.distributed.wanted import while_wanted

with while_wanted(Path(sys.argv[1])):
    print("working", flush=True)
    time.sleep(float(sys.argv[2]))
print("done", flush=True)
"""


def _working(file: Path, seconds: float) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, "-c", _WORK, str(file), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "working\n"
    return started


def test_a_process_ends_when_nobody_waits_any_more(tmp_path: Path) -> None:
    with wanted_file(tmp_path) as file:
        process = _working(file, 600)
    assert process.communicate(timeout=20) == ("", None)
    assert process.returncode == 1


def test_a_process_that_is_waited_for_goes_on(tmp_path: Path) -> None:
    with wanted_file(tmp_path) as file:
        assert _working(file, 2.5).communicate(timeout=20) == ("done\n", None)


def test_work_that_nobody_waits_for_is_not_begun(tmp_path: Path) -> None:
    with wanted_file(tmp_path) as file:
        pass
    with pytest.raises(ClusterError, match="does not see .*wanted-"), while_wanted(file):
        pytest.fail("it began")


def test_a_wait_that_is_broken_off_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), wanted_file(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written"), wanted_file(tmp_path / "none"):
        pytest.fail("it began")
