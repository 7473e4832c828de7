"""Pairs as a data set: the library's sampling, the same with any number of workers."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the data set is for PyTorch, the extra neural")

from torch.utils.data import DataLoader  # noqa: E402

from dmrank import ConfigError, Ratings, make_ratings  # noqa: E402
from dmrank.torch import DirectionalLoss, PairBatch, pairs  # noqa: E402
from dmrank.training.data import ratings_data  # noqa: E402
from dmrank.training.pairwise.drawing import sample_pairs  # noqa: E402


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(80, 40, 1_000, missing=0.2, seed=1).ratings


def rated_items(ratings: Ratings) -> list[set[int]]:
    begin = ratings.user_pointer
    items = ratings.item_codes.tolist()
    return [set(items[begin[u] : begin[u + 1]]) for u in range(len(ratings.users))]


def assert_same(ours: list[PairBatch], others: list[PairBatch]) -> None:
    assert len(ours) == len(others)
    for batch, other in zip(ours, others, strict=True):
        assert all(torch.equal(a, b) for a, b in zip(batch, other, strict=True))


@pytest.mark.filterwarnings("ignore:This DataLoader will create 4 worker")
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_sequence_is_the_same_with_any_number_of_workers(ratings, workers: int) -> None:
    dataset = pairs(ratings, 150, rated_share=0.3, hard_negatives=3, seed=4)
    dataset.set_epoch(2)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers)
    assert len(dataset) == 7
    assert_same(list(loader), list(dataset))


def test_workers_that_live_on_see_a_new_epoch(ratings) -> None:
    dataset = pairs(ratings, 300, seed=4)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True)
    before = list(loader)
    dataset.set_epoch(1)
    after = list(loader)
    assert_same(after, list(dataset))
    assert not torch.equal(before[0].users, after[0].users)
    dataset.set_epoch(0)
    assert_same(before, list(dataset))


def test_pairs_are_those_that_our_models_draw(ratings) -> None:
    batch = next(iter(pairs(ratings, 200, rated_share=0.5, seed=3)))
    drawn = sample_pairs(ratings_data(ratings), 0.5, seed=3, iteration=0, batch_size=200)
    counted = drawn.users >= 0
    assert batch.users.tolist() == drawn.users[counted].tolist()
    assert torch.stack([batch.first, batch.second], 1).tolist() == drawn.items[counted].tolist()
    difference = np.where(batch.mask, batch.difference, np.nan)
    np.testing.assert_array_equal(difference, drawn.differences[counted])


def test_another_seed_draws_other_pairs(ratings) -> None:
    first, second = (next(iter(pairs(ratings, 100, seed=seed))) for seed in (0, 1))
    assert not torch.equal(first.first, second.first)


@pytest.mark.parametrize("negatives", ["all", "batch"])
def test_candidates_are_unrated_unless_j_is_rated(ratings, negatives) -> None:
    batch = next(iter(pairs(ratings, 300, rated_share=0.4, negatives=negatives, hard_negatives=4)))
    rated = rated_items(ratings)
    drawn = zip(batch.users.tolist(), batch.second.tolist(), batch.candidates.tolist(), strict=True)
    kinds = set()
    for user, second, candidates in drawn:
        is_rated = second in rated[user]
        kinds.add(is_rated)
        assert set(candidates) == {second} if is_rated else not set(candidates) & rated[user]
    assert kinds == {True, False}
    assert torch.equal(batch.candidates[:, 0], batch.second)


def test_negatives_of_the_batch_are_items_of_the_batch(ratings) -> None:
    batch = next(iter(pairs(ratings, 300, negatives="batch")))
    assert set(batch.second.tolist()) <= set(batch.first.tolist())
    shares = torch.bincount(batch.second, minlength=40).double()
    popularity = torch.tensor(np.bincount(ratings.item_codes, minlength=40)).double()
    assert torch.corrcoef(torch.stack([shares, popularity]))[0, 1] > 0.5


def test_the_hardest_candidate_is_that_with_the_highest_score(ratings) -> None:
    batch = next(iter(pairs(ratings, 100, hard_negatives=5)))
    scores = batch.candidates.double()
    harder = batch.hardest(scores)
    assert torch.equal(harder.second, batch.candidates.amax(1))
    assert torch.equal(harder.difference, batch.difference)
    with pytest.raises(ValueError, match=r"shape \(100, 5\) and scores \(100,\)"):
        batch.hardest(scores[:, 0])


def test_every_pair_has_a_direction_and_fits_the_loss(ratings) -> None:
    batch = next(iter(pairs(ratings, 200, rated_share=1.0)))
    assert ((batch.difference != 0) & batch.mask).any(1).all()
    assert not (batch.difference != 0)[~batch.mask].any()
    mean = torch.zeros(batch.difference.shape, requires_grad=True)
    DirectionalLoss()(mean, batch.difference, batch.mask).backward()
    assert (mean.grad != 0).any(1).all()


def test_missing_aspects_may_count_as_0(ratings) -> None:
    batch = next(iter(pairs(ratings, 200, missing="zero")))
    assert batch.mask.all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"batch_size": 0}, "batch_size=0"),
        ({"batch_size": 2.5}, "batch_size=2.5"),
        ({"hard_negatives": 0}, "hard_negatives=0"),
        ({"batches": -1}, "batches=-1"),
        ({"rated_share": 1.5}, "rated_share=1.5"),
        ({"negatives": "hard"}, "negatives='hard': give 'all' or 'batch'"),
        ({"missing": "drop"}, "missing='drop'"),
        ({"seed": -3}, "seed=-3"),
    ],
)
def test_what_is_out_of_range_is_named(ratings, arguments, said) -> None:
    with pytest.raises(ConfigError, match=said):
        pairs(ratings, **arguments)
    with pytest.raises(ConfigError, match="epoch=-1"):
        pairs(ratings).set_epoch(-1)
