"""What workers do in the passes of EM: a range of users, of items or of ratings each.

Compiled code has one kind of each array: what was sent is copied, for it could not be written.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np

from dmrank.compiled.arguments import reading
from dmrank.support.arrays import Array, Bools, Codes, Floats
from dmrank.support.shared_tables import SharedTable
from dmrank.training.effects.blocks import Patterns, Side, Sums, update_parts
from dmrank.training.effects.noise_update import NoisePrior, update_noise_parts
from dmrank.training.effects.own_noise import OwnNoise, Posteriors, update_parts_by
from dmrank.training.effects.residuals import Residuals, sum_parts
from dmrank.training.rating_files import Group, GroupedFiles
from dmrank.training.sums import Piece

_Sums = TypeVar("_Sums", bound=tuple[Floats, ...])


class UserTables(NamedTuple):
    """Effects of users after a round, in double and in single precision."""

    means: SharedTable
    kept: SharedTable
    covariances: SharedTable


class _Given(NamedTuple):
    """The ratings of a range of users (or items)."""

    side: Side
    left: Floats
    patterns: Patterns


def _given(group: Group, present: Bools, level: Floats) -> _Given:
    values, of_rows = group.columns
    rows = np.arange(len(of_rows), dtype=np.int64)
    side = reading(Side(group.pointer, rows, group.others))
    return _Given(side, values.astype(np.float64) - level, Patterns(np.array(present), of_rows))


@lru_cache(maxsize=4)
def _all_of(table: SharedTable) -> Array:
    """Return a table of items, which all tasks of a pass read."""
    return table.read(slice(None))


def _posteriors(piece: Piece, K: int) -> Posteriors:
    """Return rows for the users (or items) of a piece."""
    rows = piece.rows.stop - piece.rows.start
    packed = np.zeros((rows, K * (K + 1) // 2), dtype=np.float32)
    return Posteriors(np.zeros((rows, K)), packed)


def _keep(piece: Piece, own: Posteriors, tables: UserTables) -> None:
    start = piece.rows.start
    tables.means.write(start, own.means)
    tables.kept.write(start, own.means.astype(np.float32))
    tables.covariances.write(start, own.covariances)


def update_users_task(
    piece: Piece,
    files: GroupedFiles,
    present: Bools,
    level: Floats,
    items: SharedTable,
    P: Floats,
    prior: Floats,
    tables: UserTables,
) -> Sums:
    """Update some users, and write them."""
    given, own = _given(files.read(piece.rows), present, level), _posteriors(piece, len(prior))
    sums = update_parts(
        piece.shifted(), len(piece.bounds) - 1, *own, given.side, given.left, _all_of(items),
        given.patterns, noise=np.array(P), prior=np.array(prior), threads=None,
    )  # fmt: skip
    _keep(piece, own, tables)
    return sums


def update_items_task(
    piece: Piece,
    files: GroupedFiles,
    present: Bools,
    level: Floats,
    means: SharedTable,
    P: Floats,
    prior: Floats,
) -> tuple[Floats, Array, Sums]:
    """Return the posteriors of some items, and what they add up to."""
    users, group = files.read(piece.rows).compact()
    given, own = _given(group, present, level), _posteriors(piece, len(prior))
    sums = update_parts(
        piece.shifted(), len(piece.bounds) - 1, *own, given.side, given.left, means.take(users),
        given.patterns, noise=np.array(P), prior=np.array(prior), threads=None,
    )  # fmt: skip
    return *own, sums


def sum_residuals_task(
    piece: Piece,
    files: GroupedFiles,
    users: slice,
    present: Bools,
    level: Floats,
    means: SharedTable,
    items: SharedTable,
) -> Residuals:
    """Add up what no effect explains of some ratings."""
    rows = piece.rows
    values, of_rows = (column.read(rows) for column in files.columns)
    pointer = files.pointer.read(slice(users.start, users.stop + 1))
    counts = np.diff(np.clip(pointer, rows.start, rows.stop))
    row_users = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return sum_parts(
        piece.shifted(), len(piece.bounds) - 1, values.astype(np.float64) - level,
        (row_users, files.others.read(rows)), (means.read(users), _all_of(items)),
        Patterns(np.array(present), of_rows), None,
    )  # fmt: skip


def update_users_by_task(
    piece: Piece,
    files: GroupedFiles,
    present: Bools,
    level: Floats,
    items: SharedTable,
    noise: SharedTable,
    prior: Floats,
    tables: UserTables,
) -> Sums:
    """Do what `update_users_task` does, by the noise of each user."""
    group = files.read(piece.rows)
    given, own = _given(group, present, level), _posteriors(piece, prior.shape[1])
    own_noise = OwnNoise(noise.read(piece.rows), _row_users(group))
    sums = update_parts_by(
        piece.shifted(), own_noise, own, given.side, given.left, _all_of(items), given.patterns,
        prior=np.array(prior), threads=None,
    )  # fmt: skip
    _keep(piece, own, tables)
    return _of_piece(sums, piece)


def _row_users(group: Group) -> Codes:
    counts = np.diff(group.pointer)
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def _of_piece(sums: _Sums, piece: Piece) -> _Sums:
    """Return the sums of the parts of a piece: there are no more."""
    return type(sums)(*(each[: len(piece.bounds) - 1] for each in sums))


def update_items_by_task(
    piece: Piece,
    files: GroupedFiles,
    present: Bools,
    level: Floats,
    means: SharedTable,
    noise: SharedTable,
    prior: Floats,
) -> tuple[Floats, Array, Sums]:
    """Do what `update_items_task` does, by the noise of each rater."""
    users, group = files.read(piece.rows).compact()
    given, own = _given(group, present, level), _posteriors(piece, prior.shape[1])
    own_noise = OwnNoise(noise.take(users), group.others)
    sums = update_parts_by(
        piece.shifted(), own_noise, own, given.side, given.left, means.take(users), given.patterns,
        prior=np.array(prior), threads=None,
    )  # fmt: skip
    return *own, _of_piece(sums, piece)


class _Lost(NamedTuple):
    """−2 × what is expected of ratings, by the parts of a block."""

    parts: Floats


def update_noise_task(
    piece: Piece,
    files: GroupedFiles,
    present: Bools,
    level: Floats,
    tables: UserTables,
    items: tuple[SharedTable, SharedTable],
    prior: NoisePrior,
    noises: tuple[SharedTable, SharedTable],
) -> _Lost:
    """Write the noise of some users."""
    group, rows, (before, after) = files.read(piece.rows), piece.rows, noises
    given = _given(group, present, level)
    noise = OwnNoise(before.read(rows), _row_users(group))
    users = Posteriors(tables.means.read(rows), tables.covariances.read(rows))
    strengths = np.full(rows.stop - rows.start, prior.strengths[0])
    centres, log_determinants = np.array(prior.centres), np.array(prior.log_determinants)
    own_prior = NoisePrior(centres, log_determinants, strengths, prior.smallest)
    parts = update_noise_parts(
        piece.shifted(), noise, given.side, given.left,
        (users, Posteriors(*map(_all_of, items))), given.patterns, own_prior, None,
    )  # fmt: skip
    after.write(rows.start, noise.packed)
    return _of_piece(_Lost(parts), piece)
