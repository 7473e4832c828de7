"""Rankings of the test items by every model, averaged over seeds."""

from __future__ import annotations

import numpy as np
import polars as pl

from dmrank.evaluation import Report, evaluate
from dmrank.experiments.contenders import Contender
from dmrank.experiments.study import Study

#: What the paper reports, and what people from other fields ask for.
METRICS = ("ap", "ndcg@10", "ndcg@50", "precision@10", "recall@10", "hit@10", "rr")
PAPER_METRICS = METRICS[:3]
COVERAGE = "coverage@10"
#: "MAP" and the like, as the paper's tables spell them.
TITLES = {"ap": "MAP", "ndcg@10": "NDCG@10", "ndcg@50": "NDCG@50"}


def judge(study: Study, contender: Contender, seed: int, protocol: str) -> pl.DataFrame:
    """Return the value of each test user (rows) by aspect and metric (columns)."""

    def make() -> pl.DataFrame:
        model = study.model(contender.name, seed)
        report = evaluate(
            {contender.name: model},
            study.split,
            protocol=protocol,
            metrics=METRICS,
            threads=study.settings.threads,
        )
        columns = {
            f"{aspect} {metric}": report.values[contender.name, aspect, metric]
            for aspect in report.aspects
            for metric in report.metrics
        }
        return pl.DataFrame({"user": report.users, "left out": report.left_out, **columns})

    return study.folder.keep_table(f"rankings/{contender.name}-{seed}-{protocol}", make)


def coverage(study: Study, contender: Contender) -> float:
    """Return the share of the items that are among the first ten of any test user."""

    def make() -> dict[str, float]:
        report = evaluate(
            {contender.name: study.model(contender.name)},
            study.split,
            metrics=[COVERAGE],
            aspects=[study.ratings.primary_aspect],
            threads=study.settings.threads,
        )
        return {COVERAGE: report.mean(contender.name, COVERAGE)}

    return float(study.folder.keep_values(f"coverage/{contender.name}", make)[COVERAGE])


def rankings(study: Study, protocol: str) -> Report:
    """Return one report on all models; a user's values are means over the seeds."""
    values = {}
    for contender in study.settings.contenders:
        tables = [judge(study, contender, seed, protocol) for seed in study.seeds_of(contender)]
        for aspect in study.ratings.aspects:
            for metric in METRICS:
                each_seed = [table[f"{aspect} {metric}"].to_numpy() for table in tables]
                values[contender.name, aspect, metric] = np.mean(each_seed, axis=0)
    return Report(
        values=values,
        users=tables[0]["user"],
        models=tuple(contender.name for contender in study.settings.contenders),
        aspects=study.ratings.aspects,
        metrics=METRICS,
        primary_aspect=study.ratings.primary_aspect,
        protocol=protocol,
        left_out=int(tables[0]["left out"][0]),
    )
