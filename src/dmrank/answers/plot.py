"""Pictures of what a fitted model says about a user and an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dmrank.data.training_scale import from_training_scale
from dmrank.fitted.contract import Hooks
from dmrank.support.plots import COLOURS, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawing(Hooks):
    """What every model can draw; figures are saved by their `savefig`."""

    def plot_profile(self, user: str, item: str) -> Figure:
        """Draw the predicted ratings of an item beside what the user gives on average.

        Parameters
        ----------
        user, item : str
            Ids.

        Examples
        --------
        >>> import dmrank
        >>> model = dmrank.ItemMean().fit(dmrank.make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> drawn = model.plot_profile("u000003", "h000001")
        >>> drawn.savefig("profile.png")  # doctest: +SKIP
        """
        catalogue = self.catalogue
        u, i = catalogue.users.code(user), catalogue.items.code(item)
        predicted = self._ratings(np.array([u]), np.array([i]))[0]
        average = np.full(len(catalogue.aspects), np.nan)
        if catalogue.evidence is not None:
            average = catalogue.evidence.user_means[u].astype(np.float64)
        return _draw_profile(
            predicted,
            average,
            _relative(catalogue.scale, predicted),
            _relative(catalogue.scale, average),
            catalogue.aspects,
            f"{catalogue.item_name(i)}, for {user}",
        )


def _relative(scale: NDArray[np.float32], values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return ratings as shares of their scales: aspects on different scales share one axis."""
    low, high = (from_training_scale(np.full(len(scale), end), scale) for end in (1.0, 5.0))
    return np.asarray((values - low) / (high - low))


def _draw_profile(
    predicted: NDArray[np.floating],
    average: NDArray[np.float64],
    place: NDArray[np.float64],
    average_place: NDArray[np.float64],
    aspects: tuple[str, ...],
    title: str,
) -> Figure:
    with figure(6.5, 1.3 + 0.36 * len(aspects)) as drawn:
        axes = drawn.subplots()
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
        axes.set_yticks(rows, [name.replace("_", " ") for name in aspects])
        axes.invert_yaxis()
        axes.set(xlim=(-0.02, 1.02), xticks=(0, 0.5, 1))
        axes.set_xticklabels(["lowest rating", "middle", "highest"])
        axes.set_title(title, pad=22)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", alpha=0.25)
        axes.spines["left"].set_visible(False)
        axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.01, 0.985), ncols=2,
                    fontsize=9, handletextpad=0.3, columnspacing=1.2)  # fmt: skip
    return drawn
