"""Arrays -> figures: every picture that dmrank draws has its looks from here."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dmrank.support.arrays import AnyFloats, Float32s, Floats
from dmrank.support.errors import ConfigError
from dmrank.support.extras import require
from dmrank.support.files import atomic_path
from dmrank.support.targets import check_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Categorical colours that stay apart for colour-blind readers (after Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555")
_NOTEBOOK_DPI = 90
MISSING_COLOUR = "#DDDDDD"
#: How far above its point a name may stand, in points, and how high it is.
_LABEL_STEPS = (4, -12, 17, -25, 30, -38, 43, 56, 69)
_LABEL_HEIGHT = 12
_STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": "cycler('color', [" + ", ".join(f"'{c}'" for c in COLOURS) + "])",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
    "svg.hashsalt": "dmrank",
}
#: Every format of a figure, with what leaves dates out of it.
_UNDATED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}


def written(aspects: Sequence[str]) -> list[str]:
    """Return names of aspects as they are written in pictures.

    Examples
    --------
    >>> written(["front_desk", "Location"])
    ['front desk', 'location']
    """
    return [name.replace("_", " ").lower() for name in aspects]


def check_drawing() -> None:
    """Raise if nothing can be drawn, before anything is done for a figure."""
    require("matplotlib", "a figure")


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Give an empty figure (inches) in the style of dmrank, independent of any window system."""
    check_drawing()
    from matplotlib import rc_context
    from matplotlib.figure import Figure as MatplotlibFigure

    class ShownFigure(MatplotlibFigure):
        """A figure that a notebook shows where it is returned, without a magic command."""

        def _repr_png_(self) -> bytes:
            with rc_context(_STYLE), io.BytesIO() as written:
                self.savefig(written, format="png", dpi=_NOTEBOOK_DPI)
                return written.getvalue()

    with rc_context(_STYLE):
        yield ShownFigure(figsize=(width, height))


@contextmanager
def panel(width: float, height: float, ax: Axes | None) -> Iterator[tuple[Figure, Axes]]:
    """Give one panel: the axes of somebody's figure, or those of a new one."""
    if ax is not None:
        # Not that of a part of a figure; by the canvas, for `root=True` is new in Matplotlib 3.10.
        yield ax.figure.canvas.figure, ax
        return
    with figure(width, height) as drawn:
        yield drawn, drawn.subplots()


