"""Table 4: how near the aspect that explains a rating is to the overall rating (paper 4.5)."""

from __future__ import annotations

import polars as pl

from dmrank.evaluation import ExplanationError, explanation_error
from dmrank.experiments.exhibit import Exhibit, as_text, with_best_bold
from dmrank.experiments.study import Study

#: Models that can say which aspect matters, as in the paper and our variants of DMR.
EXPLAINING = ("MTER", "EFM", "DMR-S", "DMR-paper", "DMR-R", "DMR")
#: What an aspect that is drawn at random gets.
RANDOM = "Random"


def explanations(study: Study) -> list[Exhibit]:
    """Return the mean difference between the overall rating and that of the selected aspect."""
    if len(study.ratings.aspects) < 2:
        return []
    models = [name for name in EXPLAINING if study.has(name)]
    data = pl.concat([_measured(study, name) for name in (RANDOM, *models)])
    best = [
        with_best_bold(data, "missing skipped", low=True),
        with_best_bold(data, "missing as 0", low=True),
    ]
    return [
        Exhibit(
            "table-4",
            f"Table 4: difference between {study.ratings.primary_aspect} and the selected aspect",
            "Mean absolute difference between the true overall rating and the true rating of the "
            "aspect that the model selects as explanation, over test ratings; smaller is better. "
            "MTER selects the aspect with the highest predicted rating, EFM by attention and "
            "quality, DMR the one most correlated with overall. An unrated aspect is skipped, or "
            "counts as rated 0 as in the paper.",
            data,
            as_text(data).with_columns(best),
        )
    ]


def _measured(study: Study, name: str) -> pl.DataFrame:
    def make() -> pl.DataFrame:
        model = None if name == RANDOM else study.model(name)
        return pl.DataFrame([_row(name, explanation_error(model, study.split))])

    return study.folder.keep_table(f"explanations/{name}", make)


def _row(name: str, error: ExplanationError) -> dict[str, object]:
    return {
        "selected by": name,
        "missing skipped": error.skipped,
        "missing as 0": error.as_zero,
        "ratings": error.rows,
        "with the selected aspect": error.rated,
    }
