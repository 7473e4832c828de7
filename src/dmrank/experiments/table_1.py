"""Table 1: statistics of the data."""

from __future__ import annotations

import polars as pl

from dmrank.data.statistics import describe
from dmrank.experiments.exhibit import Exhibit, as_text
from dmrank.experiments.study import Study


def statistics(study: Study) -> list[Exhibit]:
    """Return the sizes of the data, and what each aspect is like."""
    found = describe(study.ratings)
    split = study.split
    sizes = pl.DataFrame(
        {
            "dataset": [study.name],
            "#user": [found.users],
            "#item": [found.items],
            "#aspect": [len(found.aspects)],
            "#ratings": [found.ratings],
            "train": [len(split.train)],
            "validation": [len(split.validation)],
            "test": [len(split.test)],
            "of them cold": [int(split.cold_rows(split.test).sum())],
        }
    )
    aspects = found.per_aspect()
    core = study.settings.k_core
    return [
        Exhibit(
            "table-1",
            "Table 1: statistics of the data",
            f"{core}-core: users and items with at least {core} ratings each. Cold test rows have "
            "a user or an item without a training row; they are left out of every metric.",
            sizes,
            as_text(sizes),
        ),
        Exhibit(
            "table-1-aspects",
            "Table 1, continued: aspects",
            "Share of rating vectors without the aspect, its scale, mean and standard deviation, "
            "and its correlation with each aspect.",
            aspects,
            as_text(aspects, digits=2),
        ),
    ]