def save(drawn: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as png, svg or pdf, whole or not at all; the same figure, the same bytes."""
    from matplotlib import rc_context

    target = Path(path)
    with rc_context(_STYLE), atomic_path(target) as temporary:
        drawn.savefig(temporary, metadata=_undated(target))
    return target


def check_figure(path: str | os.PathLike[str]) -> None:
    """Raise if a figure cannot be written there, before anything is done for it."""
    check_drawing()
    _undated(Path(path))
    check_target(path)


def _undated(path: Path) -> dict[str, None]:
    """Return what makes the same figure the same bytes, in the format that the ending says."""
    if path.suffix not in _UNDATED:
        raise ConfigError(f"{path}: a figure is a .png, .svg or .pdf file")
    return _UNDATED[path.suffix]


def draw_ratings(
    values: Float32s,
    scale: Float32s,
    correlation: Floats,
    aspects: Sequence[str],
) -> Figure:
    """Draw how the ratings of each aspect are distributed and how the aspects correlate."""
    height = 1.6 + 0.36 * len(aspects)
    with figure(11, height) as drawn:
        left, right = drawn.subplots(1, 2, width_ratios=[1.15, 1])
        draw_distribution(left, values, scale, written(aspects))
        draw_correlation(right, correlation, written(aspects))
    return drawn


def draw_distribution(
    axes: Axes,
    values: Float32s,
    scale: Float32s,
    aspects: Sequence[str],
) -> None:
    """Draw one bar per aspect, cut into the shares of its ratings from low to high."""
    from matplotlib import colormaps

    shares, labels = rating_shares(values, scale)
    colours = [*colormaps["RdYlBu"](np.linspace(0.08, 0.92, shares.shape[1] - 1)), MISSING_COLOUR]
    start = np.zeros(len(aspects))
    for share, colour, label in zip(shares.T, colours, [*labels, "missing"], strict=True):
        if share.any():
            axes.barh(aspects, share, left=start, color=colour, label=label, height=0.78)
            start += share
    axes.invert_yaxis()
    axes.set(title="Ratings", xlim=(0, 1), xlabel="share of rating vectors")
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(
        ncols=len(labels) + 1,
        loc="lower right",
        bbox_to_anchor=(1.01, 0.985),
        frameon=False,
        fontsize=8,
        handlelength=0.9,
        columnspacing=1,
    )


def rating_shares(
    values: Float32s, scale: Float32s, most_levels: int = 10
) -> tuple[Floats, list[str]]:
    """Return, per aspect, the share of each rating level and of missing, and the levels' names.

    Aspects on different scales, or with many levels, are cut into five equal parts of their own
    scale.

    Examples
    --------
    >>> shares, labels = rating_shares(np.float32([[1], [2], [2], [np.nan]]), np.float32([[1, 2]]))
    >>> shares, labels
    (array([[0.25, 0.5 , 0.25]]), ['1', '2'])
    """
    rows = max(len(values), 1)
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) <= most_levels and (scale == scale[0]).all():
        counts = np.stack([(values == level).sum(axis=0) for level in levels], axis=1)
        labels = [f"{level:g}" for level in levels]
    else:
        width = np.maximum(scale[:, 1] - scale[:, 0], 1e-9)
        fifth = np.clip(np.floor((values - scale[:, 0]) / width * 5), 0, 4)
        counts = np.stack([(fifth == level).sum(axis=0) for level in range(5)], axis=1)
        labels = ["lowest fifth", "2nd", "3rd", "4th", "highest"]
    missing = np.isnan(values).sum(axis=0)[:, None]
    return np.hstack([counts, missing]) / rows, labels


def draw_correlation(axes: Axes, correlation: AnyFloats, aspects: Sequence[str]) -> None:
    """Draw a correlation matrix as a heat map with its numbers."""
    axes.imshow(correlation, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    ticks = range(len(aspects))
    axes.set_xticks(ticks, aspects, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(ticks, aspects)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("Correlation of aspects")
    for row in ticks:
        for column in ticks:
            value = correlation[row, column]
            text = "–" if np.isnan(value) else f"{value:.2f}".replace("0.", ".")
            colour = "white" if abs(value) > 0.5 else "black"
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)


def draw_recovery(found: Floats, plain: Floats, aspects: Sequence[str], model: str) -> Figure:
    """Draw how often a model found the planted order of two items, beside plain item means."""
    with figure(6.5, 1.4 + 0.36 * len(aspects)) as drawn:
        axes = drawn.subplots()
        places = np.arange(len(aspects))
        axes.hlines(places, plain, found, color="0.75", linewidth=2, zorder=1)
        axes.scatter(plain, places, color=COLOURS[-1], label="item means", zorder=2)
        axes.scatter(found, places, color=COLOURS[0], label=model, zorder=2)
        axes.set_yticks(places, written(aspects))
        axes.invert_yaxis()
        axes.set(xlim=(0.5, 1), title="Planted order of two items found")
        axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        axes.grid(axis="x", alpha=0.25)
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.01, 0.985), ncols=2)
    return drawn


def draw_direction(
    axes: Axes,
    mean: ArrayLike,
    covariance: ArrayLike,
    direction: ArrayLike,
    *,
    margin: float = 0.0,
    names: Sequence[str] = ("", ""),
    degrees_of_freedom: float | None = None,
    title: str = "",
    reach: float | None = None,
    tallest: float | None = None,
) -> float:
    """Draw how a predicted difference lies to a direction, as in the paper's Figure 2.

    Ellipses are levels of the density of the difference. The ray is the direction; the area
    that stands on it is the density along it, and its coloured part, beyond the margin, the
    likelihood of the direction.

    Parameters
    ----------
    axes : matplotlib Axes
        Where to draw: one panel. Panels that are to be compared need the same `reach` and
        `tallest`.
    mean, covariance : arrays, 2 and 2 × 2
        Of the difference of two rating vectors on two aspects.
    direction : array, 2
        d; the ray is γ d for γ ≥ 0.
    margin : float
        ξ, the γ from which on the ray counts.
    names : pair of str
        What the two axes are.
    degrees_of_freedom : float, optional
        Of the student family, whose scale matrix `covariance` then is; by default gaussian.
    title : str
        Above the panel.
    reach : float, optional
        The panel shows −reach to reach; by default what holds everything.
    tallest : float, optional
        The density that is drawn at full height; by default that at the mean.

    Returns
    -------
    float
        The coloured area ∫_ξ^∞ p(γ d) dγ.

    Examples
    --------
    >>> with figure(4, 4) as drawn:
    ...     area = draw_direction(drawn.subplots(), np.ones(2), np.eye(2), np.array([2.0, -1.0]))
    >>> round(area, 2)
    0.05
    """
    from scipy.integrate import trapezoid

    mean, direction = np.asarray(mean, np.float64), np.asarray(direction, np.float64)
    covariance = np.asarray(covariance, np.float64)
    spread = np.sqrt(np.diagonal(covariance))
    if reach is None:
        reach = 1.05 * float(np.max([np.abs(mean) + 2.3 * spread, 1.3 * np.abs(direction)]))
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    angle = np.linspace(0, 2 * np.pi, 181)
    circle = np.linalg.cholesky(covariance) @ np.stack([np.cos(angle), np.sin(angle)])
    for radius in (2.25, 1.75, 1.25, 0.75, 0.25):
        axes.fill(*(mean[:, None] + radius * circle), color=COLOURS[0], alpha=0.15, linewidth=0)
    axes.plot(
        *mean, "o", color=COLOURS[0], markeredgecolor="white", markersize=7, zorder=4,
        label="predicted difference",
    )  # fmt: skip

    # The area is integrated as far as there is density, and shown as far as the panel goes.
    edge = reach / np.abs(direction).max()
    far = edge + (np.linalg.norm(mean) + 40 * spread.max()) / np.linalg.norm(direction)
    gamma = np.concatenate([np.linspace(0, margin, 201), np.linspace(margin, margin + far, 20_001)])
    beyond = np.arange(len(gamma)) > 200
    along = _density(gamma[:, None] * direction, mean, covariance, degrees_of_freedom)
    area = float(trapezoid(along[beyond], gamma[beyond]))
    shown = gamma <= 0.93 * edge
    if tallest is None:
        tallest = float(_density(mean[None], mean, covariance, degrees_of_freedom)[0])
    aside = np.array([-direction[1], direction[0]]) / np.linalg.norm(direction)
    aside *= -1 if aside @ mean > 0 else 1  # the area stands on the side away from the mean
    ray = gamma[:, None] * direction
    hill = ray + 0.6 * reach * (along / tallest)[:, None] * aside
    for part, colour, label in (
        (~beyond & shown, "0.55", None),
        (beyond & shown, COLOURS[1], "density along the direction"),
    ):
        outline = np.concatenate([ray[part], hill[part][::-1]])
        axes.fill(*outline.T, color=colour, alpha=0.35, linewidth=0, zorder=2, label=label)
        axes.plot(*hill[part].T, color=colour, linewidth=1.2, zorder=2)
    axes.plot(*np.stack([[0, 0], margin * direction]).T, color="0.45", linewidth=1.5, zorder=3)
    axes.annotate(
        "",
        xy=tuple(0.98 * edge * direction),
        xytext=tuple(margin * direction),
        arrowprops={"arrowstyle": "-|>", "color": COLOURS[1], "linewidth": 2.2, "shrinkA": 0},
        zorder=3,
    )
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=title)
    axes.set(xlabel=names[0], ylabel=names[1])
    return area


def _density(
    points: Floats,
    mean: Floats,
    covariance: Floats,
    degrees_of_freedom: float | None,
) -> Floats:
    """Return the density of two aspects: normal, or Student's t with a scale matrix."""
    away = points - mean
    square = (away * np.linalg.solve(covariance, away.T).T).sum(axis=1)
    flat = 1 / (2 * np.pi * np.sqrt(np.linalg.det(covariance)))
    if degrees_of_freedom is None:
        return np.asarray(flat * np.exp(-square / 2))
    eta = degrees_of_freedom
    return np.asarray(flat * (1 + square / eta) ** (-(eta + 2) / 2))


def draw_directions(covariance: Floats, aspects: tuple[str, ...], of: str) -> Figure:
    """Draw correlations, and the share of the variance in each principal direction."""
    names = written(aspects)
    deviations = np.sqrt(np.diagonal(covariance))
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    share = values / values.sum()
    size = 2.2 + 0.5 * len(aspects)
    with figure(2 * size + 1.2, size) as drawn:
        left, right = drawn.subplots(1, 2)
        draw_correlation(left, covariance / np.outer(deviations, deviations), names)
        left.set_title(f"Effects of {of}: correlation of aspects")
        bars = right.bar(np.arange(1, len(share) + 1), 100 * share, color=COLOURS[0])
        right.bar_label(bars, [f"{value:.0%}" for value in share], fontsize=9, padding=2)
        # How many directions there would be if all counted the same (participation ratio).
        count = values.sum() ** 2 / np.square(values).sum()
        right.set_title(f"Variance by direction: as much as {count:.1f} equal ones")
        right.set(
            xlabel="principal direction", ylabel="% of variance", xticks=range(1, len(share) + 1)
        )
        right.grid(axis="y", alpha=0.25)
    return drawn


def draw_preference_curve(shares: Floats, values: Floats, chosen: float) -> Figure:
    """Draw the held-out value of lists over their share of preference, and the share chosen."""
    with figure(5.6, 3.4) as drawn:
        axes = drawn.subplots()
        axes.plot(shares, values, marker="o", markersize=3.5, color=COLOURS[0])
        axes.axvline(chosen, color=COLOURS[1], linestyle="--", linewidth=1.2)
        axes.annotate(
            f"lists take {chosen:.2g}", (chosen, values.min()), (6, 2), textcoords="offset points"
        )
        axes.set(
            xlabel="share of preference:  0 who comes … 1 how it is liked",
            ylabel="held-out NDCG@10",
            title="What lists lose by saying how items are liked",
        )
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
    return drawn


def label_points(axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """Write names beside points, above or below one another where they would cover each other.

    The limits of the axes must stand by then.
    """
    taken: list[tuple[float, float, float]] = []
    to_points = 72 / axes.figure.dpi
    for x, y, name in sorted(points):
        left, base = axes.transData.transform((x, y)) * to_points
        width = 5.2 * len(name) + 4
        for step in _LABEL_STEPS:
            free = all(
                abs(base + step - other) >= _LABEL_HEIGHT or left + 5 > end or left + width < start
                for start, end, other in taken
            )
            if free:
                break
        taken.append((left + 5, left + 5 + width, base + step))
        axes.annotate(
            name,
            (x, y),
            (5, step),
            textcoords="offset points",
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": "0.7", "linewidth": 0.6}
            if abs(step) > _LABEL_HEIGHT
            else None,
        )
