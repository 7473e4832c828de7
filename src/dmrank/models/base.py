"""Model: every public method, and one line that calls the function that answers it.

What a model of one's own implements is in `fitted.contract`; what answers do is in `answers`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, overload

import numpy as np
import polars as pl

from dmrank.answers.card.card import Card, card_path
from dmrank.answers.card.facts import card_facts
from dmrank.answers.compare import Comparison, compare
from dmrank.answers.complete import complete
from dmrank.answers.correlation import correlation
from dmrank.answers.explain import Explanation, explain
from dmrank.answers.fold_in.folding import fold_in
from dmrank.answers.index import ApproximateIndex
from dmrank.answers.lists import Candidates, OnUnknown
from dmrank.answers.nearest_mix import NearestMix, nearest_mix
from dmrank.answers.plot import plot_comparison, plot_correlation, plot_profile
from dmrank.answers.predict import find_pairs, predicted_array, predicted_table
from dmrank.answers.questions import questions
from dmrank.answers.recommend import ListRequest, recommend, recommend_blocks
from dmrank.answers.similar import similar_items, similar_users
from dmrank.answers.vectors import ExportedVectors, vectors
from dmrank.data.ids import Id, Ids
from dmrank.data.ratings import Ratings, Side
from dmrank.data.rows import has_rows
from dmrank.fitted.cache import Cache
from dmrank.fitted.calibrating import calibrate_model
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import By, FittedModel
from dmrank.fitted.evidence import Evidence
from dmrank.fitted.files import read_model, write_model
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.record import FitRecord
from dmrank.fitted.warm_start import SHAPES, WarmStart
from dmrank.metrics import parse_metric
from dmrank.models.config import Config, make_config
from dmrank.support.arrays import Float32s, Floats
from dmrank.support.errors import ConfigError, DataError, ModelFileError, UnsupportedError
from dmrank.support.layouts import checked_arrays
from dmrank.support.metadata import A_MODEL, unreadable
from dmrank.support.progress import say
from dmrank.support.shown import html
from dmrank.support.workers import current_workers
from dmrank.training.history import History
from dmrank.training.validation import Validator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Within the class, `Config` is that of the model.
_Config: TypeAlias = Config


class Model(FittedModel):
    """A model that ranks items by any aspect.

    Parameters are those of the class's `Config`, given by name. The hooks of a model of one's own
    are those of `dmrank.fitted.contract.FittedModel`; docs/models.md has an example.

    Attributes
    ----------
    config : Config
        The parameters.
    given : dict
        Those of them that were given, as they were given.
    history : History
        Objective and validation value at each evaluation of the last fit.
    """

    Config: ClassVar[type[Config]]
    #: Whether the fit itself uses the workers of a cluster; others run as a whole, on one of them
    #: where they are members of a model.
    spreads_its_fit: ClassVar[bool] = False
    config: _Config
    given: dict[str, Any]
    _registry: ClassVar[dict[str, type[Model]]] = {}

    def __init__(self, **parameters: Any) -> None:
        self.config = make_config(self.Config, parameters)
        self.given = dict(parameters)
        self._forget()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Model._registry[cls.__name__] = cls
        if "Config" in vars(cls):
            # So that help() and editors show every parameter with its default.
            cls.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
                [
                    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default)
                    for name, field in cls.Config.model_fields.items()
                ]
            )

    # Parameters, as in scikit-learn.

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return all parameters by name.

        Examples
        --------
        >>> from dmrank import ItemMean
        >>> ItemMean(shrinkage=2).get_params()["shrinkage"]
        2
        """
        defaults = {name: field.default for name, field in self.Config.model_fields.items()}
        return {**defaults, **self.given}

    def set_params(self, **parameters: Any) -> Self:
        """Change parameters; what was fitted before is forgotten.

        Examples
        --------
        >>> from dmrank import ItemMean
        >>> ItemMean().set_params(shrinkage=2)
        ItemMean(shrinkage=2)
        """
        type(self).__init__(self, **{**self.given, **parameters})
        return self

    def clone(self) -> Self:
        """Return an unfitted model with the same parameters.

        Examples
        --------
        >>> from dmrank import ItemMean
        >>> ItemMean(shrinkage=2).clone()
        ItemMean(shrinkage=2)
        """
        return type(self)(**self.given)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"{type(self).__name__}({given})"

    def _repr_html_(self) -> str:
        parameters = self.get_params()
        table = pl.DataFrame(
            {"parameter": list(parameters), "value": [repr(value) for value in parameters.values()]}
        )
        return html(f"{self!r}, {self._fitted_on()}", table)

    def _fitted_on(self) -> str:
        """Return in words what the model knows."""
        if self._catalogue is None:
            return "not fitted"
        users, items = len(self._catalogue.users), len(self._catalogue.items)
        return (
            f"fitted on {users:,} users × {items:,} items × {len(self._catalogue.aspects)} aspects"
        )

    @property
    def users(self) -> Ids:
        """The ids of the users that the model knows.

        Examples
        --------
        >>> from dmrank import ItemMean, make_ratings
        >>> ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings).users[:2].to_list()
        ['u000000', 'u000001']
        """
        return self.catalogue.users

    @property
    def items(self) -> Ids:
        """The ids of the items that the model knows; see `users`.

        Examples
        --------
        >>> from dmrank import ItemMean, make_ratings
        >>> len(ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings).items)
        20
        """
        return self.catalogue.items

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that the model ranks by.

        Examples
        --------
        >>> from dmrank import ItemMean, make_ratings
        >>> ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings).aspects[:2]
        ('overall', 'sleep_quality')
        """
        return self.catalogue.aspects

    # Fitting and files.

    def fit(
        self,
        ratings: Ratings,
        validation: Ratings | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callable[[History], None] | None = None,
        start: Model | None = None,
    ) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        ratings : Ratings
            Training ratings.
        validation : Ratings, optional
            Held-out ratings for early stopping and calibration; without it every iteration is run.
        checkpoint : path, optional
            A folder in which the state is saved at intervals. A fit that was killed goes on from
            there and ends with the same bits.
        callback : callable, optional
            Called with the history after each evaluation; what it raises ends the training.
        start : Model, optional
            A fitted model of the same kind and parameters from which training goes on: users and
            items that it knows keep their factors, others start afresh (DMR and MBPR).

        Examples
        --------
        >>> from dmrank import MBPR, make_ratings
        >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
        >>> model = MBPR(iterations=100, evaluate_every=50, seed=1)
        >>> model.fit(split.train, validation=split.validation).history.iterations
        [50, 100]
        """
        _check_trainable(ratings)
        fitting = Fitting(
            ratings,
            None if validation is None else self._validator(ratings, validation),
            checkpoint,
            callback,
            None if start is None else self._warm_start(start, ratings),
            validation,
        )
        self._forget()
        evidence = Evidence.from_ratings(ratings)
        self._catalogue = Catalogue.from_ratings(ratings, evidence)
        if current_workers() is not None and not self.spreads_its_fit:
            say(f"{type(self).__name__} is fitted on one machine, this one; all else is spread")
        try:
            self.learn(fitting)
            validated = self.validation_record(fitting)
            if validated is not None and not self.history.iterations:
                # A model without iterations is judged once.
                value = float("nan") if validated.value is None else validated.value
                self.history.add(1, float("nan"), value)
                if callback is not None:
                    callback(self.history)
            self.calibration = self._calibrated(fitting)
            self.record = FitRecord.from_fit(ratings, self.history, validated)
            evidence.finish()
        except BaseException as error:
            self._catalogue = None
            if isinstance(error, MemoryError):
                raise ConfigError(
                    f"{self!r} needs more memory than there is ({error}): try smaller parameters, "
                    "or fewer users and items (k_core)"
                ) from None
            raise
        return self

    def save(self, path: str | os.PathLike[str], *, card: bool = False) -> Path:
        """Write the model into one file, whole or not at all.

        Parameters
        ----------
        path : path
            The file.
        card : bool
            Also write the model's card beside it: `hotels.md` beside `hotels.dmrank`.

        Examples
        --------
        >>> import tempfile
        >>> from dmrank import ItemMean, load, make_ratings
        >>> model = ItemMean(shrinkage=2).fit(make_ratings(50, 20, 500, seed=1).ratings)
        >>> load(model.save(Path(tempfile.mkdtemp()) / "means.dmrank")).config.shrinkage
        2.0
        """
        written = write_model(self, self.config.model_dump(mode="json"), path)
        if card:
            self.card(file=written.name).write(card_path(written))
        return written

    def card(
        self,
        name: str | None = None,
        *,
        license: str | None = None,  # noqa: A002 (as hubs call it)
        file: str | None = None,
    ) -> Card:
        """Describe the model for whoever gets it: a model card.

        What it was trained on (counts, scale, missing shares, fingerprint, dates), parameters,
        validation figures, calibration, and whom it serves badly: users by the number of their
        ratings, and the share of items that are ever listed. Of a model from a file of an older
        version, the card says what it cannot know.

        Parameters
        ----------
        name : str, optional
            What the model is called; by default the name of its class.
        license : str, optional
            Such as ``"apache-2.0"``, for the head that model hubs read.
        file : str, optional
            The name of the model file, for the lines that load it.

        Examples
        --------
        >>> from dmrank import ItemMean, make_ratings
        >>> card = ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings).card()
        >>> card.facts["coverage"]["share"]
        1.0
        >>> print(card.facts["not_known"][0])
        how well it ranks: no validation ratings were given to fit
        """
        parameters = self.config.model_dump(mode="json")
        return Card(name or type(self).__name__, card_facts(self, parameters, file), license)

    # Answers.

    @overload
    def predict(
        self,
        users: Id | Sequence[Id],
        items: Id | Sequence[Id],
        *,
        raw: bool = False,
        table: Literal[False] = False,
    ) -> Float32s: ...

    @overload
    def predict(
        self,
        users: Id | Sequence[Id],
        items: Id | Sequence[Id],
        *,
        raw: bool = False,
        table: Literal[True],
    ) -> pl.DataFrame: ...

    def predict(
        self,
        users: Id | Sequence[Id],
        items: Id | Sequence[Id],
        *,
        raw: bool = False,
        table: bool = False,
    ) -> Float32s | pl.DataFrame:
        """Predict the ratings of (user, item) pairs.

        Parameters
        ----------
        users, items : str or int, or sequence of them
            Ids, pair by pair; a single id goes with every id of the other.
        raw : bool
            Return the scores that rank, instead of ratings on the scale of the training ratings.
        table : bool
            Return a table, with the ids, instead of an array.

        Returns
        -------
        float32 array or polars.DataFrame
            One row per pair, one column per aspect; of a table, after the columns user and item.

        Examples
        --------
        >>> from dmrank import ItemMean, make_ratings
        >>> model = ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings)
        >>> model.predict("u000003", ["h000001", "h000002"]).shape
        (2, 8)
        >>> model.predict("u000003", ["h000001", "h000002"], table=True).columns[:3]
        ['user', 'item', 'overall']
        """
        asked = find_pairs(self, users, items)
        return predicted_table(self, asked, raw) if table else predicted_array(self, asked, raw)

    def recommend(
        self,
        users: Id | Iterable[Id],
        n: int = 10,
        *,
        by: By = None,
        exclude_seen: bool = True,
        allow: Iterable[Id] | None = None,
        block: Iterable[Id] | None = None,
        candidates: Candidates | None = None,
        aspects: bool = False,
        on_unknown: OnUnknown = "raise",
        preference: float | None = None,
    ) -> pl.DataFrame:
        """Rank items for users.

        Items without a training rating are never listed: the model knows nothing of them. Where
        filters leave fewer than n items, the list is shorter; where they leave none, the user has
        no rows. An id that is repeated in a filter counts once; a user who is repeated gets the
        list again.

        Parameters
        ----------
        users : str or int, or iterable of them
            User ids.
        n : int
            Length of each list.
        by : str or mapping of str to float, optional
            The aspect to rank by, or a mix such as ``{"value": 2, "service": 1}``; by default the
            primary aspect. ``"all"`` respects all aspects together: it ranks by the probability
            that the user would rate the item higher than any item of the catalogue on every aspect
            at once, among the 200 items that are best by the mean of the aspects (an aspect that
            is itself called all is meant by its name).
        exclude_seen : bool
            Leave out what the user rated in training, whatever the other filters say.
        allow, block : iterable of str or int, optional
            Items: only those of `allow`, and none of `block`, are listed.
        candidates : iterable of ids, or mapping of user id to item ids, optional
            Items to be ranked, the same for all users or by user: the second stage of a two-stage
            system. Other filters apply to them as well.
        aspects : bool
            Add a column per aspect with the predicted rating.
        on_unknown : {"raise", "popular"}
            What to do about a user without a training rating: raise `UnknownUserError`, or rank by
            the sum of all ratings on the aspects of `by`, and show the items' mean ratings.
        preference : float, optional
            Of a `Hurdle`: from 0, rank by who comes to an item, to 1, by how it will be liked; by
            default what held-out lists bear. Given candidates are ranked by how they will be
            liked, unless it is given.

        Returns
        -------
        polars.DataFrame
            Columns user, rank (from 1), item, score; item_name if the ratings had names; personal
            if `on_unknown` is "popular": false where the list is one of popularity; and the aspects
            on request (one called like another column gets the ending _rating).

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(200, 50, 4_000, seed=1).ratings
        >>> model = dmrank.ItemMean().fit(ratings)
        >>> model.recommend("u000003", n=2, by={"value": 2, "service": 1}, aspects=True).columns[:6]
        ['user', 'rank', 'item', 'score', 'item_name', 'overall']
        >>> model.recommend("u000003", candidates=["h000001", "h000002"], exclude_seen=False).shape
        (2, 5)
        >>> model.recommend("nobody", n=3, on_unknown="popular")["personal"].to_list()
        [False, False, False]
        """
        request = ListRequest(
            n, by, exclude_seen, allow, block, candidates, aspects, on_unknown, preference
        )
        return recommend(self, users, request)

    def recommend_blocks(
        self,
        users: Id | Iterable[Id],
        n: int = 10,
        *,
        users_per_block: int = 16_384,
        **options: Any,
    ) -> Iterator[pl.DataFrame]:
        """Rank items for many users, and hand the lists over block by block.

        Memory does not grow with the number of users.

        Parameters
        ----------
        users, n, **options
            As for `recommend`.
        users_per_block : int
            How many users' lists make a block.

        Yields
        ------
        polars.DataFrame
            The lists of some users, in the order of `users`.

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(200, 300, 4_000, seed=1).ratings
        >>> model = dmrank.ItemMean().fit(ratings)
        >>> blocks = model.recommend_blocks(ratings.users, n=5, by="value", users_per_block=80)
        >>> [len(lists) for lists in blocks]
        [400, 400, 200]
        """
        return recommend_blocks(self, users, users_per_block, ListRequest(n, **options))

    def compare(self, user: Id, first: Id, second: Id, *, pairs: int = 1_000) -> Comparison:
        """Say which of two items a user will rate higher on each aspect, and how sure that is.

        The probability of an order is that of the calibrated model. The confidence in the whole
        comparison is the line integral of the density along the predicted direction (paper 4.3),
        as a share of random pairs, because the integral itself has no readable unit. A model
        without a covariance (all but Hurdle, MixedEffects and DMR) gives orders and differences
        only.

        Parameters
        ----------
        user, first, second : str or int
            Ids; the items may be known to the user or not.
        pairs : int
            Number of random pairs that the confidence is compared with; seeded.

        Returns
        -------
        Comparison
            With `table` and `confidence`.

        Examples
        --------
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> compared = model.compare("u000003", "h000001", "h000002")
        >>> compared.table.columns
        ['aspect', 'better', 'difference', 'probability']
        >>> 0 <= compared.confidence <= 1
        True
        """
        return compare(self, user, first, second, pairs=pairs)

    def explain(
        self,
        user: Id,
        item: Id,
        by: By = None,
        *,
        template: str | None = None,
        language: str = "en",
        names: Mapping[str, str] | None = None,
    ) -> Explanation:
        """Say which aspects speak for an item when a user's list is ranked by an aspect.

        The aspects are those that matter most for the ranking by the model's own measure: in DMR
        the most correlated with it in Σ_ui (paper 4.5), in MTER the highest predicted ratings, in
        EFM half attention, half quality.

        Parameters
        ----------
        user, item : str or int
            Ids.
        by : str or mapping of str to float, optional
            The aspect or mix that ranks; by default the primary aspect.
        template : str, optional
            The sentence, with any of {item}, {user}, {by}, {first} and {second} (the two most
            relevant aspects) and {aspects}: both, joined by "and", or by what the template says, as
            in ``{aspects: und }``.
        language : str
            Of the built-in template; there is "en".
        names : mapping of str to str, optional
            What aspects are called in the sentence.

        Returns
        -------
        Explanation
            With `table` and `sentence`.

        Examples
        --------
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> german = "Wir empfehlen {item}: {aspects: und }."
        >>> why = model.explain("u000003", "h000001", by="value", template=german)
        >>> why.table.columns[:4]
        ['aspect', 'relevance', 'item_mean', 'item_ratings']
        """
        return explain(self, user, item, by, template=template, language=language, names=names)

    def correlation(self, user: Id, item: Id) -> Floats:
        """Return the correlation of the aspects in the user's rating of the item, K × K.

        In DMR it is that of Σ_ui = λ Σ_u + (1−λ) Σ_i. A model without covariances raises
        `UnsupportedError`.

        Examples
        --------
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> model.correlation("u000003", "h000001").shape
        (8, 8)
        """
        return correlation(self, user, item)

    def complete(self, partial_ratings: object) -> pl.DataFrame:
        """Predict the missing aspects of ratings from the given ones, and how far off that may be.

        A rating vector is taken as N(r̂_ui, Σ_ui), both calibrated; what is returned for a missing
        aspect is its conditional mean and standard deviation, given the others. In the student
        family the mean is exact and the deviation that of a normal distribution with the same
        covariance.

        Parameters
        ----------
        partial_ratings : Ratings or table
            With user, item and any of the aspects, null where not given. A table is a polars,
            pandas or Arrow one, a list of dicts, or a file.

        Returns
        -------
        polars.DataFrame
            A row per given row, in the same order: user, item, every aspect (a given one as it
            was), and for each its standard deviation, named like `service_sd`, 0 if it was given.

        Examples
        --------
        >>> import polars as pl
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> asked = pl.DataFrame({"user": "u000003", "item": "h000001", "overall": [1.0, 5.0]})
        >>> bad, good = model.complete(asked)["rooms"]
        >>> bad < good
        True
        """
        return complete(self, partial_ratings)

    def nearest_mix(
        self, user: Id, orders: Iterable[tuple[Id, Id]], *, by: By = None
    ) -> NearestMix:
        """Find the mix of aspects nearest to a given one by which items are in a wanted order.

        Parameters
        ----------
        user : str or int
            Whose list.
        orders : iterable of pairs
            (A, B): A is to stand before B.
        by : str or mapping of str to float, optional
            The aspect, or mix of aspects, to start from; by default the primary aspect.

        Returns
        -------
        NearestMix
            Its `weights` are what `recommend` takes as ``by``. If no mix has this order, they are
            None, and `prevented_by` has some of the orders, of which none has all.

        Examples
        --------
        >>> import dmrank
        >>> users, items = ["a", "a", "b", "b"], ["x", "y", "x", "y"]
        >>> values = [[5, 2], [4, 5], [5, 1], [3, 4]]
        >>> ratings = dmrank.Ratings.from_arrays(users, items, values, aspects=["room", "view"])
        >>> model = dmrank.ItemMean().fit(ratings)
        >>> found = model.nearest_mix("a", [("y", "x")], by="room")
        >>> {name: round(weight, 2) for name, weight in found.weights.items()}
        {'room': 0.5, 'view': 0.5}
        >>> model.recommend("a", by=found.weights, exclude_seen=False)["item"].to_list()
        ['y', 'x']
        """
        return nearest_mix(self, user, orders, by)

    def questions(self, n: int = 10, *, by: By = None) -> pl.DataFrame:
        """Choose items whose ratings tell most about a newcomer.

        The most rated item, then each time the one that is least like those before it in the
        scores of users, out of the 10n most rated: people know them, and answer differently. What
        a newcomer says of them is folded in by `fold_in`.

        Parameters
        ----------
        n : int
            How many; fewer where there are not so many items.
        by : str or mapping of str to float, optional
            The aspect, or mix of aspects, by which items are compared; by default the primary one.

        Returns
        -------
        polars.DataFrame
            Columns item, ratings (how many it has), and item_name if the ratings had names.

        Examples
        --------
        >>> import dmrank
        >>> model = dmrank.IALS(factors=8).fit(dmrank.make_ratings(200, 50, 4_000, seed=1).ratings)
        >>> model.questions(3).columns
        ['item', 'ratings', 'item_name']
        """
        return questions(self, n, by)

    def similar_items(self, item: Id, n: int = 10, *, by: By = None) -> pl.DataFrame:
        """Find the items that users score most like this one.

        The profile of an item are its scores for a sample of users, less each user's mean score
        over all items (whose level a ranking leaves open). Similarity is the cosine of two
        profiles; equal cosines are ordered by the distance of the profiles. A model with the same
        list for everybody knows only better and worse: its cosines are 1 and −1, and the items
        nearest in score come first. The sample is seeded.

        Parameters
        ----------
        item : str or int
            Item id.
        n : int
            How many to find; fewer where there are not so many. Items without a training rating
            are not among them.
        by : str or mapping of str to float, optional
            The aspect, or mix of aspects, that is scored; by default the primary aspect.

        Returns
        -------
        polars.DataFrame
            Columns rank (from 1), item, similarity (from −1 to 1), and item_name if the ratings
            had names.

        Examples
        --------
        >>> import dmrank
        >>> users, items = ["a", "a", "b", "b", "c", "c"], ["x", "y", "x", "y", "v", "w"]
        >>> ratings = dmrank.Ratings.from_arrays(users, items, [[5]] * 6, aspects=["r"])
        >>> dmrank.IALS(factors=2).fit(ratings).similar_items("x", n=1)["item"].to_list()
        ['y']
        """
        return similar_items(self, item, n, by)

    def similar_users(self, user: Id, n: int = 10, *, by: By = None) -> pl.DataFrame:
        """Find the users whose scores of items are most like this one's.

        The profile of a user are the scores of a sample of items, less the user's mean score;
        similarity is the cosine of two profiles. A model with the same list for everybody finds
        all users alike.

        Parameters
        ----------
        user : str or int
            User id.
        n : int
            How many to find; fewer where there are not so many. Users without a training rating
            are not among them.
        by : str or mapping of str to float, optional
            The aspect, or mix of aspects, that is scored; by default the primary aspect.

        Returns
        -------
        polars.DataFrame
            Columns rank (from 1), user, and similarity (from −1 to 1).

        Examples
        --------
        >>> import dmrank
        >>> users, items = ["a", "a", "b", "b", "c", "c"], ["x", "y", "x", "y", "v", "w"]
        >>> ratings = dmrank.Ratings.from_arrays(users, items, [[5]] * 6, aspects=["r"])
        >>> dmrank.IALS(factors=2).fit(ratings).similar_users("a", n=1)["user"].to_list()
        ['b']
        """
        return similar_users(self, user, n, by)

    def fold_in(self, new_ratings: object, *, of: Side = "users") -> Self:
        """Return a model that knows new ratings as well; this one stays as it is.

        Factors (and covariance) of the users in question are estimated with everything else held,
        in milliseconds. What they rated is no longer recommended to them. A user who was known
        keeps the old ratings; as a model does not store their values, it takes what it predicts
        for them. A new rating of what the user had rated before takes the place of the old one;
        only the means that explanations show keep what they were made of. To learn from many new
        ratings for good, use ``fit(ratings, start=model)``.

        Parameters
        ----------
        new_ratings : Ratings or table
            With user, item and any of the aspects. A table is a polars, pandas or Arrow one, a list
            of dicts, or a file. Of a repeated (user, item) the last row counts.
        of : {"users", "items"}
            Whose ratings they are: of new or known users, on items that are known; or of new or
            known items, by users who are known.

        Returns
        -------
        Model
            It shares everything that did not change with this model.

        Examples
        --------
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> first = [{"user": "new", "item": "h000001", "overall": 5}]
        >>> model.fold_in(first).recommend("new", n=3).height
        3
        >>> "new" in model.users
        False
        """
        return fold_in(self, new_ratings, of)

    def vectors(self, by: By = None) -> ExportedVectors:
        """Return vectors of users and items whose dot product is the score for a mix of aspects.

        A vector store that searches by inner product then ranks as `recommend` does.

        Parameters
        ----------
        by : str or mapping of str to float, optional
            The aspect to rank by, or a mix; by default the primary aspect.

        Raises
        ------
        UnsupportedError
            If the scores of the model are no dot products (EASE, SPSMTL).

        Examples
        --------
        >>> import dmrank
        >>> ratings = dmrank.make_ratings(100, 30, 2_000, seed=1).ratings
        >>> vectors = dmrank.MBPR(factors=4, iterations=50, seed=1).fit(ratings).vectors("value")
        >>> users, items = vectors
        >>> items.shape == (30, users.shape[1])
        True
        >>> vectors.item_table().columns
        ['item', 'vector']
        """
        return vectors(self, by)

    def index(
        self, by: By = None, *, clusters: int | None = None, probes: int | None = None
    ) -> ApproximateIndex:
        """Build an index that finds most of the best items without scoring every item.

        See `ApproximateIndex`, whose parameters these are.

        Examples
        --------
        >>> from dmrank import IALS, make_ratings
        >>> model = IALS(factors=4).fit(make_ratings(100, 80, 2_000, seed=1).ratings)
        >>> model.index(probes=12).recommend("u000003", n=3).height
        3
        """
        return ApproximateIndex(self, by=by, clusters=clusters, probes=probes)

    # Pictures.

    def plot_profile(self, user: Id, item: Id, *, ax: Axes | None = None) -> Figure:
        """Draw the predicted ratings of an item beside what the user gives on average.

        Parameters
        ----------
        user, item : str or int
            Ids.
        ax : matplotlib Axes, optional
            Where to draw; by default in a figure of its own.

        Examples
        --------
        >>> import dmrank
        >>> model = dmrank.ItemMean().fit(dmrank.make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> drawn = model.plot_profile("u000003", "h000001")
        >>> drawn.savefig("profile.png")  # doctest: +SKIP
        """
        return plot_profile(self, user, item, ax)

    def plot_correlation(
        self, user: Id, item: Id | None = None, *, ax: Axes | None = None
    ) -> Figure:
        """Draw how the aspects of a user's ratings go together, as a heat map.

        Parameters
        ----------
        user : str or int
            Id.
        item : str or int, optional
            Of the rating of this item, that is of Σ_ui; by default averaged over what the user
            rated in training.
        ax : matplotlib Axes, optional
            Where to draw; by default in a figure of its own.

        Examples
        --------
        >>> from dmrank import MixedEffects, make_ratings
        >>> model = MixedEffects().fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> drawn = model.plot_correlation("u000003")
        >>> drawn.savefig("correlation.png")  # doctest: +SKIP
        """
        return plot_correlation(self, user, item, ax)

    def plot_comparison(
        self,
        user: Id,
        first: Id,
        second: Id,
        aspects: tuple[str, str] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the predicted difference of two items on two aspects, as in the paper's Figure 2.

        Ellipses are the density of the difference, first item minus second, in ratings; the ray
        is the predicted direction, and the area on it how sure that is.

        Parameters
        ----------
        user, first, second : str or int
            Ids.
        aspects : pair of str, optional
            By default the two that differ most.
        ax : matplotlib Axes, optional
            Where to draw; by default in a figure of its own.

        Examples
        --------
        >>> from dmrank import MixedEffects, make_ratings
        >>> model = MixedEffects().fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> drawn = model.plot_comparison("u000003", "h000001", "h000002", ("value", "service"))
        >>> drawn.savefig("comparison.png")  # doctest: +SKIP
        """
        return plot_comparison(self, user, first, second, aspects, ax)

    # What fitting needs.

    def settled(self) -> dict[str, Any]:
        """Return parameters that validation has chosen, for a fit on everything."""
        return {}

    def _calibrated(self, fitting: Fitting) -> Calibration:
        return calibrate_model(self, fitting.ratings, fitting.validation)

    def _forget(self) -> None:
        self._catalogue = None
        self.arrays, self.history, self.cache = {}, History(), Cache()
        self.record = FitRecord()

    def _validator(self, train: Ratings, validation: Ratings) -> Validator:
        config = self.config
        metric = parse_metric(config.validation_metric)
        return Validator(train, validation, metric, config.validation_users, config.seed)

    def _warm_start(self, start: Model, ratings: Ratings) -> WarmStart:
        if not self.can_warm_start:
            raise UnsupportedError(
                f"{type(self).__name__} cannot go on from a model: leave start out"
            )
        if type(start) is not type(self):
            raise ConfigError(
                f"start is a {type(start).__name__}, not a {type(self).__name__}: factors of "
                "another kind of model mean something else"
            )
        for name in SHAPES:
            ours, theirs = getattr(self.config, name, None), getattr(start.config, name, None)
            if ours != theirs:
                raise ConfigError(
                    f"start has {name}={theirs!r}, not {ours!r}: give this model the same"
                )
        catalogue = start.catalogue
        known = {**start.arrays, **start.calibration.to_arrays()}
        return WarmStart.from_model(catalogue, known, ratings)

    @classmethod
    def registry(cls) -> dict[str, type[Model]]:
        """Return every model that was imported, by the name of its class."""
        return dict(cls._registry)

    @classmethod
    def named(cls, name: str) -> type[Model] | None:
        """Return the class of a model by the name in its file; None: it was never imported."""
        return cls._registry.get(name)


def load(path: str | os.PathLike[str], *, mapped: bool = True) -> Model:
    """Open a model that was saved; its arrays are mapped from the file, not read.

    The model is read-only and can be asked from many threads. Each array is checked when it is
    first used: a file that is damaged raises `ModelFileError`, now or then; ``dmrank check`` looks
    at all of them.

    Parameters
    ----------
    path : path
        The file.
    mapped : bool
        False: read and check everything now, into memory of this process. A mapped file may be
        replaced by another (as `save` does) or deleted while it is in use, but must not be cut
        short or written into: the operating system ends a process that then reads it (SIGBUS).

    Examples
    --------
    >>> import tempfile
    >>> from dmrank import ItemMean, make_ratings
    >>> model = ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings)
    >>> opened = load(model.save(Path(tempfile.mkdtemp()) / "means.dmrank"))
    >>> opened.recommend("u000003", n=3).equals(model.recommend("u000003", n=3))
    True
    """
    saved = read_model(path, mapped=mapped)
    kind = Model.named(saved.kind)
    if kind is None:
        raise ModelFileError(
            f"{path} holds the model {saved.kind!r}, which is not known: import the "
            "module that defines it first"
        )
    try:
        model = kind(**{**kind.Config.before, **saved.config})
        layout = model.layout(saved.sizes)
    except (ConfigError, TypeError, ValueError) as error:
        raise unreadable(path, A_MODEL, error) from None
    arrays = saved.arrays if layout is None else checked_arrays(saved.arrays, layout, path)
    if not mapped:
        arrays.make_all()
    opened = model.with_state(saved.catalogue, arrays, saved.calibration)
    opened.record = saved.record
    return opened


def _check_trainable(ratings: Ratings) -> None:
    if not isinstance(ratings, Ratings):
        raise DataError(f"fit takes Ratings, not {type(ratings).__name__}: use dmrank.read_ratings")
    users = int(has_rows(ratings.user_pointer).sum())
    items = len(np.unique(ratings.item_codes))
    if users < 2 or items < 2:
        raise DataError(
            f"{users} user(s) and {items} item(s) with ratings: ranking needs at least two of each"
        )
    if np.isnan(ratings.values).all():
        raise DataError("every rating is missing: there is nothing to learn from")
