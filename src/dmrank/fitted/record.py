"""What is known of how a model was fitted: its file keeps it, and its card tells it.

Nothing of it depends on when, where or how fast a model was fitted: same seed, same bytes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Self

import numpy as np
from pydantic import BaseModel, ConfigDict, FiniteFloat, NonNegativeInt

from dmrank.data.activity import activity_groups
from dmrank.data.fingerprint import fingerprint
from dmrank.data.ratings import Ratings
from dmrank.data.rows import has_rows
from dmrank.data.times import NO_TIMESTAMP, TICKS
from dmrank.support.arrays import Floats
from dmrank.support.version import __version__
from dmrank.training.history import History
from dmrank.training.validation import Validator

#: Whole numbers between these, 1973 to 2286, are taken for seconds since 1970.
_DATES = (10**8, 10**10)


class _Part(BaseModel):
    """Values of a header, of these types or none at all."""

    model_config = ConfigDict(strict=True, frozen=True)


class GroupRecord(_Part):
    """How well the validation users of one group are served."""

    group: str
    users: NonNegativeInt
    value: FiniteFloat | None


class ValidationRecord(_Part):
    """How well validation users are served, and the groups of them with few and many ratings."""

    metric: str
    by: str
    users: NonNegativeInt
    value: FiniteFloat | None
    groups: list[GroupRecord]

    @classmethod
    def from_values(cls, per_user: Floats, validator: Validator, ratings: Ratings) -> Self:
        """Take the values of the validation users, NaN where a user has none."""
        has_value = ~np.isnan(per_user)
        known = per_user[has_value]
        activity = np.diff(ratings.user_pointer)[validator.users][has_value]
        return cls(
            metric=str(validator.metric),
            by=ratings.primary_aspect,
            users=len(known),
            value=_mean(per_user),
            groups=[
                GroupRecord(group=label, users=int(of.sum()), value=_mean(known[of]))
                for label, of in activity_groups(activity)
            ],
        )


class FitRecord(_Part):
    """What a model was fitted on and how that went; None where nobody noted it.

    Attributes
    ----------
    library : str or None
        The version of dmrank that fitted the model.
    users, items, ratings : int or None
        How many users and items had a training rating, and how many rating vectors there were.
    missing : list of float, or None
        Share of the rating vectors that lack each aspect.
    fingerprint : str or None
        See `dmrank.data.fingerprint`.
    first, last : str or None
        When the first and the last rating were given: dates, or numbers as the table had them.
    iterations : int or None
        Until the best parameters; None of a model that is learned in one step.
    stopped : str
        Why training ended early.
    validation : ValidationRecord or None
        None without validation ratings.
    """

    library: str | None = None
    users: NonNegativeInt | None = None
    items: NonNegativeInt | None = None
    ratings: NonNegativeInt | None = None
    missing: list[FiniteFloat] | None = None
    fingerprint: str | None = None
    first: str | None = None
    last: str | None = None
    iterations: NonNegativeInt | None = None
    stopped: str = ""
    validation: ValidationRecord | None = None

    @classmethod
    def from_fit(
        cls, ratings: Ratings, history: History, validation: ValidationRecord | None
    ) -> Self:
        """Note what is known when a fit ends."""
        users = int(has_rows(ratings.user_pointer).sum())
        first, last = _period(ratings)
        best = history.best_iteration
        return cls(
            library=__version__,
            users=users,
            items=len(np.unique(ratings.item_codes)),
            ratings=len(ratings),
            missing=np.isnan(ratings.values).mean(axis=0).tolist(),
            fingerprint=fingerprint(ratings),
            first=first,
            last=last,
            iterations=best if best > 1 else None,
            stopped=history.stopped,
            validation=validation,
        )


def _mean(values: Floats) -> float | None:
    return None if np.isnan(values).all() else float(np.nanmean(values))


def _period(ratings: Ratings) -> tuple[str | None, str | None]:
    """Return when the first and the last rating were given, where that is known."""
    times = ratings.timestamps
    known = None if times is None else times[times != NO_TIMESTAMP]
    if known is None or len(known) == 0:
        return None, None
    ends = int(known.min()), int(known.max())
    ticks = TICKS[ratings.time_unit]
    if not all(_DATES[0] <= time // ticks < _DATES[1] for time in ends):
        return str(ends[0]), str(ends[1])
    first, last = (datetime.fromtimestamp(time // ticks, UTC).date() for time in ends)
    return first.isoformat(), last.isoformat()
