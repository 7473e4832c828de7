"""Figures 1 and 2: a real pair of ratings by one user, its direction, and the density of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from dmrank.directional.orthant import log_all_positive
from dmrank.evaluation import rated_pairs
from dmrank.experiments.drawings import draw_two_ratings
from dmrank.experiments.exhibit import Exhibit, as_text
from dmrank.experiments.study import SEED, Study
from dmrank.models import DMR
from dmrank.support.arrays import Float32s, Floats
from dmrank.support.plots import draw_direction, figure, written

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Two of them are shown side by side.
MODELS = ("DMR", "DMR-I", "DMR-S", "DMR-paper")


@dataclass(frozen=True, eq=False)
class RatedPair:
    """Two test ratings of one user, where the user prefers either item on some aspect."""

    user: int
    items: tuple[int, int]
    ratings: Float32s
    observed: Floats

    @property
    def two_aspects(self) -> tuple[int, int]:
        """The aspects with the greatest and the least difference."""
        known = np.flatnonzero(~np.isnan(self.observed))
        order = known[np.argsort(self.observed[known], kind="stable")]
        return int(order[-1]), int(order[0])


def directions(study: Study) -> list[Exhibit]:
    """Return one user's two ratings, and how two models see their direction."""
    pair = telling_pair(study)
    if pair is None:
        return []
    ratings = study.ratings
    names = [_item_name(study, item) for item in pair.items]
    data = pl.DataFrame(
        {
            "aspect": list(ratings.aspects),
            names[0]: pair.ratings[0].astype(np.float64),
            names[1]: pair.ratings[1].astype(np.float64),
            "difference": pair.observed,
        }
    )
    exhibits = [
        Exhibit(
            "figure-1",
            "Figure 1: two ratings by the same user",
            f"User {ratings.users[pair.user]} rated both in test. One is better on one aspect, the "
            "other on another: no single number can order them, their difference has a direction.",
            data,
            as_text(data, digits=1),
            lambda: draw_two_ratings(
                data, names, (float(ratings.scale[:, 0].min()), float(ratings.scale[:, 1].max()))
            ),
        )
    ]
    models = [name for name in MODELS if study.has(name)][:2]
    if models:
        exhibits.append(_densities(study, pair, models))
    return exhibits


def telling_pair(study: Study) -> RatedPair | None:
    """Return the pair with the strongest preferences in both ways, and the most aspects."""
    pairs = rated_pairs(study.split, seed=SEED)
    if len(pairs.first) == 0 or len(study.ratings.aspects) < 2:
        return None
    known = ~np.isnan(pairs.observed)
    d = np.nan_to_num(pairs.observed)
    both_ways = np.minimum(d.max(axis=1), -d.min(axis=1))
    best = int(np.lexsort((np.abs(d).sum(axis=1), both_ways, known.sum(axis=1)))[-1])
    user, items = int(pairs.users[best]), (int(pairs.first[best]), int(pairs.second[best]))
    test = study.split.test
    rows = slice(test.user_pointer[user], test.user_pointer[user + 1])
    values = {int(i): row for i, row in zip(test.item_codes[rows], test.values[rows], strict=True)}
    return RatedPair(user, items, np.stack([values[item] for item in items]), pairs.observed[best])


def _item_name(study: Study, item: int) -> str:
    ratings = study.ratings
    name = ratings.item_name(item) if ratings.item_names is not None else ""
    return name or str(ratings.items[item])


def _densities(study: Study, pair: RatedPair, models: list[str]) -> Exhibit:
    chosen = list(pair.two_aspects)
    aspects = written([study.ratings.aspects[k] for k in chosen])
    seen = {name: _seen_by(study, name, pair, chosen) for name in models}
    data = pl.DataFrame(
        [
            {
                "model": name,
                f"mean {aspects[0]}": mean[0],
                f"mean {aspects[1]}": mean[1],
                "variance 1": covariance[0, 0],
                "variance 2": covariance[1, 1],
                "covariance": covariance[0, 1],
            }
            for name, (mean, covariance, _) in seen.items()
        ]
    )

    reach = 1.05 * max(
        float(np.max(np.abs(mean) + 2.3 * np.sqrt(np.diagonal(covariance))))
        for mean, covariance, _ in seen.values()
    )
    reach = max(reach, 1.1 * float(np.abs(pair.observed[chosen]).max()))

    def draw() -> Figure:
        with figure(5.4 * len(seen), 5.2) as drawn:
            panels = np.atleast_1d(drawn.subplots(1, len(seen)))
            for axes, (name, (mean, covariance, model)) in zip(panels, seen.items(), strict=True):
                config = model.config
                draw_direction(
                    axes,
                    mean,
                    covariance,
                    pair.observed[chosen],
                    margin=config.margin,
                    reach=reach,
                    names=[f"difference on {aspect}" for aspect in aspects],
                    degrees_of_freedom=(
                        config.degrees_of_freedom if config.family == "student" else None
                    ),
                )
                likely = _both_as_observed(mean, covariance, pair.observed[chosen])
                axes.set_title(f"{name}: {likely:.0%} for this order on both")
            panels[-1].legend(frameon=False, fontsize=9, loc="upper right")
        return drawn

    return Exhibit(
        "figure-2",
        "Figure 2: the direction of the pair under fitted models",
        f"The density of the difference on {aspects[0]} and {aspects[1]} (ellipses, dot), "
        "the observed direction, and the density along it; the coloured part, beyond the margin, "
        "is what the criterion maximises. In the title, the probability that the items differ in "
        "the observed order on both aspects. The pair is from test: no model has seen it.",
        data,
        as_text(data, digits=3),
        draw,
    )


def _both_as_observed(mean: Floats, covariance: Floats, observed: Floats) -> float:
    """Return the probability that both differences have the observed sign, if normal."""
    signs = np.sign(observed)
    turned = signs[:, None] * covariance * signs
    return float(np.exp(log_all_positive((signs * mean)[None], turned[None], threads=1))[0])


def _seen_by(
    study: Study, name: str, pair: RatedPair, aspects: list[int]
) -> tuple[Floats, Floats, DMR]:
    """Return mean and covariance of the difference on two aspects."""
    model = study.model(name)
    assert isinstance(model, DMR)
    users, items = np.full(2, pair.user), np.array(pair.items)
    first, second = model.score_pairs(users, items).astype(np.float64)
    of_items = model.covariances(users, items)
    assert of_items is not None
    covariance = of_items.sum(axis=0)
    return (first - second)[aspects], covariance[np.ix_(aspects, aspects)], model
