"""Every route of the service: its question, its answer and who may ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from dmrank.service import messages as m
from dmrank.service.endpoints import catalogue, health, items, lists, ratings
from dmrank.service.keys import Scope

Method = Literal["GET", "POST", "PUT", "DELETE"]


class Endpoint(NamedTuple):
    """A question that can be asked.

    Attributes
    ----------
    method, path : str
        How it is asked.
    answer : callable
        Takes the service, then what was asked in the address and in the body, if there is any.
    query, body : type or None
        What is asked in the address, and in the body.
    answers : type or None
        What is answered in JSON; None: something else.
    scope : str or None
        What a key must allow; None: no key is needed.
    """

    method: Method
    path: str
    answer: Callable[..., Awaitable[Any]]
    query: type[m.Request] | None
    body: type[m.Request] | None
    answers: type[Any] | None
    scope: Scope | None = "read"

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (self.answer.__doc__ or "").partition("\n")[0]


def _get(
    path: str,
    answer: Callable[..., Awaitable[Any]],
    query: type[m.Request],
    answers: type[Any] | None,
    scope: Scope | None = "read",
) -> Endpoint:
    return Endpoint("GET", path, answer, query, None, answers, scope)


def _post(
    path: str,
    answer: Callable[..., Awaitable[Any]],
    body: type[m.Request],
    answers: type[Any] | None,
) -> Endpoint:
    return Endpoint("POST", path, answer, None, body, answers)


ENDPOINTS = (
    _get("/v1/recommend", lists.lists_by_address, m.ListQuery, m.Lists),
    _post("/v1/recommend", lists.lists, m.ListRequest, m.Lists),
    _post("/v1/recommend/new", lists.list_of_newcomer, m.NewListRequest, m.Lists),
    _get("/v1/compare", items.compare_by_address, m.CompareQuery, m.Compared),
    _post("/v1/compare", items.compare, m.CompareRequest, m.Compared),
    _get("/v1/explain", items.explain_by_address, m.ExplainQuery, m.Explained),
    _post("/v1/explain", items.explain, m.ExplainRequest, m.Explained),
    _post("/v1/complete", items.complete, m.CompleteRequest, m.Completed),
    _get("/v1/similar", items.similar, m.SimilarQuery, m.Similar),
    _post("/v1/weights", items.weights, m.WeightsRequest, m.Weights),
    _get("/v1/questions", catalogue.questions, m.QuestionsQuery, m.Questions),
    _get("/v1/scores", catalogue.scores_by_address, m.PersonQuery, None),
    _post("/v1/scores", catalogue.scores, m.ScoresRequest, None),
    _get("/v1/users", catalogue.users, m.UsersQuery, m.FoundUsers),
    _get("/v1/items", catalogue.items, m.Nothing, m.Items),
    _get("/v1/model", catalogue.about, m.Nothing, m.About),
    _get("/v1/ratings", ratings.ratings_of_user, m.RatingsQuery, m.StoredRatings),
    Endpoint(
        "PUT", "/v1/ratings", ratings.store_ratings, m.RatingsQuery, m.StoreRequest, m.Stored,
        "write",
    ),
    Endpoint(
        "DELETE", "/v1/ratings", ratings.delete_ratings, m.RatingsQuery, None, m.Deleted, "write"
    ),
    _get("/metrics", health.counted, m.Nothing, None, "admin"),
    _get("/health/live", health.live, m.Nothing, m.Health, None),
    _get("/health/ready", health.ready, m.Nothing, m.Health, None),
)  # fmt: skip
