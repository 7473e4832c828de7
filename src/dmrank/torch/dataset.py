"""Pairs of rated items as a data set, drawn as the library's own models draw them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from dmrank.data.ratings import Ratings
from dmrank.support.errors import ConfigError
from dmrank.support.seeds import check_seed
from dmrank.training.data import Missing, ratings_data
from dmrank.training.pairwise.drawing import sample_candidates, sample_pairs

Negatives = Literal["all", "batch"]


class PairBatch(NamedTuple):
    """A batch of pairs (u, i, j); a pair that has no direction is not among them.

    Attributes
    ----------
    users : torch.Tensor
        Positions of u in ``ratings.users``.
    first, second : torch.Tensor
        Positions of i and j in ``ratings.items``.
    difference : torch.Tensor
        d = r_ui − r_uj on the training scale 1–5, of shape (pairs, K); an unrated item counts as
        rated 0, and a missing aspect has 0.
    mask : torch.Tensor
        True where both items have the aspect.
    candidates : torch.Tensor
        Items among which j can be chosen anew, of shape (pairs, ``hard_negatives``); the first is
        j, and all are if u has rated it.
    """

    users: Tensor
    first: Tensor
    second: Tensor
    difference: Tensor
    mask: Tensor
    candidates: Tensor

    def hardest(self, scores: Tensor) -> PairBatch:
        """Return the batch with each j the candidate of the highest score.

        d stays as it is, for an unrated item counts as rated 0.

        Parameters
        ----------
        scores : torch.Tensor
            What a model thinks of the candidates, of their shape.
        """
        if scores.shape != self.candidates.shape:
            raise ValueError(
                f"candidates have shape {tuple(self.candidates.shape)} and scores "
                f"{tuple(scores.shape)}: give one score for each"
            )
        best = scores.argmax(dim=1, keepdim=True)
        return self._replace(second=self.candidates.gather(1, best)[:, 0])

    def to(self, device: torch.device | str) -> PairBatch:
        """Return the batch on a device."""
        return PairBatch(*(tensor.to(device) for tensor in self))


class PairDataset(IterableDataset[PairBatch]):
    """What `pairs` returns: a pass over it yields `len` batches."""

    def __init__(
        self,
        ratings: Ratings,
        batch_size: int,
        rated_share: float,
        negatives: Negatives,
        hard_negatives: int,
        batches: int | None,
        missing: Missing,
        seed: int,
    ) -> None:
        super().__init__()
        _check_counts(batch_size=batch_size, hard_negatives=hard_negatives)
        if batches is not None:
            _check_counts(batches=batches)
        if not 0 <= rated_share <= 1:
            raise ConfigError(f"rated_share={rated_share!r}: give a share from 0 to 1")
        for name, value, known in (
            ("negatives", negatives, get_args(Negatives)),
            ("missing", missing, get_args(Missing)),
        ):
            if value not in known:
                raise ConfigError(f"{name}={value!r}: give {' or '.join(map(repr, known))}")
        check_seed(seed)
        self.batch_size = batch_size
        self.rated_share = rated_share
        self.negatives = negatives
        self.hard_negatives = hard_negatives
        self.seed = seed
        self._data = ratings_data(ratings, missing)
        self._batches = batches or -(-len(self._data.items) // batch_size)
        # Shared: workers that live on see a new epoch, too.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        return self._batches

    def set_epoch(self, epoch: int) -> None:
        """Choose the pairs of the next pass; the same epoch has the same pairs."""
        if epoch < 0:
            raise ConfigError(f"epoch={epoch!r}: give a whole number from 0 on")
        self._epoch.fill_(epoch)

    def __iter__(self) -> Iterator[PairBatch]:
        worker = get_worker_info()
        # A loader takes batches from its workers in turn: together they are those of one.
        first, step = (0, 1) if worker is None else (worker.id, worker.num_workers)
        begin = int(self._epoch) * self._batches
        for number in range(first, self._batches, step):
            yield self._batch(begin + number)

    def _batch(self, iteration: int) -> PairBatch:
        drawn = sample_pairs(self._data, self.rated_share, self.seed, iteration, self.batch_size)
        from_batch = self.negatives == "batch"
        candidates = sample_candidates(
            self._data, drawn, self.hard_negatives, from_batch, self.seed, iteration
        )
        has_direction = drawn.users >= 0
        difference = drawn.differences[has_direction]
        candidates = candidates[has_direction].astype(np.int64)
        return PairBatch(
            users=torch.from_numpy(drawn.users[has_direction].astype(np.int64)),
            first=torch.from_numpy(drawn.items[has_direction, 0].astype(np.int64)),
            second=torch.from_numpy(candidates[:, 0].copy()),
            difference=torch.from_numpy(np.nan_to_num(difference, nan=0.0)),
            mask=torch.from_numpy(~np.isnan(difference)),
            candidates=torch.from_numpy(candidates),
        )


def pairs(
    ratings: Ratings,
    batch_size: int = 2000,
    *,
    rated_share: float = 0.0,
    negatives: Negatives = "all",
    hard_negatives: int = 1,
    batches: int | None = None,
    missing: Missing = "marginalize",
    seed: int = 0,
) -> PairDataset:
    """Return random pairs (u, i, j) of ratings as a data set for any training loop.

    (u, i) is uniform over the ratings. The data set yields whole batches: give a loader
    ``DataLoader(dataset, batch_size=None, num_workers=…)``. Which pairs there are depends on the
    seed and the epoch alone, not on the number of workers.

    Parameters
    ----------
    ratings : Ratings
        Ratings to learn from.
    batch_size : int
        Pairs per batch; those that differ in no aspect are left out of it.
    rated_share : float
        Probability that j is one of the other items that u has rated, else any item but i; an
        unrated one counts as rated 0 on every aspect.
    negatives : {"all", "batch"}
        Whether an unrated j is drawn from all items, or is the i of another pair of the batch: an
        item is then drawn as often as it is rated.
    hard_negatives : int
        So many candidates for an unrated j; `PairBatch.hardest` chooses by the scores of a model.
    batches : int, optional
        Batches of a pass; by default as many as hold a pair for every rating.
    missing : {"marginalize", "zero"}
        Whether the mask leaves a missing aspect out, or it counts as rated 0.
    seed : int
        Seed of the random numbers.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> ratings = make_ratings(100, 30, 1_000, seed=1).ratings
    >>> dataset = pairs(ratings, batch_size=400, seed=1)
    >>> [len(batch.users) for batch in dataset], dataset.set_epoch(1)
    ([400, 400, 400], None)
    """
    return PairDataset(
        ratings, batch_size, rated_share, negatives, hard_negatives, batches, missing, seed
    )


def _check_counts(**counts: object) -> None:
    for name, count in counts.items():
        if not isinstance(count, int) or count < 1:
            raise ConfigError(f"{name}={count!r}: give a whole number from 1 on")
