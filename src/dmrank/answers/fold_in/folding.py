"""New users, new items and new ratings, without training again."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmrank.answers.fold_in.grown import GrownArrays, Rows, Side, grown_catalogue
from dmrank.answers.given import given_ratings
from dmrank.data.ids import Ids
from dmrank.data.training_scale import from_training_scale, to_training_scale
from dmrank.fitted.cache import Keeping
from dmrank.fitted.calibrating import Calibrating
from dmrank.fitted.calibration import Rows as ScoredRows
from dmrank.fitted.calibration import user_offsets
from dmrank.fitted.profiles import Profiles, make_profiles
from dmrank.support.errors import ConfigError, DataError, UnsupportedError, did_you_mean

Learned = dict[str, NDArray[Any]]


class Folding(Keeping, Calibrating):
    """What folds new ratings in."""

    def _fold_in_users(self, profiles: Profiles) -> Learned | None:  # noqa: ARG002
        """Return, for each array with a row per user, the rows of these users.

        Everything else that was learned is held. None: the model cannot.
        """
        return None

    def _fold_in_items(self, profiles: Profiles) -> Learned | None:  # noqa: ARG002
        """Return, for each array with a row per item, the rows of these items; None: it cannot."""
        return None

    def fold_in(self, new_ratings: object, *, of: Side = "users") -> Self:
        """Return a model that knows new ratings as well; this one stays as it is.

        Factors (and covariance) of the users in question are estimated with everything else held,
        in milliseconds. What they rated is no longer recommended to them. A user who was known
        keeps the old ratings; as a model does not store their values, it takes what it predicts
        for them. To learn from many new ratings for good, use ``fit(ratings, start=model)``.

        Parameters
        ----------
        new_ratings : Ratings or table
            With user, item and any of the aspects. A table is a polars, pandas or Arrow one, or a
            file. Of a repeated (user, item) the last row counts.
        of : {"users", "items"}
            Whose ratings they are: of new or known users, on items that are known; or of new or
            known items, by users who are known.

        Returns
        -------
        Model
            It shares everything that did not change with this model.

        Examples
        --------
        >>> import polars as pl
        >>> from dmrank import DMR, make_ratings
        >>> model = DMR(iterations=200, seed=1).fit(make_ratings(100, 30, 2_000, seed=1).ratings)
        >>> first = pl.DataFrame({"user": "new", "item": ["h000001", "h000002"], "overall": [5, 1]})
        >>> model.fold_in(first).recommend("new", n=3).height
        3
        >>> "new" in model.catalogue.users
        False
        """
        if of not in ("users", "items"):
            raise ConfigError(f"of={of!r}: {did_you_mean(str(of), ('users', 'items'))}")
        catalogue = self.catalogue
        given = given_ratings(new_ratings, catalogue)
        if of == "users":
            new, codes = _codes_with_new(catalogue.users, given.users.to_list())
            others = catalogue.items.codes(given.items)
        else:
            new, codes = _codes_with_new(catalogue.items, given.items.to_list())
            others = catalogue.users.codes(given.users)
        profiles = make_profiles(codes, others, given.values)
        _check_rated(profiles, of)
        on_training_scale = to_training_scale(profiles.values, catalogue.scale).astype(np.float32)
        profiles = replace(profiles, values=on_training_scale)
        whole = self._with_old_ratings(profiles, of)
        learned = self._fold_in_users(whole) if of == "users" else self._fold_in_items(whole)
        if learned is None:
            raise UnsupportedError(
                f"{type(self).__name__} cannot fold in {of}: fit it again, or use DMR"
            )
        return self._grown(of, new, profiles, learned)

    def _grown(self, of: Side, new: list[str], profiles: Profiles, learned: Learned) -> Self:
        """Return a copy with further rows; what did not change is shared."""
        view, catalogue = copy.copy(self), self.catalogue
        users, items = profiles.rows, profiles.others
        if of == "items":
            users, items = items, users
        values = from_training_scale(profiles.values, catalogue.scale).astype(np.float32)
        view._kept_things = None
        view._catalogue = grown_catalogue(catalogue, of, new, users, items, values)
        rows = {name: Rows(profiles.codes, values) for name, values in learned.items()}
        view._arrays = arrays = GrownArrays(self._arrays, rows)
        if of == "users":
            scores = view._raw_scores(users, items)
            offsets = self._folded_offsets(profiles, scores)
            arrays.grow("calibration.offset", Rows(profiles.codes, offsets))
        return view

    def _with_old_ratings(self, profiles: Profiles, of: Side) -> Profiles:
        """Add what was rated before, with the ratings that the model predicts for it."""
        catalogue = self.catalogue
        size = len(catalogue.users if of == "users" else catalogue.items)
        known = profiles.codes[profiles.codes < size]
        if len(known) == 0:
            return profiles
        if of == "users":
            pointer, others = catalogue.seen_by(known)
            codes = np.repeat(known, np.diff(pointer))
            users, items = codes, others
        else:
            rows = np.flatnonzero(np.isin(catalogue.seen_items, known))
            others = (np.searchsorted(catalogue.seen_pointer, rows, side="right") - 1).astype(
                np.int32
            )
            codes = catalogue.seen_items[rows]
            users, items = others, codes
        predicted = self._training_ratings(users, items)
        # Of a repeated one the last counts: what is new.
        return make_profiles(
            np.concatenate([codes, profiles.rows]),
            np.concatenate([others, profiles.others]),
            np.concatenate([predicted, profiles.values]),
        )

    def _training_ratings(
        self, users: NDArray[np.integer], items: NDArray[np.integer]
    ) -> NDArray[np.float32]:
        """Return predicted ratings on the training scale 1–5."""
        return np.clip(self._calibration(users, self._raw_scores(users, items)), 1, 5)

    def _folded_offsets(
        self, profiles: Profiles, scores: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Return the calibration offset of each user, old ratings counting as they did."""
        calibration, catalogue = self._calibration, self.catalogue
        before, counts = np.zeros(len(profiles)), np.zeros(len(profiles))
        known = np.flatnonzero(profiles.codes < len(catalogue.users))
        old = profiles.codes[known]
        before[known] = calibration.offset[old]
        if catalogue.evidence is not None:
            counts[known] = catalogue.evidence.user_counts[old].sum(axis=1)
        if self.scores_are_ratings:
            return before
        own = np.repeat(np.arange(len(profiles)), profiles.counts)
        return user_offsets(
            ScoredRows(own, scores, profiles.values),
            calibration.intercept,
            calibration.slope,
            before,
            counts,
        )


def _codes_with_new(ids: Ids, names: list[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names that are not known, in order, and a code for every name."""
    codes = np.array([ids.find(name) for name in names], dtype=np.int64)
    new = sorted({name for name, code in zip(names, codes, strict=True) if code < 0})
    code_of = {name: len(ids) + place for place, name in enumerate(new)}
    for row in np.flatnonzero(codes < 0):
        codes[row] = code_of[names[row]]
    return new, codes


def _check_rated(profiles: Profiles, of: Side) -> None:
    rated = (~np.isnan(profiles.values)).any(axis=1)
    if not np.logical_or.reduceat(rated, profiles.pointer[:-1]).all():
        raise DataError(f"one of the {of} has no rating on any aspect: there is nothing to fold in")
