"""Table 3: accuracy of the predicted order of two items (paper 4.3)."""

from __future__ import annotations

import numpy as np
import polars as pl

from dmrank.evaluation import OrderPairs, any_pairs, bootstrap_interval, rated_pairs
from dmrank.experiments.contenders import Contender
from dmrank.experiments.exhibit import Exhibit, number, with_best_bold
from dmrank.experiments.study import SEED, Study

#: As many as in the paper.
ANY_PAIRS = 150_000


def drawn_pairs(study: Study) -> dict[str, OrderPairs]:
    """Return the pairs that all models are asked about."""
    return {
        "rated": rated_pairs(study.split, seed=SEED),
        "any": any_pairs(study.split, pairs=ANY_PAIRS, seed=SEED),
    }


def order_accuracy(
    study: Study, contender: Contender, seed: int, pairs: dict[str, OrderPairs]
) -> pl.DataFrame:
    """Return the accuracy of one model, one row per kind of pairs."""

    def make() -> pl.DataFrame:
        model = study.model(contender.name, seed)
        rows = []
        for kind, asked in pairs.items():
            accuracy = asked.accuracy(model)
            low, high = bootstrap_interval(accuracy.per_user, seed=SEED)
            rows.append(
                {
                    "pairs": kind,
                    "count": len(asked.first),
                    "pooled": accuracy.pooled,
                    "per user": accuracy.mean,
                    "low": low,
                    "high": high,
                }
            )
        return pl.DataFrame(rows)

    return study.folder.keep_table(f"orders/{contender.name}-{seed}", make)


def _contrasts(study: Study, contender: Contender) -> pl.DataFrame:
    """Return the contrast accuracy of one model, of raw scores and of calibrated ratings."""

    def make() -> pl.DataFrame:
        pairs, rows = rated_pairs(study.split, seed=SEED), []
        model = study.model(contender.name, SEED)
        for kind, calibrated in (("contrast", False), ("contrast, calibrated", True)):
            accuracy = pairs.contrast(model, calibrated=calibrated)
            low, high = bootstrap_interval(accuracy.per_user, seed=SEED)
            rows.append(
                {
                    "model": contender.name,
                    "pairs": kind,
                    "count": float(len(pairs)),
                    "pooled": accuracy.pooled,
                    "per user": accuracy.mean,
                    "low": low,
                    "high": high,
                }
            )
        return pl.DataFrame(rows)

    return study.folder.keep_table(f"contrast/{contender.name}", make)


def _shown_contrasts(contrasts: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(
        {
            kind: with_best_bold(contrasts.filter(pl.col("pairs") == kind), "pooled")
            for kind in ("contrast", "contrast, calibrated")
        }
    )


def pair_orders(study: Study) -> list[Exhibit]:
    """Return the share of right orders, on pairs of rated items and on any pairs."""
    pairs = drawn_pairs(study)
    tables = []
    for contender in study.settings.contenders:
        each_seed = [
            order_accuracy(study, contender, seed, pairs) for seed in study.seeds_of(contender)
        ]
        mean = (
            pl.concat(each_seed)
            .group_by("pairs", maintain_order=True)
            .agg(pl.exclude("pairs").mean())
        )
        tables.append(mean.select(pl.lit(contender.name).alias("model"), pl.all()))
    data = pl.concat(tables)
    shown = _shown(data)
    if len(study.ratings.aspects) > 1:
        contrasts = pl.concat([_contrasts(study, each) for each in study.settings.contenders])
        data = pl.concat([data, contrasts])
        shown = shown.hstack(_shown_contrasts(contrasts))
    return [
        Exhibit(
            "table-3",
            "Table 3: accuracy of predicted orders across all aspects",
            "rated: two items that the user rated in test, all pairs up to 50 per user "
            f"({len(pairs['rated'].first):,} pairs), which tells preference from mere exposure; "
            "shrunk item means are the bar. any: a test item against one that the user has not "
            "rated in training or validation, unrated counting as 0 "
            f"({len(pairs['any'].first):,} pairs), as in the paper. Predicted ties are wrong. "
            "Pooled over all orders as in the paper; per user with a 95 % bootstrap interval. "
            "contrast: of two rated items, on which of two aspects do they differ more? By raw "
            "scores, where one score for all aspects gets 0 and noise one half, and by calibrated "
            "ratings, where one score times a slope per aspect (EASE) is the control to beat.",
            data,
            shown,
        )
    ]


def _shown(data: pl.DataFrame) -> pl.DataFrame:
    columns = {"model": data["model"].unique(maintain_order=True)}
    for kind in ("rated", "any"):
        rows = data.filter(pl.col("pairs") == kind)
        intervals = [
            f" [{number(low)}, {number(high)}]"
            for low, high in rows.select("low", "high").iter_rows()
        ]
        columns[f"{kind}, pooled"] = with_best_bold(rows, "pooled")
        per_user = with_best_bold(rows, "per user").to_list()
        columns[f"{kind}, per user"] = pl.Series(np.char.add(per_user, intervals))
    return pl.DataFrame(columns)
