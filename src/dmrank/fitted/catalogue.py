"""What a fitted model remembers of its training ratings, beside what it learned."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import polars as pl

from dmrank.data.ids import Ids, IdType, Kind
from dmrank.data.ratings import Ratings
from dmrank.data.stored_ids import StoredIds
from dmrank.fitted.evidence import Evidence
from dmrank.fitted.sizes import Sizes
from dmrank.ranking import ItemLists, lists_of
from dmrank.support.arrays import Array, Arrays, Bools, Codes, Float32s, Int32s, Int64s
from dmrank.support.errors import DataError, UnknownAspectError, did_you_mean
from dmrank.support.layouts import Kept, codes, floats, pointer
from dmrank.support.metadata import A_MODEL, unreadable


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Ids, aspects and scale of the training ratings, who rated what, and how on average."""

    users: Ids
    items: Ids
    aspects: tuple[str, ...]
    primary_aspect: str
    scale: Float32s
    item_names: pl.Series | None
    seen_pointer: Int64s
    seen_items: Int32s
    evidence: Evidence | None = None

    @classmethod
    def from_ratings(cls, ratings: Ratings, evidence: Evidence) -> Catalogue:
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
            evidence=evidence,
        )

    @cached_property
    def rated_items(self) -> Bools:
        """Which items have a training rating; of others a model knows nothing."""
        return np.bincount(self.seen_items, minlength=len(self.items)) > 0

    def item_name(self, code: int) -> str:
        """Return the name of an item, or its id where it has no name."""
        name = "" if self.item_names is None else str(self.item_names[code])
        return name or str(self.items[code])

    def aspect(self, name: str) -> int:
        """Return the column of an aspect."""
        try:
            return self.aspects.index(name)
        except ValueError:
            hint = did_you_mean(name, self.aspects)
            raise UnknownAspectError(f"the model has no aspect {name!r}; {hint}") from None

    def read_ids(self) -> None:
        """Read, and so check, ids that a file was not yet asked for."""
        for ids in (self.users, self.items):
            ids.series  # noqa: B018 (read when it is asked for)

    def seen_by(self, users: Codes) -> ItemLists:
        """Return what the given users rated in training."""
        return lists_of(self.seen_pointer, self.seen_items, users)

    @property
    def id_types(self) -> dict[str, IdType]:
        """What ids are, strings or whole numbers; `to_arrays` keeps them as text."""
        return {"users": self.users.type, "items": self.items.type}

    def to_arrays(self) -> dict[str, Array]:
        """Return the arrays that a model file keeps of it."""
        arrays: dict[str, Array] = {
            "catalogue.scale": self.scale,
            "catalogue.seen_pointer": self.seen_pointer,
            "catalogue.seen_items": self.seen_items,
        }
        texts = {"users": self.users.as_stored(), "items": self.items.as_stored()}
        if self.item_names is not None:
            texts["item_names"] = StoredIds.of(self.item_names)
        if self.evidence is not None:
            arrays |= self.evidence.to_arrays()
        for name, stored in texts.items():
            arrays |= {f"catalogue.{name}.text": stored.text, f"catalogue.{name}.ends": stored.ends}
        return arrays

    @staticmethod
    def layout(sizes: Sizes) -> dict[str, Kept]:
        """Return what the arrays of a model file must be."""
        users, items, aspects = sizes.users, sizes.items, sizes.aspects
        names = "catalogue.item_names"
        named = names + ".text" in sizes.shapes
        layout = {
            "catalogue.scale": floats(aspects, 2, missing=True),
            "catalogue.seen_pointer": pointer(users, sizes.length("catalogue.seen_items")),
            "catalogue.seen_items": codes(None, items, pointer="catalogue.seen_pointer"),
            **_text_layout(sizes, "catalogue.users", users, least=1),
            **_text_layout(sizes, "catalogue.items", items, least=1),
            **(_text_layout(sizes, names, items, least=0) if named else {}),
        }
        return layout | Evidence.layout(users, items, aspects)

    @classmethod
    def from_arrays(
        cls,
        arrays: Arrays,
        aspects: tuple[str, ...],
        primary_aspect: str,
        id_types: Mapping[str, IdType],
        sizes: Sizes,
        path: str | os.PathLike[str],
    ) -> Catalogue:
        """Undo :meth:`to_arrays`; a file has beside them what `id_types` said.

        Ids of users are read when one is asked for.
        """

        def stored(name: str) -> StoredIds:
            return StoredIds(arrays[f"catalogue.{name}.text"], arrays[f"catalogue.{name}.ends"])

        def text(name: str) -> pl.Series:
            try:
                return stored(name).read()
            except UnicodeDecodeError as error:
                raise unreadable(path, A_MODEL, error) from None

        def in_order(name: str) -> StoredIds | None:
            found = stored(name)
            try:
                return found if found.are_ascending() else None
            except UnicodeDecodeError as error:
                raise unreadable(path, A_MODEL, error) from None

        def read(name: str, kind: Kind) -> Ids:
            try:
                # Codes are positions: the order of the file counts.
                found = Ids.from_sorted(text(name), kind=kind, type_=id_types[name])
            except DataError as error:  # no whole numbers
                raise unreadable(path, A_MODEL, error) from None
            if not found.is_ascending and found.series.n_unique() != len(found):
                raise unreadable(path, A_MODEL, f"{kind} ids are repeated")
            return found

        def ids(name: str, kind: Kind, count: int) -> Ids:
            later = partial(read, name, kind), partial(in_order, name)
            return Ids.read_later(*later, count, kind=kind, type_=id_types[name])

        named = "catalogue.item_names.text" in arrays
        return cls(
            users=ids("users", "user", sizes.users),
            items=ids("items", "item", sizes.items),
            aspects=aspects,
            primary_aspect=primary_aspect,
            scale=arrays["catalogue.scale"],
            item_names=text("item_names") if named else None,
            seen_pointer=arrays["catalogue.seen_pointer"],
            seen_items=arrays["catalogue.seen_items"],
            evidence=Evidence.from_arrays(arrays),
        )


def _text_layout(sizes: Sizes, name: str, count: int, *, least: int) -> dict[str, Kept]:
    """Return what texts are, one after the other, each of so many bytes at least."""
    length = sizes.length(f"{name}.text")

    def ends_are(array: Array) -> bool:
        lengths = np.diff(array, prepend=0)
        return bool((lengths >= least).all()) and array[-1:].sum() == length

    ends = Kept(
        np.int64, (count,), low=0, high=length, rule=ends_are, says="does not end its texts"
    )
    return {f"{name}.text": Kept(np.uint8, (None,)), f"{name}.ends": ends}
