"""A worker watches for another copy of the model, and for other keys, and takes them over."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from pathlib import Path

from dmrank.service import metrics
from dmrank.service.copies import Copies, Stamp, stamp_of
from dmrank.service.keys import Keys
from dmrank.service.logs import logger
from dmrank.service.served import Served
from dmrank.service.service import Service
from dmrank.support.errors import DmrankError, first_line

_SECONDS = 0.1
#: Seconds after which nobody waits for an answer of the old model any more.
_GRACE = 0.5


def open_latest(copies: Copies) -> tuple[Served, int]:
    """Open the latest copy that is good, and report the later ones, which are not.

    If none is good, what is wrong with the latest is raised.

    Returns
    -------
    served : Served
        The model.
    number : int
        The latest copy that was looked at.
    """
    numbers = copies.numbers()
    wrong: list[Exception] = []
    for number in reversed(numbers):
        try:
            served = open_copy(copies, number)
        except Exception as error:
            wrong.append(error)
        else:
            for reason in wrong:
                _report(reason)
            return served, numbers[-1]
    if copies.numbers() != numbers:
        # A good one came meanwhile, and those before it were removed.
        return open_latest(copies)
    raise wrong[0]


def open_copy(copies: Copies, number: int) -> Served:
    """Open a copy and try it; say in the folder how that went."""
    try:
        served = Served.open(copies.file(number))
    except Exception as error:
        copies.say_bad(number, first_line(error))
        metrics.reloads.labels("failed").inc()
        raise
    copies.say_good(number)
    metrics.reloads.labels("done").inc()
    return served


def _report(error: Exception) -> None:
    """Say why a copy is not served."""
    logger.error(f"another model was not taken over, the old one goes on: {first_line(error)}")


class Watcher:
    """Looks for copies of the model in a thread, and hands them to the loop.

    Parameters
    ----------
    service : Service
        What answers.
    copies : Copies
        Where copies are.
    number : int
        The latest that was looked at.
    """

    def __init__(self, service: Service, copies: Copies, number: int) -> None:
        self._service, self._copies, self._seen = service, copies, number
        self._keys_seen = self._keys_stamp()
        self._stopped = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(_SECONDS):
            if self._service.settings.parent not in (None, os.getppid()):
                # Who started the workers was killed: nobody would ever end them.
                os.kill(os.getpid(), signal.SIGTERM)
                return
            # Now and then: a gauge that every request moves would cost as much as its ranking.
            metrics.answering.set(self._service.answering)
            try:
                self._look_for_model()
                self._look_for_keys()
            except Exception:
                logger.exception("the watcher has failed, and goes on")

    def _look_for_model(self) -> None:
        if max(self._copies.numbers(), default=0) <= self._seen:
            return
        with self._copies.turn() as is_ours:
            served = self._opened() if is_ours else None
        if served is None:
            return
        self._loop.call_soon_threadsafe(self._service.serve, served)
        logger.info("another model is served", extra={"model": served.version})
        # What of the old one refers to itself would stay in memory, and its file on the disk.
        self._stopped.wait(_GRACE)
        gc.collect()

    def _opened(self) -> Served | None:
        """Return the model of the latest copy, if it is good."""
        # Those that were there when the turn was waited for may be gone.
        self._seen = max(self._copies.numbers())
        try:
            return open_copy(self._copies, self._seen)
        except Exception as error:
            _report(error)
            return None

    def _look_for_keys(self) -> None:
        stamp = self._keys_stamp()
        if stamp == self._keys_seen or self._service.settings.keys is None:
            return
        self._keys_seen = stamp
        try:
            self._service.keys = Keys.read(Path(self._service.settings.keys))
        except DmrankError as error:
            logger.error(f"other keys were not taken over, the old ones count: {error}")
        else:
            logger.info("other keys count from now on")

    def _keys_stamp(self) -> Stamp | None:
        keys = self._service.settings.keys
        return None if keys is None else stamp_of(Path(keys))
