"""Somebody who asks all the time."""

from __future__ import annotations

import threading
from collections import Counter

import httpx2 as httpx


class Load:
    """Asks for lists from a thread until the block ends, and counts the answers.

    Parameters
    ----------
    address : str
        Of the service.
    retries : int
        How often a request is sent again that no answer came to, as clients of a service do that
        is restarted.
    """

    def __init__(self, address: str, *, retries: int = 0, writes: bool = False) -> None:
        self._address, self._retries, self._writes = address, retries, writes
        self.statuses: Counter[int] = Counter()
        self.models: Counter[str] = Counter()
        self.failures: list[str] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def count(self) -> int:
        """How many answers came."""
        return sum(self.statuses.values())

    def _run(self) -> None:
        transport = httpx.HTTPTransport(retries=self._retries)
        with httpx.Client(base_url=self._address, transport=transport, timeout=30) as client:
            number = 0
            while not self._stopped.is_set():
                number += 1
                self._ask(client, f"u{3 + number % 30:06}")

    def _ask(self, client: httpx.Client, user: str) -> None:
        for left in range(self._retries, -1, -1):
            try:
                answer = client.get("/v1/recommend", params={"user": user, "n": 3})
            except httpx.TransportError as error:
                if left == 0:
                    self.failures.append(repr(error))
                continue
            self.statuses[answer.status_code] += 1
            if answer.status_code == 200:
                self.models[answer.json()["model"]] += 1
            else:
                self.failures.append(answer.text)
            return
