"""What there is: the model, its users and items, questions for newcomers, and scores."""

from __future__ import annotations

import json
import math

import msgspec
import numpy as np
from starlette.responses import Response

from dmrank.answers.list_rows import list_parts
from dmrank.data.rows import count_codes
from dmrank.models.base import Model
from dmrank.service.messages import (
    MOST_BYTES,
    MOST_CANDIDATES,
    MOST_ITEMS,
    MOST_ROWS,
    MOST_USERS,
    About,
    FoundUsers,
    Items,
    Nothing,
    PersonQuery,
    Question,
    Questions,
    QuestionsQuery,
    Recipe,
    ScoresRequest,
    UsersQuery,
)
from dmrank.service.people import Asked
from dmrank.service.served import Served
from dmrank.service.service import Service
from dmrank.support.version import __version__

#: The header with what the columns of scores are.
RECIPE = "dmrank-recipe"


async def about(service: Service, asked: Nothing) -> About:
    """Say which model answers, and what it knows."""
    del asked
    served, catalogue = service.served, service.served.model.catalogue
    low_and_high: list[list[float | None]] = [
        [None, None] if math.isnan(sum(scale)) else scale for scale in catalogue.scale.tolist()
    ]
    return About(
        model=served.version,
        kind=type(served.model).__name__,
        parameters=served.model.config.model_dump(mode="json"),
        users=len(catalogue.users),
        items=len(catalogue.items),
        ratings=len(catalogue.seen_items),
        aspects=list(catalogue.aspects),
        primary_aspect=catalogue.primary_aspect,
        scale=dict(zip(catalogue.aspects, low_and_high, strict=True)),
        id_types=dict(catalogue.id_types),
        named=catalogue.item_names is not None,
        preference=served.model.preference,
        fingerprint=served.fingerprint,
        first_rating=served.model.record.first,
        last_rating=served.model.record.last,
        saved=served.saved.isoformat(timespec="seconds"),
        loaded=served.loaded.isoformat(timespec="seconds"),
        library=__version__,
        stores_ratings=service.stores_ratings,
        needs_key=service.keys is not None,
        can=served.can,
        limits={
            "body": MOST_BYTES,
            "n": MOST_ITEMS,
            "users": MOST_USERS,
            "candidates": MOST_CANDIDATES,
            "rows": MOST_ROWS,
        },
    )


async def users(service: Service, asked: UsersQuery) -> FoundUsers:
    """Find users whose ids begin in some way."""
    served = service.served
    ids = served.model.users
    begin = ids.series.str.starts_with(asked.prefix).arg_true().head(asked.n).to_numpy()
    return FoundUsers(served.version, ids.values[begin].to_list())


async def items(service: Service, asked: Nothing) -> Items:
    """Name all items, in the order of the rows of scores."""
    del asked
    served, catalogue = service.served, service.served.model.catalogue
    names = None
    if catalogue.item_names is not None:
        both = zip(served.item_names, served.item_ids, strict=True)
        names = [name or str(id_) for name, id_ in both]
    counts = count_codes(catalogue.seen_items, len(catalogue.items))
    return Items(served.version, served.item_ids, names, counts.tolist())


async def questions(service: Service, asked: QuestionsQuery) -> Questions:
    """Choose items whose ratings tell most about a newcomer."""
    served = service.served
    return await service.pool.run(_questions, served, asked.n)


def _questions(served: Served, n: int) -> Questions:
    # Made once: it is the same for every newcomer.
    found = served.model.cache(("questions", n), lambda: served.model.questions(n))
    rows = [
        Question(row["item"], row.get("item_name") or None, row["ratings"])
        for row in found.iter_rows(named=True)
    ]
    return Questions(served.version, rows)


async def scores_by_address(service: Service, asked: PersonQuery) -> Response:
    """Return all that a user's lists are made of, as raw float32."""
    served = service.served
    person = await service.person(served, asked.user, None)
    return await service.pool.run(_scores, served, person)


async def scores(service: Service, asked: ScoresRequest) -> Response:
    """Return all that the lists of somebody are made of whose ratings are given."""
    served = service.served
    newcomer = await service.people.newcomer(served, asked.ratings)
    return await service.pool.run(_scores, served, newcomer)


def _scores(served: Served, person: Asked) -> Response:
    model: Model = person.model
    parts = list_parts(model, person.code)
    table = np.empty((len(parts.aspects), 1 + len(served.aspects)), dtype="<f4")
    table[:, 0] = 0 if parts.exposure is None else parts.exposure
    table[:, 1:] = parts.aspects
    # What is never listed: what the person has seen, and items without a training rating.
    table[~model.catalogue.rated_items] = np.nan
    table[model.catalogue.seen_by(np.array([person.code])).items] = np.nan
    recipe = Recipe(
        served.version, len(table), ["exposure", *served.aspects], served.model.preference
    )
    # Headers are ASCII, names of aspects need not be: json escapes them, msgspec does not.
    header = json.dumps(msgspec.to_builtins(recipe))
    return Response(table.tobytes(), 200, {RECIPE: header}, "application/octet-stream")
