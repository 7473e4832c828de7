"""The figures of the paper, drawn from the tables of the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dmrank.support.plots import COLOURS, figure, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"
#: A probability that was said more seldom is not drawn: chance decides how often it came true.
_FEWEST_ORDERS = 20


def draw_user_groups(sizes: pl.DataFrame, values: pl.DataFrame, metric: str) -> Figure:
    """Draw how many users are in each group, and the quality of each model there."""
    with figure(11, 4.2) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=[1, 1.7])
        sizes = sizes.filter(pl.col("users") > 0)
        bars = left.bar(sizes["group"].to_list(), sizes["users"].to_numpy(), color=COLOURS[0])
        left.bar_label(bars, [f"{share:.0%}" for share in sizes["share"]], fontsize=9)
        left.set(title="Users", xlabel="training ratings of the user", ylabel="users")
        draw_lines(right, values, x="group", y="mean")
        right.set(title=metric, xlabel="training ratings of the user")
    return drawn


def draw_lines(axes: Axes, values: pl.DataFrame, x: str, y: str) -> None:
    """Draw one line per model, the best on average first in the legend."""
    lines = []
    for n, ((model,), rows) in enumerate(values.group_by("model", maintain_order=True)):
        known = rows.drop_nulls(y).filter(pl.col(y).is_not_nan())
        if len(known) == 0:
            continue
        is_dmr = str(model).startswith("DMR")
        (line,) = axes.plot(
            known[x].to_list(),
            known[y].to_numpy(),
            label=str(model),
            color=COLOURS[n % len(COLOURS)],
            linestyle="-" if is_dmr else (0, (4, 2)),
            linewidth=2.2 if is_dmr else 1.3,
            marker=_MARKERS[n % len(_MARKERS)],
            markersize=5,
        )
        if {"low", "high"} <= set(known.columns):
            places = np.arange(len(known))
            axes.fill_between(
                places, known["low"], known["high"], color=line.get_color(), alpha=0.1, linewidth=0
            )
        lines.append((float(known[y].to_numpy().mean()), line))
    axes.grid(axis="y", alpha=0.25)
    ordered = [line for _, line in sorted(lines, key=lambda pair: -pair[0])]
    axes.legend(
        handles=ordered, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.01, 1.02)
    )


def draw_confidence(levels: pl.DataFrame, variants: Mapping[str, str]) -> Figure:
    """Draw accuracy by level of confidence, on rated and on any pairs."""
    titles = {"rated": "Pairs of rated items", "any": "Any pairs"}
    with figure(10.5, 4) as drawn:
        panels = drawn.subplots(1, 2, sharey=True)
        for axes, (kind, title) in zip(panels, titles.items(), strict=True):
            axes.axhline(0.5, color="0.6", linewidth=1, linestyle=":", label="chance")
            for n, (name, label) in enumerate(variants.items()):
                rows = levels.filter((pl.col("model") == name) & (pl.col("pairs") == kind))
                correlation = rows["rank correlation"][0]
                level, share = rows["level"].to_numpy(), rows["accuracy"].to_numpy()
                # Orders of one pair depend on each other: a pair counts once.
                half = 1.96 * np.sqrt(share * (1 - share) / rows["count"].to_numpy())
                axes.fill_between(
                    level, share - half, share + half, color=COLOURS[n], alpha=0.15, linewidth=0
                )
                axes.plot(
                    level,
                    share,
                    marker=_MARKERS[n],
                    markersize=5,
                    color=COLOURS[n],
                    label=f"{label} (ρ = {correlation:+.2f})",
                )
            axes.set(title=title, xlabel="level of confidence", xticks=range(1, 11))
            axes.grid(axis="y", alpha=0.25)
            axes.legend(frameon=False, fontsize=9)
        panels[0].set_ylabel("share of right orders")
    return drawn


def draw_calibration(curves: pl.DataFrame, variants: Mapping[str, str]) -> Figure:
    """Draw predicted probabilities against what happened."""
    with figure(5.4, 5.2) as drawn:
        axes = drawn.subplots()
        axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        most = max(int(curves["count"].max()), 1)  # type: ignore[arg-type]
        for n, (name, label) in enumerate(variants.items()):
            rows = curves.filter(pl.col("model") == name)
            error = rows["calibration error"][0]
            rows = rows.filter(pl.col("count") >= _FEWEST_ORDERS)
            said, happened = rows["predicted"].to_numpy(), rows["observed"].to_numpy()
            axes.plot(
                said, happened, color=COLOURS[n], linewidth=1, label=f"{label} (error {error:.3f})"
            )
            # The area of a dot is its number of orders.
            sizes = 120 * rows["count"].to_numpy() / most
            axes.scatter(said, happened, s=sizes, color=COLOURS[n], alpha=0.6, linewidth=0)
        axes.set(title="Pairs of rated items", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.set_xlabel(
            "predicted probability that the first item wins (dots: by number of orders)"
        )
        axes.set_ylabel("share of orders that it won")
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    return drawn


def draw_margin(values: pl.DataFrame, metric: str) -> Figure:
    """Draw the quality of rankings over the margin."""
    with figure(6, 3.8) as drawn:
        axes = drawn.subplots()
        for n, column in enumerate(values.columns[1:]):
            axes.plot(
                values["margin"].to_numpy(),
                values[column].to_numpy(),
                marker=_MARKERS[n],
                # The second line is seen through, and round, the first: they may be the same.
                markersize=5 if n else 9,
                markerfacecolor=COLOURS[n] if n else "white",
                linestyle=(0, (4, 2)) if n else "-",
                linewidth=1.3 if n else 2.6,
                alpha=1 if n else 0.8,
                color=COLOURS[n],
                label=column if n else f"by {column}",
            )
        axes.set(title=f"{metric} against the margin", xlabel="margin ξ", ylabel=metric)
        axes.set_ylim(0, 1.1 * float(values.drop("margin").to_numpy().max()))
        axes.grid(axis="y", alpha=0.25)
        axes.legend(frameon=False, loc="lower left")
    return drawn


def draw_gradient_term(values: pl.DataFrame) -> Figure:
    """Draw the gradient's term over the margin, as it is printed and as it is computed."""
    finite = values.filter(pl.col("naive").is_finite())
    last = float(finite["margin"][-1])
    with figure(6, 3.8) as drawn:
        axes = drawn.subplots()
        axes.plot(
            values["margin"].to_numpy(), values["stable"].to_numpy(), color=COLOURS[0],
            label="1 / erfcx(x)",
        )  # fmt: skip
        axes.plot(
            finite["margin"].to_numpy(), finite["naive"].to_numpy(), color=COLOURS[1],
            linestyle=(0, (4, 2)), label="exp(−x²) / (1 − erf x)",
        )  # fmt: skip
        axes.axvline(last, color="0.6", linewidth=1, linestyle=":")
        axes.annotate(
            "from here on\ninfinite",
            (last, 3),
            xytext=(6, 0),
            textcoords="offset points",
            fontsize=9,
        )
        highest = float(np.max(values["stable"].to_numpy()))
        axes.set(title="The gradient's term, x = 3 ξ", xlabel="margin ξ", ylabel="g(x)")
        axes.set_ylim(0, 1.2 * highest)
        axes.grid(axis="y", alpha=0.25)
        axes.legend(frameon=False, loc="upper left")
    return drawn


def draw_two_ratings(
    ratings: pl.DataFrame, names: Sequence[str], scale: tuple[float, float]
) -> Figure:
    """Draw two rating vectors, aspect by aspect, on the whole of their scale."""
    aspects = ratings["aspect"].to_list()
    places = np.arange(len(aspects))
    first, second = (ratings[name].to_numpy() for name in names)
    with figure(8, 1.6 + 0.4 * len(aspects)) as drawn:
        axes = drawn.subplots()
        axes.hlines(places, first, second, color="0.85", linewidth=4, zorder=1)
        for n, (values, name) in enumerate(zip((first, second), names, strict=True)):
            # Apart, so that equal ratings stay visible.
            apart = places + (n - 0.5) * 0.16
            axes.scatter(values, apart, s=80, color=COLOURS[n], label=name, zorder=2)
        axes.set_yticks(places, written(aspects))
        axes.invert_yaxis()
        low, high = scale
        axes.set(xlabel="rating", xlim=(low - 0.04 * (high - low), high + 0.04 * (high - low)))
        axes.locator_params(axis="x", integer=True)
        axes.set_title("Two ratings by the same user", pad=24)
        axes.grid(axis="x", alpha=0.25)
        axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2)
    return drawn
