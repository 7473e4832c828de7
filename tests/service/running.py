"""A service as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NoReturn

import httpx2 as httpx
import pytest

_PATIENCE = 60
_numbers = count()


def unavailable(reason: str) -> NoReturn:
    """Skip, or fail where everything that the tests need is said to be there."""
    if os.environ.get("DMRANK_SYSTEM_TESTS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


class Running:
    """A service that runs."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process, self.port, self._log = process, port, log
        self.address = f"http://127.0.0.1:{port}"
        self.client = httpx.Client(base_url=self.address, timeout=30)

    def get(self, path: str, **parameters: object) -> httpx.Response:
        return self.client.get(path, params=parameters)

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def workers(self) -> list[int]:
        """Return the processes that answer."""
        found = subprocess.run(
            ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=False,  # it fails where there are none
        ).stdout.splitlines()
        return [int(line.split()[0]) for line in found if "spawn_main" in line]

    def version(self) -> str:
        """Return the version of the model that answers."""
        return self.get("/health/ready").json()["model"]

    def wait_for(self, what: str, holds: object) -> None:
        """Wait until something holds."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                if holds():  # type: ignore[operator]
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        pytest.fail(f"it does not come about that {what}: {self.log()}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the service by a signal, and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(_PATIENCE)


@contextmanager
def running(
    file: Path, *options: str, workers: int = 1, port: int | None = None
) -> Iterator[Running]:
    """Serve a model while the block runs."""
    port = port or free_port()
    log = file.with_name(f"{file.stem}-{port}-{next(_numbers)}.log")
    command = [sys.executable, "-m", "dmrank", "serve", str(file), "--port", str(port)]
    command += ["--workers", str(workers), *options]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    service = Running(process, port, log)
    try:
        service.wait_for("the service is ready", lambda: _is_ready(service))
        yield service
    finally:
        service.client.close()
        if process.poll() is None:
            process.terminate()
            process.wait(_PATIENCE)


def _is_ready(service: Running) -> bool:
    if service.process.poll() is not None:
        pytest.fail(f"the service has ended: {service.log()}")
    return service.get("/health/ready").status_code == 200
