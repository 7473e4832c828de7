"""What a fitted model remembers of its training ratings, beside what it learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.data.ids import Ids, Kind
from dmrank.data.ratings import Ratings
from dmrank.fitted.evidence import Evidence
from dmrank.ranking import ItemLists, lists_of
from dmrank.support.errors import UnknownAspectError, did_you_mean


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Ids, aspects and scale of the training ratings, who rated what, and how on average."""

    users: Ids
    items: Ids
    aspects: tuple[str, ...]
    primary_aspect: str
    scale: NDArray[np.float32]
    item_names: pl.Series | None
    seen_pointer: NDArray[np.int64]
    seen_items: NDArray[np.int32]
    evidence: Evidence | None = None

    @classmethod
    def of(cls, ratings: Ratings) -> Catalogue:
        """Take what is to be remembered of the training ratings."""
        return cls(
            users=ratings.users,
            items=ratings.items,
            aspects=ratings.aspects,
            primary_aspect=ratings.primary_aspect,
            scale=ratings.scale,
            item_names=ratings.item_names,
            seen_pointer=ratings.user_pointer,
            seen_items=ratings.item_codes,
            evidence=Evidence.of(ratings),
        )

    @cached_property
    def rated_items(self) -> NDArray[np.bool_]:
        """Which items have a training rating; of others a model knows nothing."""
        return np.bincount(self.seen_items, minlength=len(self.items)) > 0

    def item_name(self, code: int) -> str:
        """Return the name of an item, or its id where it has no name."""
        name = "" if self.item_names is None else str(self.item_names[code])
        return name or self.items[code]

    def aspect(self, name: str) -> int:
        """Return the column of an aspect."""
        try:
            return self.aspects.index(name)
        except ValueError:
            hint = did_you_mean(name, self.aspects)
            raise UnknownAspectError(f"the model has no aspect {name!r}; {hint}") from None

    def seen_by(self, users: NDArray[np.integer]) -> ItemLists:
        """Return what the given users rated in training."""
        return lists_of(self.seen_pointer, self.seen_items, users)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps of it."""
        arrays: dict[str, NDArray[Any]] = {
            "catalogue.scale": self.scale,
            "catalogue.seen_pointer": self.seen_pointer,
            "catalogue.seen_items": self.seen_items,
        }
        texts = {"users": self.users.series, "items": self.items.series}
        if self.item_names is not None:
            texts["item_names"] = self.item_names
        if self.evidence is not None:
            arrays |= self.evidence.to_arrays()
        for name, series in texts.items():
            text, ends = _to_bytes(series)
            arrays |= {f"catalogue.{name}.text": text, f"catalogue.{name}.ends": ends}
        return arrays

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], aspects: tuple[str, ...], primary_aspect: str
    ) -> Catalogue:
        """Undo :meth:`to_arrays`."""

        def text(name: str) -> pl.Series:
            return _from_bytes(arrays[f"catalogue.{name}.text"], arrays[f"catalogue.{name}.ends"])

        def ids(name: str, kind: Kind) -> Ids:
            # Codes are positions: the order of the file counts.
            return Ids.from_sorted(text(name), kind=kind)

        named = "catalogue.item_names.text" in arrays
        return cls(
            users=ids("users", "user"),
            items=ids("items", "item"),
            aspects=aspects,
            primary_aspect=primary_aspect,
            scale=arrays["catalogue.scale"],
            item_names=text("item_names") if named else None,
            seen_pointer=arrays["catalogue.seen_pointer"],
            seen_items=arrays["catalogue.seen_items"],
            evidence=Evidence.from_arrays(arrays),
        )


def _to_bytes(texts: pl.Series) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return UTF-8 texts one after the other, and where each ends."""
    joined = "".join(texts).encode()
    ends = np.cumsum(texts.str.len_bytes().to_numpy(), dtype=np.int64)
    return np.frombuffer(joined, dtype=np.uint8), ends


def _from_bytes(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> pl.Series:
    joined = text.tobytes()
    starts = [0, *ends[:-1].tolist()]
    return pl.Series(
        [joined[a:b].decode() for a, b in zip(starts, ends.tolist(), strict=True)],
        dtype=pl.String,
    )
