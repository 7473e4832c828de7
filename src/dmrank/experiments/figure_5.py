"""Figure 5: what the margin does to rankings, and to the gradient (paper 4.4)."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import erf, erfcx

from dmrank.evaluation import evaluate
from dmrank.evaluation.report import AVERAGE
from dmrank.experiments.contenders import CONTENDERS
from dmrank.experiments.drawings import draw_gradient_term, draw_margin
from dmrank.experiments.exhibit import Exhibit, as_text
from dmrank.experiments.study import Study
from dmrank.models import DMR

_METRIC = "ndcg@50"
#: c_uij of paper 4.4: the argument of the gradient's term is c ξ.
_SLOPE = 3.0


def ranking_by_margin(study: Study, margin: float) -> pl.DataFrame:
    """Return the quality of DMR with its tuned parameters and another margin, gaussian family."""

    def make() -> pl.DataFrame:
        parameters = study.parameters(CONTENDERS["DMR"])
        changes = {"margin": margin, "family": "gaussian", "hard_negatives": 1}
        split = study.tuning_split
        model = study.fitted(f"margin-{margin:g}", DMR(**{**parameters, **changes}), on=split)
        report = evaluate({"DMR": model}, split, metrics=[_METRIC])
        return pl.DataFrame(
            {
                "margin": [margin],
                report.primary_aspect: [report.mean("DMR", _METRIC)],
                "average over aspects": [report.mean("DMR", _METRIC, AVERAGE)],
            }
        )

    return study.folder.keep_table(f"margin/{margin:g}", make)


def margin(study: Study) -> list[Exhibit]:
    """Return NDCG@50 over the margin."""
    if not study.has("DMR"):
        return []
    data = pl.concat([ranking_by_margin(study, xi) for xi in study.settings.budget.margins])
    return [
        Exhibit(
            "figure-5a",
            "Figure 5a: NDCG@50 against the margin ξ",
            "DMR with its tuned parameters but the gaussian family and plain negatives of the "
            "paper, trained and judged on the users that models were tuned on "
            f"({len(study.tuning_split.train):,} training ratings); full ranking.",
            data,
            as_text(data),
            lambda: draw_margin(data, "NDCG@50"),
        )
    ]


def gradient_term() -> list[Exhibit]:
    """Return the term g(x) = e^(−x²)/(1 − erf x) of the gradient, naive and stable, x = 3 ξ."""
    margins = np.linspace(0, 4, 201)
    x = _SLOPE * margins
    with np.errstate(divide="ignore"):
        naive = np.exp(-np.square(x)) / (1 - erf(x))
    data = pl.DataFrame({"margin": margins, "naive": naive, "stable": 1 / erfcx(x)})
    return [
        Exhibit(
            "figure-5b",
            "Figure 5b: the gradient's term against the margin ξ (c = 3)",
            "g(x) = exp(−x²)/(1 − erf x), x = c ξ. Written as it stands it is infinite as soon as "
            "1 − erf x cancels to 0 in double precision (x ≈ 5.9, ξ ≈ 2); written as 1/erfcx(x) it "
            "grows linearly: what the paper calls explosion is cancellation.",
            data,
            None,
            lambda: draw_gradient_term(data),
        )
    ]
