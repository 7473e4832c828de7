"""Beyond the paper: whether lists by an aspect are better on it, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dmrank.evaluation import bootstrap_interval, evaluate, lift
from dmrank.experiments.contenders import Contender
from dmrank.experiments.exhibit import Exhibit, number, with_best_bold
from dmrank.experiments.study import SEED, Study
from dmrank.support.plots import COLOURS, figure, label_points

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METRIC = "ndcg@10"


def lists_by_aspect(study: Study) -> list[Exhibit]:
    """Return lift and specific lift of every model beside its NDCG."""
    if len(study.ratings.aspects) < 2:
        return []
    data = pl.concat([_measured(study, each) for each in study.settings.contenders])
    if data["specific lift"].is_nan().all():
        return []
    skipped = sorted({name for names in data["skipped"] for name in names.split(", ") if name})
    left_out = f" Skipped, with too few items to judge: {', '.join(skipped)}." if skipped else ""
    return [
        Exhibit(
            "lists-by-aspect",
            "Lists by aspect: what they gain on it, and how good they are",
            "lift: mean test rating, on the aspect ranked by, of the ten items listed by it, "
            f"less that of the ten listed by {study.ratings.primary_aspect}, in stars; specific "
            "lift: less what the same lists gain on the other aspects, for lifting everything is "
            "easy. Means over aspects and users with 95 % bootstrap intervals over users. overlap: "
            f"share of items that both lists have. {_METRIC}: of the ranking by "
            f"{study.ratings.primary_aspect}; lost: what the rankings by the other aspects lose of "
            "it. A model with one score for all aspects, or one that learned no difference, lifts "
            f"nothing.{left_out}",
            data,
            _shown(data),
            lambda: _draw(data),
        )
    ]


def _measured(study: Study, contender: Contender) -> pl.DataFrame:
    def make() -> pl.DataFrame:
        model = study.model(contender.name, SEED)
        measured = lift(model, study.split, threads=study.settings.threads)
        report = evaluate(
            model,
            study.split,
            metrics=[_METRIC],
            aspects=[study.ratings.primary_aspect],
            threads=study.settings.threads,
        )
        row: dict[str, object] = {"model": contender.name}
        for name, specific in (("lift", False), ("specific lift", True)):
            per_user = measured.mean_per_user(specific=specific)
            row[name] = float(np.nanmean(per_user)) if len(per_user) else float("nan")
            row[f"{name}, low"], row[f"{name}, high"] = bootstrap_interval(per_user, seed=SEED)
        known = not measured.table.is_empty()
        for name, column in (("overlap", "overlap"), ("lost", "ndcg_loss")):
            values = measured.table[column].to_numpy() if known else np.full(1, np.nan)
            row[name] = float(values.mean())
        row[_METRIC] = report.mean(report.models[0], _METRIC)
        row["skipped"] = ", ".join(measured.skipped)
        return pl.DataFrame([row])

    return study.folder.keep_table(f"lift/{contender.name}", make)


def _shown(data: pl.DataFrame) -> pl.DataFrame:
    columns: dict[str, object] = {"model": data["model"]}
    for name in ("lift", "specific lift"):
        ends = data.select(f"{name}, low", f"{name}, high").iter_rows()
        intervals = [f" [{number(low, 3)}, {number(high, 3)}]" for low, high in ends]
        columns[name] = np.char.add(with_best_bold(data, name, 3).to_list(), intervals)
    columns["overlap"] = [number(value, 3) for value in data["overlap"]]
    columns[_METRIC] = with_best_bold(data, _METRIC)
    columns["lost"] = [number(value) for value in data["lost"]]
    return pl.DataFrame(columns)


def _draw(data: pl.DataFrame) -> Figure:
    known = data.filter(pl.col("specific lift").is_not_nan())
    with figure(7.2, 4.6) as drawn:
        axes = drawn.subplots()
        axes.axhline(0, color="0.7", linewidth=1, zorder=0)
        for n, row in enumerate(known.iter_rows(named=True)):
            place = row[_METRIC], row["specific lift"]
            axes.scatter(*place, s=45, color=COLOURS[n % len(COLOURS)], zorder=2)
        axes.set(xlabel=f"{_METRIC} of the list by overall", ylabel="specific lift, stars")
        axes.set_title("Lists by aspect: better on it, and still good?")
        axes.grid(alpha=0.25)
        axes.margins(x=0.12, y=0.15)
        axes.autoscale_view()
        rows = known.select(_METRIC, "specific lift", "model").iter_rows()
        label_points(axes, [(x, y, name) for x, y, name in rows])
    return drawn
