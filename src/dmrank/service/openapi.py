"""The service in the words of OpenAPI 3.1, made of the types of its messages."""

from __future__ import annotations

from typing import Any

import msgspec

from dmrank.service.messages import Problem, Recipe
from dmrank.service.problems import MEDIA_TYPE as PROBLEM_TYPE
from dmrank.service.routes import ENDPOINTS, Endpoint
from dmrank.support.version import __version__

_JSON = "application/json"
_REFERENCE = "#/components/schemas/{name}"
#: What else each kind of request may be answered with.
_STATUSES = {
    400: "The request cannot be read.",
    401: "A key is needed.",
    403: "The key does not allow this.",
    404: "A user or an item is not known.",
    410: "The cursor is of another model.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    421: "Without keys the service answers to this machine alone.",
    422: "Something in the request is not valid.",
    429: "The key asks too often.",
    503: "The service is busy, or ratings cannot be reached.",
}
_USER, _ITEMS = "$response.body#/users/{n}", "$response.body#/items/{n}"
_SAME_USER = {"user": "$request.query.user"}
#: What can be asked with what was answered: operations, and where their parameters come from.
_LINKS: dict[str, dict[str, dict[str, str]]] = {
    "users": {
        "lists_by_address": {"user": _USER.format(n=0)},
        "scores_by_address": {"user": _USER.format(n=1)},
        "store_ratings": {"user": _USER.format(n=2)},
        "similar": {"user": _USER.format(n=3)},
    },
    "items": {
        "compare_by_address": {"first": _ITEMS.format(n=0), "second": _ITEMS.format(n=1)},
        "explain_by_address": {"item": _ITEMS.format(n=2)},
        "similar": {"item": _ITEMS.format(n=3)},
    },
    "lists_by_address": {
        "lists_by_address": {**_SAME_USER, "cursor": "$response.body#/lists/0/cursor"},
        "explain_by_address": {**_SAME_USER, "item": "$response.body#/lists/0/rows/0/item"},
        "compare_by_address": {
            **_SAME_USER,
            "first": "$response.body#/lists/0/rows/0/item",
            "second": "$response.body#/lists/0/rows/1/item",
        },
        "scores_by_address": _SAME_USER,
    },
    "store_ratings": {
        "ratings_of_user": _SAME_USER,
        "lists_by_address": _SAME_USER,
        "delete_ratings": _SAME_USER,
    },
    "ratings_of_user": {"delete_ratings": _SAME_USER},
    "delete_ratings": {"ratings_of_user": _SAME_USER, "lists_by_address": _SAME_USER},
}


def openapi() -> dict[str, Any]:
    """Return the description of all routes.

    Examples
    --------
    >>> sorted(openapi()["paths"]["/v1/ratings"])
    ['delete', 'get', 'put']
    """
    types = [part for each in ENDPOINTS for part in (each.query, each.body, each.answers) if part]
    references, schemas = msgspec.json.schema_components(
        [*types, Problem, Recipe], ref_template=_REFERENCE
    )
    names = {type_: reference["$ref"] for type_, reference in zip(types, references, strict=False)}
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        operation = _operation(endpoint, names, schemas)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    for query in {each.query.__name__ for each in ENDPOINTS if each.query is not None}:
        schemas.pop(query, None)  # queries are parameters
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "dmrank",
            "version": __version__,
            "summary": "Items ranked by several aspects at once.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    endpoint: Endpoint, names: dict[type[Any], str], schemas: dict[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": endpoint.answer.__name__,
        "summary": endpoint.summary,
        "responses": _responses(endpoint, names),
    }
    if endpoint.query is not None:
        operation["parameters"] = _parameters(schemas[endpoint.query.__name__])
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {_JSON: {"schema": {"$ref": names[endpoint.body]}}},
        }
    if endpoint.scope is not None:
        operation["security"] = [{"key": [endpoint.scope]}, {}]
    return operation


def _parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields of a query as parameters; lists are repeated."""
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _in_address(field)}
        for name, field in schema["properties"].items()
    ]


def _in_address(field: dict[str, Any]) -> dict[str, Any]:
    """Return what a field is in an address, where nothing is null."""
    choices = [each for each in field.get("anyOf", []) if each != {"type": "null"}]
    if not choices:
        return field
    rest = {
        name: value
        for name, value in field.items()
        if name != "anyOf" and not (name == "default" and value is None)
    }
    return {**rest, **choices[0]} if len(choices) == 1 else {**rest, "anyOf": choices}


def _responses(endpoint: Endpoint, names: dict[type[Any], str]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": "The answer."}
    if endpoint.answers is not None:
        answer["content"] = {_JSON: {"schema": {"$ref": names[endpoint.answers]}}}
    elif endpoint.path == "/metrics":
        answer["content"] = {"text/plain": {"schema": {"type": "string"}}}
    else:
        answer["content"] = {"application/octet-stream": {}}
        answer["headers"] = {
            "dmrank-recipe": {
                "description": "What the columns are, as JSON.",
                "schema": {"type": "string", "contentMediaType": _JSON},
            }
        }
    if links := _LINKS.get(endpoint.answer.__name__):
        answer["links"] = {
            operation: {"operationId": operation, "parameters": parameters}
            for operation, parameters in links.items()
        }
    problem = {PROBLEM_TYPE: {"schema": {"$ref": _REFERENCE.format(name="Problem")}}}
    others: dict[str, Any] = {
        str(status): {"description": text, "content": problem} for status, text in _STATUSES.items()
    }
    # Said by the server, before anything of ours has seen the request.
    others["414"] = {"description": "The address is longer than 64 kB."}
    return {"200": answer, **others}
