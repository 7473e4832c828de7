"""Figure 4: is a confident prediction a right one? (paper 4.3)."""

from __future__ import annotations

import numpy as np
import polars as pl

from dmrank.evaluation import (
    OrderPairs,
    calibration_curve,
    confidence_levels,
    order_probability,
    pair_confidence,
)
from dmrank.experiments.drawings import draw_calibration, draw_confidence
from dmrank.experiments.exhibit import Exhibit, as_text
from dmrank.experiments.study import Study
from dmrank.experiments.table_3 import drawn_pairs
from dmrank.models import DMR

#: DMR with each kind of covariance.
VARIANTS = {
    "DMR": "personalized Σ",
    "DMR-S": "shared Σ",
    "DMR-I": "identity Σ",
    "DMR-paper": "the paper's setting",
}


def confidence(study: Study) -> list[Exhibit]:
    """Return accuracy by level of confidence, and how calibrated probabilities are."""
    variants = {name: kind for name, kind in VARIANTS.items() if study.has(name)}
    if not variants:
        return []
    pairs = drawn_pairs(study)
    each = {name: _of_model(study, name, pairs) for name in variants}
    levels = pl.concat([table for table, _ in each.values()])
    curves = pl.concat([table for _, table in each.values()])
    correlations = levels.group_by("model", "pairs", maintain_order=True).agg(
        pl.col("rank correlation", "pair correlation").first()
    )
    errors = curves.group_by("model", maintain_order=True).agg(pl.col("calibration error").first())
    return [
        Exhibit(
            "figure-4",
            "Figure 4: accuracy of predicted orders by level of confidence",
            "Ten equal groups of pairs by the line integral along the predicted direction, from "
            "low to high. Rank correlation: of level and accuracy; pair correlation: of a pair's "
            "confidence and its share of right orders (Spearman).",
            levels,
            as_text(correlations, digits=3),
            lambda: draw_confidence(levels, variants),
        ),
        Exhibit(
            "figure-4-calibration",
            "Figure 4, continued: calibrated probability that one item beats the other",
            "Pairs of rated items, all aspects with an observed order: the predicted probability "
            "against how often it was so. Calibration error: mean distance from the diagonal, by "
            "the number of orders.",
            curves,
            as_text(errors, digits=3),
            lambda: draw_calibration(curves, variants),
        ),
    ]


def _of_model(
    study: Study, name: str, pairs: dict[str, OrderPairs]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    def levels() -> pl.DataFrame:
        model = _dmr(study, name)
        return pl.concat([_levels(name, kind, model, asked) for kind, asked in pairs.items()])

    def curves() -> pl.DataFrame:
        model = _dmr(study, name)
        return _curve(name, model, pairs["rated"])

    keep = study.folder.keep_table
    return keep(f"confidence/{name}", levels), keep(f"calibration/{name}", curves)


def _dmr(study: Study, name: str) -> DMR:
    model = study.model(name)
    assert isinstance(model, DMR)
    return model


def _levels(name: str, kind: str, model: DMR, pairs: OrderPairs) -> pl.DataFrame:
    found = confidence_levels(pair_confidence(model, pairs), pairs, pairs.predicted(model))
    return pl.DataFrame(
        {
            "model": name,
            "pairs": kind,
            "level": np.arange(1, len(found.accuracy) + 1),
            "accuracy": found.accuracy,
            "confidence": found.confidence,
            "count": found.pairs,
            "rank correlation": found.rank_correlation,
            "pair correlation": found.pair_correlation,
        }
    )


def _curve(name: str, model: DMR, pairs: OrderPairs) -> pl.DataFrame:
    found = calibration_curve(order_probability(model, pairs), pairs.observed)
    return pl.DataFrame(
        {
            "model": name,
            "predicted": found.predicted,
            "observed": found.observed,
            "count": found.counts,
            "calibration error": found.error,
        }
    )
