"""Training that goes on from an existing model, with more ratings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from dmrank.data.ratings import Ratings
from dmrank.fitted.catalogue import Catalogue
from dmrank.support.arrays import Arrays, Int64s
from dmrank.support.errors import DataError

#: Parameters on which the shape of what is learned depends.
SHAPES = ("factors", "covariance", "item_offsets")
#: Whether an array of a factor model has a row per user or per item; W has neither.
_SIDES = {
    "users": "users",
    "user_roots": "users",
    "user_covariances": "users",
    "items": "items",
    "offsets": "items",
    "item_roots": "items",
    "item_covariances": "items",
}


@dataclass(frozen=True, eq=False)
class WarmStart:
    """What an existing model knows of the users and items of new training ratings.

    Attributes
    ----------
    arrays : mapping of str to array
        What it learned.
    codes : dict of str to int array
        For "users" and "items": the code of each in that model, −1 for those it does not know.
    """

    arrays: Arrays
    codes: dict[str, Int64s]

    @classmethod
    def from_model(cls, catalogue: Catalogue, arrays: Arrays, ratings: Ratings) -> WarmStart:
        """Find the users and items of ratings in what a fitted model knows."""
        if catalogue.aspects != ratings.aspects:
            raise DataError(
                f"start was fitted on other aspects ({', '.join(catalogue.aspects)}) than these "
                f"ratings have ({', '.join(ratings.aspects)})"
            )
        codes = {
            "users": catalogue.users.find_all(ratings.users),
            "items": catalogue.items.find_all(ratings.items),
        }
        return cls(dict(arrays), codes)

    def carry_over(self, parameters: Arrays) -> None:
        """Put what is known in place of what was drawn; the rest stays."""
        for name, drawn in parameters.items():
            old = self.arrays[name]
            codes = self.codes.get(_SIDES.get(name, ""))
            if codes is None or len(drawn) != len(codes):
                # W, and one covariance for all, are carried over as a whole.
                codes = np.arange(len(old))
            drawn[codes >= 0, : old.shape[1]] = old[codes[codes >= 0]]

    @property
    def fingerprint(self) -> str:
        """What tells two starts apart."""
        digest = hashlib.sha256()
        for name in sorted(self.arrays):
            digest.update(self.arrays[name].tobytes())
        return digest.hexdigest()
