"""Figure 3: who has how many ratings, and how well they are served."""

from __future__ import annotations

import polars as pl

from dmrank.evaluation import group_sizes, user_groups
from dmrank.evaluation.report import AVERAGE
from dmrank.experiments.drawings import draw_user_groups
from dmrank.experiments.exhibit import Exhibit, as_text
from dmrank.experiments.rankings import rankings
from dmrank.experiments.study import Study

_METRIC = "ndcg@50"
#: References that are drawn beside the models of the paper; the table has all.
_REFERENCES = ("Popularity", "EASE")


def groups(study: Study) -> list[Exhibit]:
    """Return the distribution of users over groups, and NDCG@50 in each group."""
    sizes = group_sizes(study.split.train)
    data = user_groups(rankings(study, "full"), study.split.train, _METRIC, by=AVERAGE)
    wide = data.pivot("group", index="model", values="mean")
    names = [c.name for c in study.settings.contenders if c.role == "paper"]
    drawn = data.filter(pl.col("model").is_in([*names, *_REFERENCES]))
    return [
        Exhibit(
            "figure-3",
            "Figure 3: NDCG@50 over all aspects, by the number of training ratings",
            "Left: users by their number of training ratings. Right: NDCG@50 averaged over "
            "aspects, full ranking, in each group.",
            data,
            as_text(wide),
            lambda: draw_user_groups(sizes, drawn, "NDCG@50, average over aspects"),
        )
    ]
