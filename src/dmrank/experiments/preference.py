"""Beyond the paper: what lists of a Hurdle gain and lose by the share of preference in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from dmrank.evaluation import bootstrap_interval, evaluate, lift
from dmrank.evaluation.report import AVERAGE
from dmrank.experiments.exhibit import Exhibit, number, with_best_bold
from dmrank.experiments.study import SEED, Study
from dmrank.models import Hurdle
from dmrank.support.plots import COLOURS, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MODEL, _METRIC = "Hurdle", "ndcg@10"
#: From lists by exposure alone to lists by preference alone.
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


def shares(study: Study) -> tuple[float, ...]:
    """Return the shares of preference that lists are judged with; none without a Hurdle."""
    return _SHARES if study.has(_MODEL) and len(study.ratings.aspects) > 1 else ()


def lists_with(study: Study, share: float) -> pl.DataFrame:
    """Return NDCG and specific lift of lists with a share of preference."""

    def make() -> pl.DataFrame:
        model, threads = _hurdle(study).with_preference(share), study.settings.threads
        report = evaluate({_MODEL: model}, study.split, metrics=[_METRIC], threads=threads)
        per_user = lift(model, study.split, threads=threads).mean_per_user(specific=True)
        low, high = bootstrap_interval(per_user, seed=SEED)
        return pl.DataFrame(
            {
                "preference": [share],
                _METRIC: [report.mean(_MODEL, _METRIC, AVERAGE)],
                "specific lift": [float(np.nanmean(per_user)) if len(per_user) else float("nan")],
                "specific lift, low": [low],
                "specific lift, high": [high],
            }
        )

    return study.folder.keep_table(f"preference/{_MODEL}-{share:g}", make)


def preference(study: Study) -> list[Exhibit]:
    """Return the way of lists from exposure to preference, and the share that was chosen."""
    if not shares(study):
        return []
    default = round(_hurdle(study).preference, 6)
    looked_at = sorted({*shares(study), default})
    data = pl.concat([lists_with(study, share) for share in looked_at])
    data = data.with_columns(default=pl.col("preference") == default)
    return [
        Exhibit(
            "preference",
            "Lists of Hurdle: from who comes to how it is liked",
            f"preference: the share of preference in the list score, from exposure alone (0) to "
            f"preference alone (1). {_METRIC}: mean over aspects, full ranking of test items. "
            "specific lift: what lists by an aspect gain on it, less what they gain on the others, "
            "in stars; means over aspects and users with 95 % bootstrap intervals over users. The "
            "marked share is what a fit takes by itself: the largest that keeps 99 % of the best "
            f"{_METRIC} on validation ratings.",
            data,
            _shown(data),
            None if data["specific lift"].is_nan().all() else lambda: _draw(data),
        )
    ]


def _hurdle(study: Study) -> Hurdle:
    return cast("Hurdle", study.model(_MODEL, SEED))


def _shown(data: pl.DataFrame) -> pl.DataFrame:
    rows = data.iter_rows(named=True)
    lifts = [
        f"{number(row['specific lift'], 3)} [{number(row['specific lift, low'], 3)}, "
        f"{number(row['specific lift, high'], 3)}]"
        for row in data.iter_rows(named=True)
    ]
    return pl.DataFrame(
        {
            "preference": [
                f"{row['preference']:g}{' (default)' if row['default'] else ''}" for row in rows
            ],
            _METRIC: with_best_bold(data, _METRIC),
            "specific lift": lifts,
        }
    )


def _draw(data: pl.DataFrame) -> Figure:
    x, y = data[_METRIC].to_numpy(), data["specific lift"].to_numpy()
    ends = data.select("specific lift, low", "specific lift, high").to_numpy().T
    with figure(7.2, 4.6) as drawn:
        axes = drawn.subplots()
        axes.axhline(0, color="0.7", linewidth=1, zorder=0)
        axes.vlines(x, *ends, color=COLOURS[0], alpha=0.35, linewidth=3, zorder=1)
        axes.plot(x, y, color=COLOURS[0], marker="o", markersize=5, zorder=2)
        for share, place, default in zip(
            data["preference"], zip(x, y, strict=True), data["default"], strict=True
        ):
            if default:
                label = f"default: {share:g}"
                axes.scatter(*place, s=90, color=COLOURS[1], label=label, zorder=3)
            else:
                axes.annotate(f"{share:g}", place, (7, 4), textcoords="offset points", fontsize=9)
        axes.set(xlabel=f"{_METRIC}, mean over aspects", ylabel="specific lift, stars")
        axes.set_title("Lists of Hurdle by their share of preference")
        axes.grid(alpha=0.25)
        axes.margins(x=0.12, y=0.15)
        axes.legend(frameon=False, loc="upper right")
    return drawn
