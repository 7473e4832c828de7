"""Workers in this process, by way of bytes, which are counted; they can be made to break down."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dmrank.support.shared_tables import SharedTable


class BreakdownError(Exception):
    """What happens to a driver that is killed."""


class CountingWorkers:
    """Does everything here, as if it were elsewhere.

    Parameters
    ----------
    folder : Path
        Where files go that all workers see.
    monkeypatch
        Counts what tables read and write.
    tasks_left : int
        After so many, everything breaks down.
    """

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, tasks_left: int = 1 << 60
    ) -> None:
        self.folder, self.bytes, self.tasks_left = folder, Counter[str](), tasks_left
        self.is_working, self.folders = False, 0
        for name in ("read", "take", "write"):
            self._count(name, monkeypatch)

    def _count(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        original = getattr(SharedTable, name)

        def counted(table: SharedTable, *arguments: Any) -> Any:
            found = original(table, *arguments)
            if self.is_working:
                size = arguments[1].nbytes if name == "write" else found.nbytes
                self.bytes[f"{name} {Path(table.path).name.split('-')[0]}"] += size
            return found

        monkeypatch.setattr(SharedTable, name, counted)

    def new_folder(self) -> Path:
        self.folders += 1
        made = self.folder / str(self.folders)
        made.mkdir(parents=True)
        return made

    def check_sees(self, file: Path) -> None:
        assert file.exists()

    def check_memory(self, needed: int, what: str, *, alone: bool = False) -> None:
        self.bytes["needed alone" if alone else "needed by each"] = needed
        assert what

    def share(self, value: Any) -> Any:
        return value

    def run(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for arguments in calls:
            yield self._call(function, arguments)

    def run_large(self, function: Callable[..., Any], arguments: tuple[Any, ...], _: int) -> Any:
        return self._call(function, arguments)

    def _call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self.tasks_left == 0:
            raise BreakdownError
        self.tasks_left -= 1
        given = pickle.loads(pickle.dumps(arguments, protocol=5))
        self.is_working = True
        try:
            result = pickle.dumps(function(*given), protocol=5)
        finally:
            self.is_working = False
        name = getattr(function, "func", function).__name__
        self.bytes[f"returned by {name}"] += len(result)
        return pickle.loads(result)
