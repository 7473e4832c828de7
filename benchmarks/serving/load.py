"""Load by wrk (as fast as answers come) and autocannon (at a fixed rate), and what memory holds."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

AUTOCANNON = Path(".peers/node/node_modules/.bin/autocannon")

_SCRIPT = """
local users = {}
for line in io.lines("USERS") do users[#users + 1] = line end
local i = math.random(1, 1000)
request = function()
  i = i + 1
  local user = users[(i * 7919) % #users + 1]
  return wrk.format("GET", (string.gsub("PATH", "{user}", user):gsub("{i}", tostring(i))))
end
"""


def requests_per_second(
    port: int, path: str, users: list[str], *, seconds: int, connections: int = 32
) -> float:
    """Ask as fast as answers come; `{user}` and `{i}` differ from request to request."""
    with tempfile.TemporaryDirectory() as folder:
        names, script = Path(folder) / "users", Path(folder) / "script.lua"
        names.write_text("\n".join(users))
        script.write_text(_SCRIPT.replace("USERS", str(names)).replace("PATH", path))
        ran = subprocess.run(
            ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script,
             f"http://127.0.0.1:{port}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    if "Non-2xx" in ran.stdout:
        raise SystemExit(f"{path} is not answered:\n{ran.stdout}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", ran.stdout)
    assert rate is not None
    return float(rate[1])


class Latency(NamedTuple):
    """Milliseconds at a fixed rate, and how many requests failed."""

    median: float
    p99: float
    worst: float
    rate: float
    failures: int

    def words(self) -> str:
        """Return median, p99 and worst."""
        return f"{self.median:.0f}, {self.p99:.0f}, {self.worst:.0f}"


def latency(port: int, path: str, rate: float, *, seconds: int, connections: int = 16) -> Latency:
    """Ask at a fixed rate."""
    ran = subprocess.run(
        [AUTOCANNON, "--json", "-n", "-c", str(connections), "-d", str(seconds),
         "-R", str(int(rate)), f"http://127.0.0.1:{port}{path}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(ran.stdout)
    times = found["latency"]
    return Latency(
        times["p50"],
        times["p99"],
        times["max"],
        found["requests"]["average"],
        found["non2xx"] + found["errors"] + found["timeouts"],
    )


@contextmanager
def process(command: list[str], log: Path, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server while the block runs."""
    with log.open("wb") as output:
        started = subprocess.Popen(command, stdout=output, stderr=output, **options)  # type: ignore[call-overload]
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(20)
        except subprocess.TimeoutExpired:
            started.kill()


def wait_until_answered(url: str, started: subprocess.Popen[bytes]) -> float:
    """Wait for an answer, and return how many seconds it took."""
    import urllib.error
    import urllib.request

    start = time.perf_counter()
    while time.perf_counter() - start < 120:
        if started.poll() is not None:
            raise SystemExit(f"{url}: the server has ended")
        try:
            with urllib.request.urlopen(url, timeout=10):
                return time.perf_counter() - start
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise SystemExit(f"{url} is not answered")


def proportional_memory(pid: int) -> float:
    """Return the PSS of the children of a process, in MB: shared pages count in shares."""
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    total = 0
    for child in children:
        rollup = Path(f"/proc/{child}/smaps_rollup")
        if rollup.exists():
            found = re.search(r"Pss:\s+(\d+) kB", rollup.read_text())
            total += int(found[1]) if found else 0
    return total / 1024
