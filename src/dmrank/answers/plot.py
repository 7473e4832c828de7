"""Pictures of what a fitted model says about a user and an item."""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np

from dmrank.answers.correlation import correlations, covariances_of
from dmrank.answers.predict import predicted_ratings, rating_differences, scale_stretch
from dmrank.data.ids import Id
from dmrank.data.training_scale import from_training_scale
from dmrank.fitted.calibrating import degrees_of_freedom
from dmrank.fitted.contract import FittedModel
from dmrank.support.arrays import AnyFloats, Float32s, Floats
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.plots import COLOURS, draw_correlation, draw_direction, panel, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_profile(model: FittedModel, user: Id, item: Id, ax: Axes | None) -> Figure:
    """Draw the predicted ratings of an item; see `Model.plot_profile`."""
    catalogue = model.catalogue
    u, i = catalogue.users.code(user), catalogue.items.code(item)
    predicted = predicted_ratings(model, np.array([u]), np.array([i]))[0]
    average = np.full(len(catalogue.aspects), np.nan)
    if catalogue.evidence is not None:
        average = catalogue.evidence.user_means[u].astype(np.float64)
    return _draw_profile(
        predicted,
        average,
        _relative(catalogue.scale, predicted),
        _relative(catalogue.scale, average),
        catalogue.scale,
        catalogue.aspects,
        f"{catalogue.item_name(i)}, for {user}",
        ax,
    )


def plot_correlation(model: FittedModel, user: Id, item: Id | None, ax: Axes | None) -> Figure:
    """Draw how the aspects of a user's ratings go together; see `Model.plot_correlation`."""
    catalogue = model.catalogue
    code = catalogue.users.code(user)
    if item is None:
        _, items = catalogue.seen_by(np.array([code]))
        title = f"Ratings by {user}"
        if len(items) == 0:
            items = np.flatnonzero(catalogue.rated_items).astype(np.int32)
    else:
        items = np.array([catalogue.items.code(item)], dtype=np.int32)
        title = f"{user} on {catalogue.item_name(int(items[0]))}"
    mean = covariances_of(model, np.full(len(items), code), items).mean(axis=0)
    size = 2.0 + 0.55 * len(catalogue.aspects)
    with panel(size + 0.6, size, ax) as (drawn, axes):
        draw_correlation(axes, correlations(mean[None])[0], written(catalogue.aspects))
        axes.set_title(f"{title}: correlation of aspects")
    return drawn


def plot_comparison(
    model: FittedModel,
    user: Id,
    first: Id,
    second: Id,
    aspects: tuple[str, str] | None,
    ax: Axes | None,
) -> Figure:
    """Draw the predicted difference of two items; see `Model.plot_comparison`."""
    catalogue = model.catalogue
    u = np.array([catalogue.users.code(user)])
    a, b = (np.array([catalogue.items.code(name)]) for name in (first, second))
    covariances_of(model, u, a)  # or refuse a model that knows none
    covariance = model.pair_covariances(u, a, b)
    assert covariance is not None
    mean = rating_differences(model, u, a, b)[0]
    if not mean.any() or first == second:
        raise DataError(f"{first!r} and {second!r} do not differ: there is no direction to draw")
    if aspects is None:
        chosen = np.sort(np.argsort(-np.abs(mean), kind="stable")[:2])
    else:
        chosen = np.array([catalogue.aspect(name) for name in aspects])
    if len(set(chosen.tolist())) != 2:
        raise ConfigError(f"aspects={aspects!r}: name two different aspects to draw")
    # Scores times slope times stretch are ratings.
    stretch = scale_stretch(model)
    sigma = model.calibration.order_factor * covariance[0]
    sigma = (sigma * np.outer(stretch, stretch))[np.ix_(chosen, chosen)]
    names = [f"difference in {name}" for name in written([catalogue.aspects[k] for k in chosen])]
    one, other = (
        shorten(catalogue.item_name(int(code[0])), 36, placeholder=" …") for code in (a, b)
    )
    with panel(5.4, 5.6, ax) as (drawn, axes):
        draw_direction(
            axes,
            mean[chosen],
            sigma,
            mean[chosen],
            names=names,
            degrees_of_freedom=degrees_of_freedom(model.family()),
            title=f"{one}\nminus {other}, for {user}",
        )
        axes.legend(frameon=False, loc="best", fontsize=9)
    return drawn


def _relative(scale: Float32s, values: AnyFloats) -> Floats:
    """Return ratings as shares of their scales: aspects on different scales share one axis."""
    low, high = (from_training_scale(np.full(len(scale), end), scale) for end in (1.0, 5.0))
    return np.asarray((values - low) / (high - low))


def _draw_profile(
    predicted: AnyFloats,
    average: Floats,
    place: Floats,
    average_place: Floats,
    scale: Float32s,
    aspects: tuple[str, ...],
    title: str,
    ax: Axes | None,
) -> Figure:
    with panel(6.5, 1.6 + 0.36 * len(aspects), ax) as (drawn, axes):
        rows = np.arange(len(aspects))
        better = place >= average_place
        for chosen, colour in ((better, COLOURS[2]), (~better, COLOURS[1])):
            axes.hlines(
                rows[chosen], average_place[chosen], place[chosen], color=colour, linewidth=3,
                alpha=0.5, zorder=1,
            )  # fmt: skip
        axes.scatter(
            average_place, rows, marker="|", s=160, linewidths=2, color=COLOURS[-1],
            label="user's average", zorder=2,
        )  # fmt: skip
        axes.scatter(place, rows, color=COLOURS[0], s=45, label="predicted", zorder=3)
        for row, (value, mean) in enumerate(zip(predicted, average, strict=True)):
            away = f"{value - mean:+.1f}".replace("-", "−")
            against = "" if np.isnan(mean) else f"  ({away})"
            axes.text(1.03, row, f"{value:.1f}{against}", va="center", fontsize=9)
        axes.set_yticks(rows, written(aspects))
        axes.invert_yaxis()
        _mark_scale(axes, scale)
        axes.set_title(title, pad=22)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", alpha=0.25)
        axes.spines["left"].set_visible(False)
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.01, 0.985), ncols=2,
                    fontsize=9, handletextpad=0.3, columnspacing=1.2)  # fmt: skip
    return drawn


def _mark_scale(axes: Axes, scale: Float32s) -> None:
    """Write ratings below the axis if all aspects have the same scale, else only its ends."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlim(-0.02, 1.02)
    low, high = (float(end) for end in scale[0])
    if (scale == scale[0]).all() and high > low:
        round_numbers = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        marks = [mark for mark in round_numbers if low <= mark <= high]
        places = [(mark - low) / (high - low) for mark in marks]
        axes.set_xticks(places, [f"{mark:g}" for mark in marks])
        axes.set_xlabel("rating")
    else:
        axes.set_xticks((0, 0.5, 1), ["lowest rating", "middle", "highest"])
