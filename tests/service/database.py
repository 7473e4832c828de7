"""A PostgreSQL server that a test starts, and may stop."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.service.running import free_port, unavailable


def _programs() -> Path:
    """Return the folder with the programs of the newest PostgreSQL that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    on_path = shutil.which("pg_ctl")
    if not found and on_path is None:
        unavailable("PostgreSQL is not installed")
    return found[-1].parent if found else Path(on_path).parent  # type: ignore[arg-type]


def _owner() -> str | None:
    """Return who must run the server, for it does not run as root; None: whoever runs this."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        unavailable("PostgreSQL does not run as root, and there is no user postgres")


class Database:
    """A server of its own, with one database."""

    def __init__(self, folder: Path) -> None:
        self._programs, self._owner, self._folder = _programs(), _owner(), folder
        self.port = free_port()
        self.url = f"postgresql://dmrank@127.0.0.1:{self.port}/postgres"
        if self._owner is not None:
            shutil.chown(folder, self._owner)
        self._run("initdb", "--username", "dmrank", "--auth", "trust", "--no-sync", "-D", "data")

    def start(self) -> None:
        # What was answered is to survive, whatever the settings of tests usually are.
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
        self._run("pg_ctl", "start", "-w", "-D", "data", "-l", "log", "-o", options)

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "stop", "-w", "-D", "data", "-m", mode)

    def _run(self, program: str, *arguments: str) -> None:
        ran = subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._folder,
            user=self._owner,
            stdout=subprocess.DEVNULL,  # a server that goes on would hold a pipe open
            stderr=subprocess.DEVNULL,
            check=False,
        )
        log = self._folder / "log"
        told = log.read_text() if log.exists() else ""
        assert ran.returncode == 0, f"{program} has failed: {told}"


@contextmanager
def database() -> Iterator[Database]:
    """Run a server while the block runs."""
    folder = Path(tempfile.mkdtemp(prefix="dmrank-postgres-"))
    try:
        server = Database(folder)
        server.start()
        try:
            yield server
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
