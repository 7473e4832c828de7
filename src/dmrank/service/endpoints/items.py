"""Questions about items: which of two, why, what is like it, which mix puts it there."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from dmrank.answers.by_text import parse_by
from dmrank.data.ids import Id
from dmrank.fitted.contract import By
from dmrank.models.base import Model
from dmrank.service.messages import (
    Compared,
    ComparedAspect,
    CompareQuery,
    CompareRequest,
    Completed,
    CompletedRow,
    CompleteRequest,
    Explained,
    ExplainedAspect,
    ExplainQuery,
    ExplainRequest,
    Similar,
    SimilarQuery,
    SimilarRow,
    Weights,
    WeightsRequest,
)
from dmrank.service.people import Asked
from dmrank.service.problems import INVALID, ProblemError
from dmrank.service.rows import DIGITS
from dmrank.service.served import Served
from dmrank.service.service import Service


async def compare_by_address(service: Service, asked: CompareQuery) -> Compared:
    """Say which of two items a user will rate higher on each aspect, and how sure that is."""
    served = service.served
    person = await service.person(served, asked.user, None)
    return await service.pool.run(_compared, served, person, asked.first, asked.second)


async def compare(service: Service, asked: CompareRequest) -> Compared:
    """Say which of two items somebody will rate higher on each aspect, and how sure that is."""
    served = service.served
    person = await service.person(served, asked.user, asked.ratings)
    return await service.pool.run(_compared, served, person, asked.first, asked.second)


def _compared(served: Served, person: Asked, first: Id, second: Id) -> Compared:
    found = person.model.compare(person.name, first, second)
    difference = found.table["difference"].to_numpy()
    length = float(np.linalg.norm(difference)) or 1.0
    unit = (difference / length).round(DIGITS).tolist()
    return Compared(
        served.version,
        person.user,
        found.first,
        found.second,
        list(found.names),
        [ComparedAspect(**row) for row in found.table.iter_rows(named=True)],
        dict(zip(served.aspects, unit, strict=True)),
        found.confidence,
        found.sentence,
    )


async def explain_by_address(service: Service, asked: ExplainQuery) -> Explained:
    """Say which aspects speak for an item."""
    served = service.served
    person = await service.person(served, asked.user, None)
    return await service.pool.run(_explained, served, person, asked.item, parse_by(asked.by))


async def explain(service: Service, asked: ExplainRequest) -> Explained:
    """Say which aspects speak for an item."""
    served = service.served
    person = await service.person(served, asked.user, asked.ratings)
    return await service.pool.run(_explained, served, person, asked.item, asked.by)


def _explained(served: Served, person: Asked, item: Id, by: By) -> Explained:
    why = person.model.explain(person.name, item, by)
    catalogue = person.model.catalogue
    return Explained(
        served.version,
        person.user,
        why.item,
        catalogue.item_name(catalogue.items.code(item)),
        why.by,
        [ExplainedAspect(**row) for row in why.table.iter_rows(named=True)],
        why.sentence,
    )


async def complete(service: Service, asked: CompleteRequest) -> Completed:
    """Predict the missing aspects of ratings from the given ones."""
    served = service.served
    return await service.pool.run(_completed, served, asked.ratings)


def _completed(served: Served, given: list[dict[str, Any]]) -> Completed:
    catalogue = served.model.catalogue
    rows = []
    for row in given:
        if row.get("user") is None or row.get("item") is None:
            raise ProblemError(INVALID, "a rating names no user or no item: give both")
        for name in row.keys() - {"user", "item"}:
            catalogue.aspect(name)
        # Looked up one by one: the first that is not known is named.
        catalogue.users.code(row["user"])
        catalogue.items.code(row["item"])
        ids = {
            "user": catalogue.users.text(row["user"]),
            "item": catalogue.items.text(row["item"]),
        }
        rows.append(row | ids)
    schema = {
        "user": pl.String,
        "item": pl.String,
        **dict.fromkeys(catalogue.aspects, pl.Float64),
    }
    try:
        table = pl.DataFrame(rows, schema=schema)
    except (TypeError, pl.exceptions.PolarsError):
        raise ProblemError(INVALID, "a rating is no number: give numbers, or null") from None
    found = served.model.complete(table)
    return Completed(
        served.version,
        [
            CompletedRow(
                row["user"],
                row["item"],
                {name: row[name] for name in catalogue.aspects},
                {name: row[f"{name}_sd"] for name in catalogue.aspects},
            )
            for row in found.iter_rows(named=True)
        ],
    )


async def similar(service: Service, asked: SimilarQuery) -> Similar:
    """Find items, or users, that are like one."""
    served = service.served
    return await service.pool.run(_similar, served, asked)


def _similar(served: Served, asked: SimilarQuery) -> Similar:
    if (asked.item is None) == (asked.user is None):
        raise ProblemError(INVALID, "give either an item or a user: one of them is looked for")
    model, by = served.model, parse_by(asked.by)
    if asked.item is not None:
        kind, found = "item", model.similar_items(asked.item, asked.n, by=by)
    else:
        assert asked.user is not None
        kind, found = "user", model.similar_users(asked.user, asked.n, by=by)
    rows = [
        SimilarRow(row["rank"], row[kind], row["similarity"], row.get("item_name") or None)
        for row in found.iter_rows(named=True)
    ]
    return Similar(served.version, rows)


async def weights(service: Service, asked: WeightsRequest) -> Weights:
    """Find the mix nearest to the one given by which a list has the wanted orders."""
    served = service.served
    person = await service.person(served, asked.user, asked.ratings)
    return await service.pool.run(_weights, served, person, asked)


def _weights(served: Served, person: Asked, asked: WeightsRequest) -> Weights:
    model: Model = person.model
    if asked.preference is not None:
        model = model.with_preference(asked.preference)
    orders = [(before, after) for before, after in asked.orders]
    found = model.nearest_mix(person.name, orders, by=asked.by)
    prevented = [list(order) for order in found.prevented_by]
    return Weights(served.version, found.weights, found.change, prevented)
