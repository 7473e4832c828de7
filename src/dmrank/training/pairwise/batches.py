"""Batches of pairs, drawn and grouped ahead of the steps that use them.

Drawing, choosing hard negatives and grouping are phases of a team of threads (see
`compiled.tasks`), cut into tasks that can be done in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.compiled.compiling import compiled, spliced
from dmrank.compiled.lanes import LANES
from dmrank.compiled.tasks import TASKS, Counters, share_tasks
from dmrank.compiled.transpose import padded
from dmrank.support.arrays import Int32s
from dmrank.training.pairwise.grouping import (
    Grouping,
    empty_grouping,
    group,
    grouping_of,
    groups_of,
)
from dmrank.training.pairwise.hardest import choose_hardest
from dmrank.training.pairwise.sampling import NO_ROW, Pairs, draw_pairs, random_stream

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData
    from dmrank.training.pairwise.parameters import Parameters
    from dmrank.training.pairwise.settings import SamplerSettings

# Batches are drawn ahead until they hold so many samples: drawing needs no parameters, and threads
# wait for each other less often.
_SAMPLES_AHEAD = 32_768
_MOST_BATCHES_AHEAD = 16
#: In place of the first batch with joined users: there is none.
NONE_JOINED = -1


class Source(NamedTuple):
    """Where pairs come from; an iteration consists of ``steps`` batches."""

    data: TrainingData
    sampler: SamplerSettings
    steps: int


class Batches(NamedTuple):
    """Pairs and their groups, one row of each array per batch; or one batch, without these rows."""

    pairs: Pairs
    grouping: Grouping


class Keys(NamedTuple):
    """What the samples of batches are grouped by: their users and items, one row per batch."""

    users: Int32s
    items: Int32s


class Range(NamedTuple):
    """Batches that are prepared together: the number of the first, and how many."""

    first: int
    length: int


def in_whole_blocks(batch_size: int) -> int:
    """Return the size of a batch in memory; what is beyond the batch counts as skipped.

    Examples
    --------
    >>> in_whole_blocks(2000), in_whole_blocks(1)
    (2000, 16)
    """
    return -(-batch_size // LANES) * LANES


def batches_ahead(sampler: SamplerSettings) -> int:
    """Return how many batches are drawn at once.

    Examples
    --------
    >>> from dmrank.training.pairwise.settings import SamplerSettings
    >>> [batches_ahead(SamplerSettings(size, 0.0, 1, 0)) for size in (100, 2000, 100_000)]
    [16, 16, 1]
    """
    # The hardest j depends on the parameters: it cannot be chosen ahead.
    if sampler.hard_negatives > 1:
        return 1
    ahead = max(_SAMPLES_AHEAD // in_whole_blocks(sampler.batch_size), 1)
    return min(ahead, _MOST_BATCHES_AHEAD)


def empty_batches(sampler: SamplerSettings, aspects: int) -> Batches:
    """Return memory for the batches that are drawn at once, all of their pairs skipped."""
    ahead, size = batches_ahead(sampler), in_whole_blocks(sampler.batch_size)
    pairs = Pairs(
        np.full((ahead, size), -1, dtype=np.int32),
        np.full((ahead, size, 2), -1, dtype=np.int32),
        np.zeros((ahead, size, padded(aspects)), dtype=np.float32),
        np.full((ahead, size), NO_ROW, dtype=np.int64),
    )
    return Batches(pairs, empty_grouping(ahead, size, items_per_sample=2))


@compiled
def batch_of(batches: Batches, number: int) -> Batches:
    """Return one of the batches that were drawn ahead."""
    return Batches(_pairs_of(batches.pairs, number), grouping_of(batches.grouping, number))


@compiled
def _pairs_of(pairs: Pairs, batch: int) -> Pairs:
    return Pairs(
        pairs.users[batch], pairs.items[batch], pairs.differences[batch], pairs.second_rows[batch]
    )


@spliced
def prepare_batches(
    source: Source,
    parameters: Parameters,
    numbers: Range,
    batches: Batches,
    first_joined: int,
    counters: Counters,
    phase: int,
) -> int:
    """Draw and group batches, j as hard as the sampler asks for, and return the next phase.

    ``first_joined`` is that of `group_batches`.
    """
    phase = draw_batches(source, numbers, batches.pairs, counters, phase)
    if source.sampler.hard_negatives > 1:  # then there is one batch
        arguments = (source, parameters, numbers.first, _pairs_of(batches.pairs, 0))
        phase = share_tasks(counters, phase, TASKS, _harden_part, arguments)
    return group_pairs(numbers.length, batches, first_joined, counters, phase)


@spliced
def draw_batches(
    source: Source, numbers: Range, pairs: Pairs, counters: Counters, phase: int
) -> int:
    """Draw batches in one phase, and return the next phase."""
    tasks = numbers.length * TASKS
    return share_tasks(counters, phase, tasks, _draw_part, (source, numbers.first, pairs))


@compiled
def _draw_part(arguments: tuple[Source, int, Pairs], task: int) -> None:
    source, first, pairs = arguments
    batch, part = task // TASKS, task % TASKS
    start, end = _part(source, part)
    rated_share, stream = source.sampler.rated_share, _stream(source, first + batch)
    draw_pairs(source.data, rated_share, stream, _pairs_of(pairs, batch), start, end)


@compiled
def _harden_part(arguments: tuple[Source, Parameters, int, Pairs], task: int) -> None:
    source, parameters, number, pairs = arguments
    start, end = _part(source, task)
    candidates = source.sampler.hard_negatives
    stream = _stream(source, number)
    choose_hardest(source.data, parameters, candidates, stream, pairs, start, end)


@compiled
def _part(source: Source, part: int) -> tuple[int, int]:
    """Return where a part out of `TASKS` of a batch starts and ends."""
    size = source.sampler.batch_size
    return size * part // TASKS, size * (part + 1) // TASKS


@compiled
def _stream(source: Source, number: int) -> np.uint64:
    """Return the random numbers of a batch."""
    return random_stream(source.sampler.seed, number // source.steps, number % source.steps)


@spliced
def group_pairs(
    count: int, batches: Batches, first_joined: int, counters: Counters, phase: int
) -> int:
    """Group batches of pairs by user and by item (see `group_batches`)."""
    users, items = batches.pairs.users, batches.pairs.items
    keys = Keys(users, items.reshape(items.shape[0], 2 * items.shape[1]))
    return group_batches(count, keys, batches.grouping, first_joined, counters, phase)


@spliced
def group_batches(
    count: int, keys: Keys, grouping: Grouping, first_joined: int, counters: Counters, phase: int
) -> int:
    """Group batches by user and by item, in one phase, and return the next phase.

    Every other batch from ``first_joined`` on is grouped as if all its samples had one user, for
    they share one Σ; if it is `NONE_JOINED`, none is.
    """
    return share_tasks(counters, phase, 2 * count, _group_side, (keys, grouping, first_joined))


@compiled
def _group_side(arguments: tuple[Keys, Grouping, int], task: int) -> None:
    keys, grouping, first_joined = arguments
    batch = task // 2
    if task % 2 == 1:
        group(keys.items[batch], groups_of(grouping.items, batch))
    elif first_joined >= 0 and batch % 2 == first_joined:
        joined = np.minimum(keys.users[batch], np.int32(0))
        group(joined, groups_of(grouping.users, batch))
    else:
        group(keys.users[batch], groups_of(grouping.users, batch))
