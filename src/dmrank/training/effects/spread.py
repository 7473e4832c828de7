"""Passes of EM on workers: effects of items here, those of users in files.

A task updates a range of users, whose rows it writes, or a range of items, for which it reads the
effects of who rated them, or adds up the residuals of a range of ratings. What it adds up is kept
by the parts of blocks (`training.sums`), so that no bit depends on who did it.

Effects of users follow from everything else, but for the noise of their own: its files are what a
run has to keep, beside the state that this process holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dmrank.support.arrays import Array, Codes, Floats, Int64s
from dmrank.support.shared_tables import SharedTable
from dmrank.support.workers import LIBRARIES, Workers
from dmrank.training.data import RowValues
from dmrank.training.effects.blocks import Sums, count_tasks, find_patterns
from dmrank.training.effects.em import Effects, inverse, prior_of_noise
from dmrank.training.effects.own_noise import TASKS, packed_matrix
from dmrank.training.effects.residuals import Residuals
from dmrank.training.effects.spread_tasks import (
    UserTables,
    sum_residuals_task,
    update_items_by_task,
    update_items_task,
    update_noise_task,
    update_users_by_task,
    update_users_task,
)
from dmrank.training.rating_files import MOST_RATINGS, write_ratings
from dmrank.training.sums import Piece, pieces, stacked, sum_blocks

_Sums = TypeVar("_Sums", bound=tuple[Floats, ...])
#: Rows that are written at once.
_AT_ONCE = 1 << 16


class PassesThere:
    """Passes by workers, over ratings that are written into files first.

    Parameters
    ----------
    workers : Workers
        Who does the work.
    folder : Path or None
        Where the noise of users is kept for a run that goes on after it was killed; None: nowhere.
    pointer, items, n_items
        Items of user u are ``items[pointer[u]:pointer[u + 1]]``.
    values : RowValues
        Ratings on the training scale.
    rounds : int64 array, 1
        Rounds that are done: part of the state of a run.
    """

    def __init__(
        self,
        workers: Workers,
        folder: Path | None,
        pointer: Int64s,
        items: Codes,
        n_items: int,
        values: RowValues,
        rounds: Int64s,
    ) -> None:
        _check_memory(workers, n_items, values.shape[1])
        patterns = find_patterns(values)
        self.workers, self.rounds, self.folder = workers, rounds, workers.new_folder()
        self.kept = folder if folder is not None else self.folder
        self.kept.mkdir(parents=True, exist_ok=True)
        if folder is not None:
            workers.check_sees(folder)
        self.present, self.users, self.K = patterns.present, len(pointer) - 1, values.shape[1]
        self.counts = np.bincount(patterns.of_rows, minlength=len(self.present)).astype(np.float64)
        self.files = write_ratings(self.folder, pointer, items, n_items, values, patterns.of_rows)
        self.parts = count_tasks(patterns)
        self._steps = 0
        self._held: list[SharedTable] = []

    # Where effects of users are after so many rounds.

    def _table(self, name: str, rounds: int, dtype: Any, columns: int) -> SharedTable:
        shape = self.users, columns
        return SharedTable(
            str(self.kept.absolute() / f"{name}-{rounds}"), np.dtype(dtype).str, shape
        )

    def tables(self, rounds: int) -> UserTables:
        """Return where the effects of users are after so many rounds."""
        triangle = self.K * (self.K + 1) // 2
        return UserTables(
            self._table("means", rounds, np.float64, self.K),
            self._table("users", rounds, np.float32, self.K),
            self._table("covariances", rounds, np.float32, triangle),
        )

    def noise(self, rounds: int) -> SharedTable:
        """Return where the noise of users is after so many rounds."""
        return self._table("noise", rounds, np.float32, self.K * (self.K + 1) // 2)

    def arrays(self, *, own_noise: bool) -> dict[str, Array]:
        """Return what a model keeps of users, mapped from files."""
        done = int(self.rounds[0])
        tables = self.tables(done)
        arrays = {"users": tables.kept.mapped(), "user_covariances": tables.covariances.mapped()}
        noise = self.noise(done)
        if own_noise and Path(noise.path).exists():
            arrays["user_noise"] = noise.mapped()
        return arrays

    def next_round(self, effects: Effects, *, own_noise: bool) -> None:
        """Make the files of another round, and remove those that nobody needs any more."""
        done = int(self.rounds[0])
        if done > 0:
            for table in self.tables(done - 1):
                table.remove()
        for table in self.tables(done + 1):
            _create(table)
        if own_noise:
            _create(self.noise(done + 1))
            if not Path(self.noise(done).path).exists():
                self._write_noise(self.noise(done), effects)
        self.rounds[0] = done + 1

    def _write_noise(self, table: SharedTable, effects: Effects) -> None:
        """Begin with the noise of all ratings for everybody."""
        _create(table)
        common = packed_matrix(effects.noise)
        for start in range(0, self.users, _AT_ONCE):
            table.write(start, np.tile(common, (min(_AT_ONCE, self.users - start), 1)))

    # The passes.

    def update_users(self, effects: Effects, P: Floats) -> Sums:
        """Write the posteriors of all users."""
        items, prior = self._hold(effects.items), inverse(effects.user_prior)
        tables = self.tables(int(self.rounds[0]))
        return self._sums(
            update_users_task,
            self.users,
            self.parts,
            self.files.user_pointer,
            lambda piece: (
                piece, self.files.by_user, self.present, effects.level, items, P, prior, tables,
            ),
        )  # fmt: skip

    def update_items(self, effects: Effects, P: Floats) -> Sums:
        """Put the posteriors of all items in place."""
        means, prior = self.tables(int(self.rounds[0])).means, inverse(effects.item_prior)
        return self._item_sums(
            effects,
            update_items_task,
            self.parts,
            lambda piece: (
                piece, self.files.by_item, self.present, effects.level, means, P, prior,
            ),
        )  # fmt: skip

    def sum_residuals(self, effects: Effects) -> Residuals:
        """Add up what no effect explains."""
        items, means = self._hold(effects.items), self.tables(int(self.rounds[0])).means
        return self._sums(
            sum_residuals_task,
            len(self.files.by_user.others),
            self.parts,
            None,
            lambda piece: (
                piece, self.files.by_user, self._users_of(piece.rows), self.present, effects.level,
                means, items,
            ),
        )  # fmt: skip

    def update_users_by(self, effects: Effects) -> Sums:
        """Do what `update_users` does, where users have a noise of their own."""
        items, prior = self._hold(effects.items), inverse(effects.user_prior)[None]
        done = int(self.rounds[0])
        noise, tables = self.noise(done - 1), self.tables(done)
        return self._sums(
            update_users_by_task,
            self.users,
            TASKS,
            self.files.user_pointer,
            lambda piece: (
                piece, self.files.by_user, self.present, effects.level, items, noise, prior, tables,
            ),
        )  # fmt: skip

    def update_items_by(self, effects: Effects) -> Sums:
        """Do what `update_items` does, where users have a noise of their own."""
        done, prior = int(self.rounds[0]), inverse(effects.item_prior)[None]
        noise, means = self.noise(done - 1), self.tables(done).means
        return self._item_sums(
            effects,
            update_items_by_task,
            TASKS,
            lambda piece: (
                piece, self.files.by_item, self.present, effects.level, means, noise, prior,
            ),
        )  # fmt: skip

    def update_noise(self, effects: Effects, strength: float) -> float:
        """Write the noise of all users; return what is expected of ratings by the old."""
        done = int(self.rounds[0])
        items = self._hold(effects.items), self._hold(effects.item_covariances)
        prior, tables = prior_of_noise(effects, strength, 1), self.tables(done)
        noises = self.noise(done - 1), self.noise(done)
        (lost,) = self._sums(
            update_noise_task,
            self.users,
            TASKS,
            self.files.user_pointer,
            lambda piece: (
                piece, self.files.by_user, self.present, effects.level, tables, items, prior,
                noises,
            ),
        )  # fmt: skip
        return -float(lost) / 2

    # How they are spread.

    def _hold(self, array: Array) -> SharedTable:
        """Let all tasks read an array of items; those of the pass before are not read any more."""
        self._steps += 1
        table = SharedTable.holding(self.folder / f"held-{self._steps}", array)
        self._held.append(table)
        while len(self._held) > 4:
            self._held.pop(0).remove()
        return table

    def _users_of(self, ratings: slice) -> slice:
        """Return the users that a range of ratings is of."""
        first, last = np.searchsorted(
            self.files.user_pointer, [ratings.start, ratings.stop - 1], side="right"
        )
        return slice(int(first) - 1, int(last))

    def _sums(
        self,
        task: Callable[..., _Sums],
        rows: int,
        parts: int,
        weights: Int64s | None,
        arguments: Callable[[Piece], tuple[Any, ...]],
    ) -> _Sums:
        cut = list(pieces(rows, parts, weights, MOST_RATINGS))
        return _total(cut, self.workers.run(task, map(arguments, cut)), parts)

    def _item_sums(
        self,
        effects: Effects,
        task: Callable[..., tuple[Floats, Floats, Sums]],
        parts: int,
        arguments: Callable[[Piece], tuple[Any, ...]],
    ) -> Sums:
        cut = list(pieces(len(effects.items), parts, self.files.item_pointer, MOST_RATINGS))
        found = []
        done = self.workers.run(task, map(arguments, cut))
        for piece, (means, covariances, sums) in zip(cut, done, strict=True):
            effects.items[piece.rows], effects.item_covariances[piece.rows] = means, covariances
            found.append(sums)
        return _total(cut, found, parts)


def _check_memory(workers: Workers, items: int, K: int) -> None:
    """Raise if workers cannot hold the effects of all items, and those of who rated a range."""
    row = 8 * K + 2 * K * (K + 1)
    workers.check_memory(
        row * (2 * items + MOST_RATINGS) + LIBRARIES, f"effects of {items:,} items"
    )


def _create(table: SharedTable) -> None:
    SharedTable.create(Path(table.path), table.dtype, table.shape)


def _total(cut: list[Piece], found: Iterable[_Sums], parts: int) -> _Sums:
    """Add up the sums of pieces: the parts of each block, and then blocks in their order."""

    def of_blocks() -> Iterable[_Sums]:
        for _, own in groupby(zip(cut, found, strict=True), key=lambda each: each[0].block):
            sums = [each for _, each in own]
            yield type(sums[0])(
                *(stacked(same, parts).sum(axis=0) for same in zip(*sums, strict=True))
            )

    return sum_blocks(of_blocks())
