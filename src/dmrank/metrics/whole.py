"""Metrics of a model as a whole: they compare its scores by one aspect with those by another."""

from __future__ import annotations

from dataclasses import dataclass

from dmrank.support.errors import ConfigError


@dataclass(frozen=True)
class Contrast:
    """How often a model tells on which of two aspects two rated items differ more.

    See `contrast_accuracy`; the mean over users.

    Parameters
    ----------
    calibrated
        Of calibrated ratings instead of raw scores.

    Examples
    --------
    >>> print(Contrast(), Contrast(calibrated=True))
    contrast contrast-calibrated
    """

    calibrated: bool = False

    def __str__(self) -> str:
        return "contrast-calibrated" if self.calibrated else "contrast"


@dataclass(frozen=True)
class ListLift:
    """How much better on an aspect the first k items by it are than those by the primary aspect.

    See `list_lifts`; the mean over users and over the other aspects.

    Parameters
    ----------
    k
        Length of the lists, at least 1.
    specific
        Less the mean lift on all other aspects.

    Examples
    --------
    >>> print(ListLift(10), ListLift(10, specific=True))
    lift@10 specific-lift@10
    """

    k: int
    specific: bool = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"{self}: give a length of at least 1, such as lift@10")

    def __str__(self) -> str:
        return f"{'specific-' if self.specific else ''}lift@{self.k}"


#: A metric of a model as a whole: it has no value per user.
WholeMetric = Contrast | ListLift
