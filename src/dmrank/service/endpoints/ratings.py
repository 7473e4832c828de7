"""Ratings that people give: kept at once, and folded in by the next list, in any worker."""

from __future__ import annotations

from datetime import UTC, datetime

from dmrank.answers.given import given_ratings
from dmrank.data.ids import Id
from dmrank.service.messages import (
    Deleted,
    RatingsQuery,
    Stored,
    StoredRating,
    StoredRatings,
    StoreRequest,
)
from dmrank.service.people import profile_table
from dmrank.service.problems import INVALID, NOT_FOUND, ProblemError
from dmrank.service.served import Served
from dmrank.service.service import Service

#: Ids that are written into a database.
_LONGEST_ID = 1_000


async def store_ratings(service: Service, query: RatingsQuery, asked: StoreRequest) -> Stored:
    """Keep ratings of a user, known or new."""
    served, user = service.served, _text(service, query.user)
    if query.item is not None:
        raise ProblemError(INVALID, "item= is for DELETE: name items in the body")
    table = profile_table(served, user, asked.ratings)
    # Off the scale, or nothing rated: said before anything is written.
    given_ratings(table, served.model.catalogue)
    kept = {
        row["item"]: {name: row[name] for name in served.aspects if row[name] is not None}
        for row in table.iter_rows(named=True)
    }
    for item, ratings in kept.items():
        if not ratings:
            raise ProblemError(INVALID, f"item {item!r} has no rating on any aspect: give one")
    await service.people.in_store(lambda store: store.put(user, kept))
    return Stored(query.user, len(kept))


async def ratings_of_user(service: Service, query: RatingsQuery) -> StoredRatings:
    """Return the ratings that are kept of a user."""
    user = _text(service, query.user)
    kept = await service.people.in_store(lambda store: store.of_user(user))
    if query.item is not None:
        item = service.served.model.items.text(query.item)
        kept = [each for each in kept if each.item == item]
    rows = [
        StoredRating(
            _item(service.served, each.item),
            each.ratings,
            datetime.fromtimestamp(each.time, UTC).isoformat(timespec="milliseconds"),
        )
        for each in kept
    ]
    return StoredRatings(query.user, rows)


async def delete_ratings(service: Service, query: RatingsQuery) -> Deleted:
    """Forget a rating, or all ratings, of a user."""
    user = _text(service, query.user)
    item = None if query.item is None else service.served.model.items.text(query.item)
    deleted = await service.people.in_store(lambda store: store.delete(user, item))
    return Deleted(query.user, deleted)


def _text(service: Service, user: Id) -> str:
    """Return the id of a user, who need not be known, as the store has it."""
    if not service.stores_ratings:
        raise ProblemError(NOT_FOUND, "this service keeps no ratings: start it with --ratings")
    text = service.served.model.users.text(user)
    if not text or "\0" in text or len(text) > _LONGEST_ID:
        raise ProblemError(INVALID, f"user {text[:40]!r} is no id: give 1 to 1,000 characters")
    return text


def _item(served: Served, item: str) -> Id:
    return int(item) if served.model.items.type == "integer" else item
