"""What a store of ratings does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from dmrank.support.errors import WriteError


class KeptRating(NamedTuple):
    """A rating as it is kept: ids as text, a number for each aspect that was rated."""

    user: str
    item: str
    ratings: dict[str, float]
    #: Seconds since 1970.
    time: float


class StoreError(WriteError):
    """Ratings that cannot be reached or written: the disk is full, the database is away."""


class Store(Protocol):
    """Ratings by user and item.

    Every user has a revision: a number that grows with each change, so that whoever has folded a
    user in sees whether that still holds. What returns has been written for good.

    Attributes
    ----------
    answers_at_once : bool
        Whether a look at revisions takes microseconds, so that no other request is kept waiting.
    """

    answers_at_once: bool

    def revisions(self, users: list[str]) -> Mapping[str, int]:
        """Return the revisions of those users who have one."""

    def put(self, user: str, ratings: Mapping[str, Mapping[str, float]]) -> None:
        """Keep ratings of items; one of the same item takes the place of the old one."""

    def of_user(self, user: str) -> list[KeptRating]:
        """Return the ratings of a user, by item."""

    def delete(self, user: str, item: str | None) -> int:
        """Delete the rating of one item, or all; return how many these were."""

    def every(self) -> Iterator[KeptRating]:
        """Yield all ratings, by user and item."""

    def close(self) -> None:
        """Let go of the database."""
