"""What is asked of the service and what it answers: types that are read, written and documented."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

#: The largest requests; beyond, a problem says so.
MOST_BYTES, MOST_USERS, MOST_ITEMS, MOST_CANDIDATES = 1_000_000, 1_000, 1_000, 10_000
#: Rows of all lists of one answer together.
MOST_ROWS = 20_000
_MOST_QUESTIONS, _MOST_ORDERS, _MOST_RATINGS, _LONGEST_CURSOR = 10, 1_000, 1_000, 300

Id: TypeAlias = str | int
Ids: TypeAlias = Annotated[list[Id], Meta(max_length=MOST_CANDIDATES)]
#: In an address, which must not become too long.
FewIds: TypeAlias = Annotated[list[Id], Meta(max_length=MOST_ITEMS)]
Users: TypeAlias = Annotated[list[Id], Meta(min_length=1, max_length=MOST_USERS)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=MOST_ITEMS, description="How many.")]
Share: TypeAlias = Annotated[
    float,
    Meta(
        ge=0,
        le=1,
        description="From 0, who comes to an item, to 1, how it will be liked (Hurdle only).",
    ),
]
#: An aspect, weights of several, or "all" together.
By: TypeAlias = str | dict[str, float]
#: As it stands in an address: aspects, or ASPECT=WEIGHT.
ByText: TypeAlias = Annotated[
    list[str],
    Meta(description="An aspect or ASPECT=WEIGHT; repeat for a mix; all: all together."),
]
#: The lowest and the highest rating of an aspect.
Scale: TypeAlias = Annotated[list[float | None], Meta(min_length=2, max_length=2)]
#: Two items: the first before the second.
Order: TypeAlias = Annotated[list[Id], Meta(min_length=2, max_length=2)]
#: An item and ratings of it, an aspect each.
ItemRatings: TypeAlias = dict[str, str | int | float | None]
Profile: TypeAlias = Annotated[
    list[ItemRatings],
    Meta(
        min_length=1,
        max_length=_MOST_RATINGS,
        description="Ratings of one person: item, and a number for each aspect that was rated.",
    ),
]


class Request(Struct, kw_only=True, forbid_unknown_fields=True):
    """What is asked; a field that is not known is a mistake."""


# Lists.


class _ListOptions(Request, kw_only=True):
    n: Count = 10
    exclude_seen: bool = True
    aspects: Annotated[
        bool,
        Meta(description="What rows are made of: exposure, ratings, contributions, probabilities."),
    ] = True
    preference: Share | None = None
    cursor: Annotated[str, Meta(max_length=_LONGEST_CURSOR)] | None = None
    on_unknown: Literal["raise", "popular"] = "raise"


class ListQuery(_ListOptions, kw_only=True):
    """Lists of one user or several, asked for by an address."""

    user: Users
    by: ByText | None = None
    allow: FewIds | None = None
    block: FewIds | None = None
    candidates: FewIds | None = None


class ListRequest(_ListOptions, kw_only=True):
    """Lists of one user or several."""

    users: Users
    by: By | None = None
    allow: Ids | None = None
    block: Ids | None = None
    candidates: Ids | dict[str, Ids] | None = None


class NewListRequest(_ListOptions, kw_only=True):
    """A list of somebody whose ratings are given and not stored."""

    ratings: Profile
    by: By | None = None
    allow: Ids | None = None
    block: Ids | None = None
    candidates: Ids | None = None


class Row(Struct, gc=False):
    """An item of a list.

    The score is (1 − preference) exposure + the sum of the contributions; without a preference it
    is that sum.
    """

    rank: int
    item: Id
    name: str | None
    score: float
    exposure: float | None = None
    ratings: dict[str, float | None] | None = None
    contributions: dict[str, float] | None = None
    better_than_next: Annotated[
        float | None,
        Meta(description="Probability of being liked better than the next row on this mix."),
    ] = None


class UserList(Struct):
    """The list of one user; not personal: a list of popularity."""

    user: Id | None
    personal: bool
    rows: list[Row]
    cursor: Annotated[str | None, Meta(description="Asks for the rows that follow.")] = None


class Lists(Struct):
    """Lists, and what they were ranked by."""

    model: str
    by: By
    preference: float | None
    lists: list[UserList]


# One user and some items.


class PersonQuery(Request, kw_only=True):
    """A user, asked for by an address."""

    user: Id


class Person(Request, kw_only=True):
    """A user, or the ratings of somebody who is none yet."""

    user: Id | None = None
    ratings: Profile | None = None


class CompareQuery(PersonQuery):
    """Two items."""

    first: Id
    second: Id


class CompareRequest(Person, kw_only=True):
    """Two items."""

    first: Id
    second: Id


class ComparedAspect(Struct):
    """Two items on one aspect; nothing is better in a tie."""

    aspect: str
    better: Id | None
    difference: float
    probability: float | None


class Compared(Struct):
    """The predicted order of two items, aspect by aspect."""

    model: str
    user: Id | None
    first: Id
    second: Id
    names: list[str]
    aspects: list[ComparedAspect]
    direction: Annotated[
        dict[str, float], Meta(description="The differences, as a vector of length 1.")
    ]
    confidence: Annotated[
        float | None, Meta(description="Share of random pairs of which the model is less sure.")
    ]
    sentence: str


class ExplainQuery(PersonQuery):
    """Why an item is recommended."""

    item: Id
    by: ByText | None = None


class ExplainRequest(Person, kw_only=True):
    """Why an item is recommended."""

    item: Id
    by: By | None = None


class ExplainedAspect(Struct):
    """How much an aspect speaks for an item, and what is known of it."""

    aspect: str
    relevance: float | None
    item_mean: float | None
    item_ratings: int | None
    user_mean: float | None
    user_ratings: int | None


class Explained(Struct):
    """Why an item is recommended: the aspects by relevance, and a sentence."""

    model: str
    user: Id | None
    item: Id
    name: str
    by: str
    aspects: list[ExplainedAspect]
    sentence: str


class CompleteRequest(Request, kw_only=True):
    """Ratings with some aspects, of users and items that the model knows."""

    ratings: Profile


class CompletedRow(Struct):
    """A rating with every aspect, and how far off each may be."""

    user: Id
    item: Id
    ratings: dict[str, float | None]
    deviations: dict[str, float | None]


class Completed(Struct):
    """Ratings with every aspect."""

    model: str
    rows: list[CompletedRow]


class SimilarQuery(Request, kw_only=True):
    """What an item, or a user, is like: give one of them."""

    item: Id | None = None
    user: Id | None = None
    n: Count = 10
    by: ByText | None = None


class SimilarRow(Struct):
    """One that is like it."""

    rank: int
    id: Id
    similarity: float
    name: str | None = None


class Similar(Struct):
    """Items, or users, that are like one."""

    model: str
    rows: list[SimilarRow]


class WeightsRequest(Person, kw_only=True):
    """Orders that a list is to have: of each pair the first before the second."""

    orders: Annotated[list[Order], Meta(min_length=1, max_length=_MOST_ORDERS)]
    by: By | None = None
    preference: Share | None = None


class Weights(Struct):
    """The mix nearest to the one given that has the orders, or the orders that prevent it."""

    model: str
    weights: dict[str, float] | None
    change: float | None
    prevented_by: list[Order]


# What there is.


class QuestionsQuery(Request, kw_only=True):
    """How many items to ask a newcomer about."""

    n: Annotated[int, Meta(ge=1, le=_MOST_QUESTIONS)] = 5


class Question(Struct):
    """An item that many have rated."""

    item: Id
    name: str | None
    ratings: int


class Questions(Struct):
    """Items whose ratings tell most about a newcomer."""

    model: str
    questions: list[Question]


class ScoresRequest(Request, kw_only=True):
    """Ratings of somebody who is no user yet."""

    ratings: Profile


class Recipe(Struct):
    """What the columns of scores are, and what list scores are made of."""

    model: str
    items: int
    columns: list[str]
    preference: float | None


class UsersQuery(Request, kw_only=True):
    """Users whose ids begin in some way."""

    prefix: str = ""
    n: Count = 20


class FoundUsers(Struct):
    """Some users, in the order of their ids."""

    model: str
    users: list[Id]


class Nothing(Request, kw_only=True):
    """Nothing needs to be asked."""


class Items(Struct):
    """All items, in the order of the rows of scores."""

    model: str
    items: list[Id]
    names: list[str] | None
    ratings: list[int]


class About(Struct):
    """The model that answers."""

    model: str
    kind: str
    parameters: dict[str, Any]
    users: int
    items: int
    ratings: Annotated[int, Meta(description="Of how many the model knows who gave them.")]
    aspects: list[str]
    primary_aspect: str
    scale: dict[str, Scale]
    id_types: dict[str, str]
    named: bool
    preference: float | None
    fingerprint: str
    first_rating: Annotated[
        str | None, Meta(description="When it was given, of the ratings that were learned from.")
    ]
    last_rating: str | None
    saved: str
    loaded: str
    library: str
    stores_ratings: bool
    needs_key: bool
    can: dict[str, bool]
    limits: dict[str, int]


class Health(Struct):
    """Whether the service runs, or can answer."""

    status: Literal["live", "ready"]
    model: str | None = None


# Stored ratings.


class RatingsQuery(Request, kw_only=True):
    """Whose ratings, and of one item alone if it is given."""

    user: Id
    item: Id | None = None


class StoreRequest(Request, kw_only=True):
    """Ratings to be kept; one of the same item takes the place of the old one."""

    ratings: Profile


class Stored(Struct):
    """How many ratings were written."""

    user: Id
    stored: int


class StoredRating(Struct):
    """A rating that is kept."""

    item: Id
    ratings: dict[str, float]
    time: str


class StoredRatings(Struct):
    """All ratings that are kept of a user."""

    user: Id
    ratings: list[StoredRating]


class Deleted(Struct):
    """How many ratings were deleted."""

    user: Id
    deleted: int


class Problem(Struct, omit_defaults=True):
    """What was wrong, in the form of RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    instance: str = ""
