"""A two-tower network of one's own, trained with BPR and with the directional loss.

    python -m benchmarks.torch_towers [--epochs 40] [--file yahoo-movies] [--record]

The model of docs/torch.md. Both losses see the same pairs of a rated and any other item; BPR ranks
by overall alone, the directional loss (student family, Σ = I) by all aspects. For each, the same
settings are tried (learning rate, weight decay, hardest of so many negatives), the best epoch of
each and the best setting are chosen by NDCG@10 on validation, and test is looked at once.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import rated_pairs
from dmrank.torch import DirectionalLoss, PairBatch, pairs

DATA = Path(__file__).parents[2] / "shared" / "data"
WIDTH = 32
SETTINGS = list(itertools.product((0.002, 0.006), (0.1, 1.0), (4, 12)))
LOOK_EVERY = 5
Scores = NDArray[np.float32]
Criterion = Callable[[Tensor, PairBatch], Tensor]


class Towers(nn.Module):
    """One tower for users, one for items; where they meet, a rating on each aspect."""

    def __init__(self, users: int, items: int, aspects: int, width: int = WIDTH) -> None:
        super().__init__()
        self.users = nn.Sequential(nn.Embedding(users, width), nn.Tanh(), nn.Linear(width, width))
        self.items = nn.Sequential(nn.Embedding(items, width), nn.Tanh(), nn.Linear(width, width))
        self.aspects = nn.Linear(width, aspects)
        for tower in (self.users, self.items):
            nn.init.normal_(tower[0].weight, std=0.1)

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        return self.aspects(self.users(users) * self.items(items))


def bpr(mean: Tensor, batch: PairBatch) -> Tensor:
    del batch  # the first item is rated, and the second is not, or seldom
    return nn.functional.softplus(-mean[:, 0]).mean()


DIRECTIONAL = DirectionalLoss(margin=0.2, family="student")


def directional(mean: Tensor, batch: PairBatch) -> Tensor:
    return DIRECTIONAL(mean, batch.difference, batch.mask)


LOSSES: dict[str, Criterion] = {
    "two towers, BPR": bpr,
    "two towers, directional": directional,
}


def all_scores(model: Towers, ratings: dmrank.Ratings) -> Scores:
    """Return the score of each user and item by overall."""
    with torch.inference_mode():
        users = model.users(torch.arange(len(ratings.users)))
        items = model.items(torch.arange(len(ratings.items)))
        return ((users * model.aspects.weight[0]) @ items.T).numpy()


def ndcg(scores: Scores, split: dmrank.Split) -> float:
    model = dmrank.adapt(scores, users=split.train.users, items=split.train.items)
    report = dmrank.evaluate({"towers": model}, split, metrics=["ndcg@10"])
    return float(report.table()["ndcg@10"][0])


def train(
    split: dmrank.Split, criterion: Criterion, setting: tuple[float, float, int], epochs: int
) -> tuple[float, int, Scores]:
    """Return the best NDCG@10 on validation, its epoch, and the scores then."""
    learning_rate, decay, hard_negatives = setting
    torch.manual_seed(0)
    ratings = split.train
    model = Towers(len(ratings.users), len(ratings.items), len(ratings.aspects))
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=decay)
    dataset = pairs(ratings, batch_size=1000, hard_negatives=hard_negatives, seed=0)
    # Candidates are what a user has not rated in training.
    on_validation = dmrank.Split(ratings, ratings, split.validation)
    best = (-1.0, 0, all_scores(model, ratings))
    for epoch in range(1, epochs + 1):
        dataset.set_epoch(epoch)
        for drawn in dataset:
            batch = drawn
            if hard_negatives > 1:
                with torch.no_grad():
                    batch = drawn.hardest(model(drawn.users[:, None], drawn.candidates)[..., 0])
            mean = model(batch.users, batch.first) - model(batch.users, batch.second)
            loss = criterion(mean, batch)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        if epoch % LOOK_EVERY == 0:
            scores = all_scores(model, ratings)
            best = max(best, (ndcg(scores, on_validation), epoch, scores), key=lambda b: b[0])
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--file", default="yahoo-movies")
    add_record_option(parser)
    options = parser.parse_args()
    split = dmrank.read_ratings(DATA / f"{options.file}.parquet").split(seed=0)
    order = rated_pairs(split)
    models: dict[str, object] = {"Popularity": dmrank.Popularity().fit(split.train)}
    for name, criterion in LOSSES.items():
        start = time.perf_counter()
        found = [
            (train(split, criterion, setting, options.epochs), setting) for setting in SETTINGS
        ]
        (value, epoch, scores), setting = max(found, key=lambda one: one[0][0])
        users, items = split.train.users, split.train.items
        models[name] = dmrank.adapt(scores, users=users, items=items)
        print(
            f"{name}: learning rate, decay, negatives {setting}, epoch {epoch}, "
            f"validation NDCG@10 {value:.4f}; {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        print("  of all settings:", [round(one[0][0], 4) for one in found], flush=True)
    report = dmrank.evaluate(models, split, metrics=["ndcg@10", "ndcg@50"])
    print(report.table())
    print(report.significance())
    rows = []
    for name, model in models.items():
        lists = {title: report.mean(name, title.lower()) for title in ("NDCG@10", "NDCG@50")}
        rows.append({"model": name, **lists, "rated pairs": order.accuracy(model).pooled})
        print(rows[-1])
    if options.record:
        write_record(f"torch-towers-{options.file}", as_called("torch_towers"), rows, ("torch",))


if __name__ == "__main__":
    main()
