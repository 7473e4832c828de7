"""Table 2: multi-aspect ranking with MAP and NDCG@k."""

from __future__ import annotations

import polars as pl

from dmrank.evaluation import PairedTest, Report, compare_with_best
from dmrank.evaluation.report import AVERAGE
from dmrank.experiments.contenders import CONTENDERS
from dmrank.experiments.exhibit import Exhibit, as_text, with_best_bold
from dmrank.experiments.rankings import (
    COVERAGE,
    METRICS,
    PAPER_METRICS,
    TITLES,
    coverage,
    rankings,
)
from dmrank.experiments.study import Study

#: The claim, and what is close to the magnitudes of the paper.
PROTOCOLS = ("full", "sampled(100)")


def ranking(study: Study) -> list[Exhibit]:
    """Return the paper's table under both protocols, and what is behind it."""
    reports = {protocol: rankings(study, protocol) for protocol in PROTOCOLS}
    full = reports["full"]
    return [
        _paper_table("table-2", full, "all items with a training row that the user has not rated"),
        _paper_table(
            "table-2-sampled",
            reports["sampled(100)"],
            "the test items and 100 random items that the user never rated, which is closer to the "
            "magnitudes of the paper and not a basis for claims",
        ),
        _more_metrics(study, full),
        _per_aspect(full),
        _comparisons(full),
    ]


def _paper_table(name: str, report: Report, candidates: str) -> Exhibit:
    columns = [(by, metric) for by in (report.primary_aspect, AVERAGE) for metric in PAPER_METRICS]
    data = pl.DataFrame(
        {
            "model": list(report.models),
            **{
                _title(report, by, metric): [
                    report.mean(model, metric, by) for model in report.models
                ]
                for by, metric in columns
            },
        }
    )
    shown = data.with_columns(with_best_bold(data, column) for column in data.columns[1:])
    for title, models in _fields_of(report):
        changes = [_improvement(report, models, metric, by) for by, metric in columns]
        row = dict(zip(data.columns, [title, *changes], strict=True))
        shown = pl.concat([shown, pl.DataFrame([row])])
    return Exhibit(
        name,
        f"Table 2: ranking of {len(report.users):,} users, {report.protocol}",
        f"By {report.primary_aspect}, and averaged over all {len(report.aspects)} aspects. "
        f"Candidates are {candidates}. Improvement is that of the best over the second best model; "
        "a star says p < 0.05 under a paired t-test over users with Holm's correction. "
        f"{report.left_out:,} test rows of cold users or items are left out.",
        data,
        shown,
    )


def _title(report: Report, by: str, metric: str) -> str:
    return f"{TITLES[metric]} {'average' if by == AVERAGE else report.primary_aspect}"


def _fields_of(report: Report) -> list[tuple[str, list[str]]]:
    """Return among which models the best is compared with the second best."""
    of_paper = [
        model
        for model, contender in CONTENDERS.items()
        if contender.role == "paper" and model in report.models
    ]
    fields = [
        ("improvement, models of the paper", of_paper),
        ("improvement, all models", list(report.models)),
    ]
    return [(title, models) for title, models in fields if len(models) > 1]


def _improvement(report: Report, models: list[str], metric: str, by: str) -> str:
    second = _against_best(report, models, metric, by)[0]
    star = "*" if second.is_significant else ""
    return f"{second.best} {second.improvement:+.2%}{star}"


def _against_best(report: Report, models: list[str], metric: str, by: str) -> list[PairedTest]:
    return compare_with_best({model: report.per_user(model, metric, by) for model in models})


def _more_metrics(study: Study, report: Report) -> Exhibit:
    data = pl.DataFrame(
        {
            "model": list(report.models),
            **{
                metric: [report.mean(model, metric) for model in report.models]
                for metric in METRICS
            },
        }
    )
    of_models = [coverage(study, contender) for contender in study.settings.contenders]
    data = data.with_columns(pl.Series(COVERAGE, of_models))
    shown = data.with_columns(with_best_bold(data, metric) for metric in (*METRICS, COVERAGE))
    return Exhibit(
        "table-2-metrics",
        f"Table 2, continued: more metrics by {report.primary_aspect}, full ranking",
        "Precision, recall, hit rate and reciprocal rank take every test item as equally relevant. "
        "Coverage: the share of items that are among the first ten of any test user.",
        data,
        shown,
    )


def _per_aspect(report: Report) -> Exhibit:
    rows = report.by_aspect().filter(pl.col("metric") == "ndcg@10")
    wide = rows.pivot("aspect", index="model", values="mean")
    shown = wide.with_columns(with_best_bold(wide, aspect) for aspect in report.aspects)
    return Exhibit(
        "table-2-aspects",
        "Table 2, continued: NDCG@10 by each aspect, full ranking",
        "Ranked by the score of the aspect; the gain of a test item is its rating on it.",
        report.by_aspect(),
        shown,
    )


def _comparisons(report: Report) -> Exhibit:
    rows = [
        {"by": by, "metric": metric, **vars(comparison)}
        for by in (report.primary_aspect, AVERAGE)
        for metric in PAPER_METRICS
        if len(report.models) > 1
        for comparison in _against_best(report, list(report.models), metric, by)
    ]
    data = pl.DataFrame(
        rows,
        schema=None
        if rows
        else ["by", "metric", "best", "other", "difference", "improvement", "p"],
    )
    return Exhibit(
        "table-2-significance",
        "Table 2, continued: the best model against each other one",
        "Difference of means over users, relative improvement, and p after Holm's correction.",
        data,
        as_text(data),
    )
