"""The process that `dmrank serve` is: it starts workers, and copies the model for them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from dmrank.service.copies import Copies, Stamp, check_is_file, stamp_of
from dmrank.service.logs import log_to_standard_error, logger
from dmrank.service.private_folder import private_folder
from dmrank.service.settings import Settings
from dmrank.support.errors import ConfigError, DmrankError, ModelFileError
from dmrank.support.extras import require

#: prometheus-client counts over processes in the folder that this names, when it is imported.
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = 0.1
#: Seconds that requests have to end when the service is stopped.
_PATIENCE = 20


def serve(model: Path, settings: Settings, *, reuse_port: bool = False) -> None:
    """Serve a model file until a signal ends it.

    Parameters
    ----------
    model : Path
        The file. Another that is renamed over it is taken over.
    settings : Settings
        How to serve; `settings.folder` is left empty and made here.
    reuse_port : bool
        Share the port with another service, for a restart without a pause.
    """
    require("granian", "dmrank serve")
    check_is_file(model)
    if not reuse_port:
        check_port(settings.host, settings.port)
    log_to_standard_error()
    with private_folder() as folder:
        _serve(model, msgspec.structs.replace(settings, folder=str(folder), parent=os.getpid()))


def _serve(model: Path, settings: Settings) -> None:
    from granian.constants import Interfaces
    from granian.server import Server

    counts = settings.shared / "metrics"
    counts.mkdir()
    os.environ[_METRICS] = str(counts)
    settings.hand_on()
    copies = Copies(settings.shared)
    supervisor = Supervisor(model, copies)
    supervisor.copy()
    # Workers begin afresh: what this process has is not for them.
    multiprocessing.set_start_method("spawn", force=True)
    server = Server(
        "dmrank.service.app:worker",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        workers=settings.workers,
        factory=True,
        log_enabled=False,
        websockets=False,
        backpressure=settings.most_waiting,
        respawn_failed_workers=True,
        workers_kill_timeout=_PATIENCE,
    )
    server.on_startup(supervisor.start)
    server.on_shutdown(supervisor.stop)
    _run(server.serve)
    reason = copies.reason(1)
    if copies.good() == 0 and reason is not None:
        raise ModelFileError(reason.replace(str(copies.file(1)), str(model)))


def _run(serve_: Callable[[], Any]) -> None:
    try:
        serve_()
    except SystemExit:
        logger.error("workers ended again and again: the service ends")


def check_port(host: str, port: int) -> None:
    """Raise if somebody listens at a port already."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ConfigError(
                f"port={port} of {host} cannot be listened at ({error.strerror}): give another port"
            ) from None


class Supervisor:
    """Copies the model when its file is another one, or when it is told to by SIGHUP.

    Parameters
    ----------
    model : Path
        The file.
    copies : Copies
        Where workers look for copies.
    """

    def __init__(self, model: Path, copies: Copies) -> None:
        self._model, self._copies = model, copies
        self._copied: Stamp | None = None
        self._is_told = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def start(self) -> None:
        """Begin to watch; from now on SIGHUP means: open the file again."""
        signal.signal(signal.SIGHUP, lambda *_: self._is_told.set())
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()

    def copy(self) -> None:
        """Copy the file for the workers."""
        self._copied = stamp_of(self._model)
        self._copies.add(self._model)

    def _watch(self) -> None:
        while not self._stopped.wait(_SECONDS):
            self._copies.remove_old()
            stamp = stamp_of(self._model)
            if not self._is_told.is_set() and (stamp is None or stamp == self._copied):
                continue
            self._is_told.clear()
            try:
                self.copy()
            except DmrankError as error:
                logger.error(f"the model was not opened again, the old one goes on: {error}")
