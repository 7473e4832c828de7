"""An approximate index for catalogues of a million items and more (extra `ann`)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.errors import ConfigError, ModelFileError
from dmrank.files import atomic_path
from dmrank.models.export import Exporting
from dmrank.models.filters import Filters, known_users
from dmrank.models.hooks import By
from dmrank.models.listing import check_length, list_table
from dmrank.models.scores import Codes, ItemLists, Vectors
from dmrank.ranking import TopN, best_of_lists, score_lists
from dmrank.ranking.top_n import no_items

if TYPE_CHECKING:
    from usearch.index import BatchMatches, Index, Matches

#: Neighbours of an item in the graph, and how widely they are looked for when it is built.
_CONNECTIVITY = 16
_BUILD_EXPANSION = 64
#: Items compared when a file is opened, to see that it was made from this model.
_COMPARED = 16


class ApproximateIndex:
    """Finds most of the best items of a user without scoring every item.

    A graph of the items (HNSW, by usearch) is built once and asked for the largest inner products
    with the user's vector; what it finds is scored exactly, so that only items can be missed, and
    scores and order are those of `recommend`. Worth it from some hundred thousand items on.

    Parameters
    ----------
    model : Model
        A fitted model with vectors.
    by : str or mapping of str to float, optional
        What it is built for. Where a mix of aspects changes only the vectors of users (DMR and MBPR
        without item offsets, MTER, EFM, PTF, IALS), the index answers any other mix as well.
    expansion : int
        How widely each search looks: more finds more, and takes longer.
    threads : int, optional
        Number of threads for building; by default that of the model.

    Examples
    --------
    >>> import dmrank
    >>> ratings = dmrank.make_ratings(100, 80, 2_000, seed=1).ratings
    >>> model = dmrank.MBPR(factors=4, iterations=50, seed=1).fit(ratings)
    >>> index = model.index()
    >>> index
    ApproximateIndex(MBPR, 80 items, expansion=32)
    >>> index.recommend("u000003", n=3, by="value").columns
    ['user', 'rank', 'item', 'score', 'item_name']
    """

    def __init__(
        self,
        model: Exporting,
        *,
        by: By = None,
        expansion: int = 32,
        threads: int | None = None,
    ) -> None:
        self._take(model, by, expansion)
        vectors = model._mixed_vectors(by)
        self._index = _empty_index(vectors.items.shape[1], expansion)
        codes = np.flatnonzero(model.catalogue.rated_items)
        rows = np.ascontiguousarray(vectors.items[codes], dtype=np.float32)
        self._index.add(codes, rows, threads=_count(threads or model.config.threads))

    @property
    def expansion(self) -> int:
        """How widely each search looks; it can be changed at any time."""
        return int(self._index.expansion_search)

    @expansion.setter
    def expansion(self, expansion: int) -> None:
        _check_expansion(expansion)
        # The type stub of usearch leaves the setter out.
        self._index.expansion_search = expansion  # type: ignore[misc]

    def _take(self, model: Exporting, by: By, expansion: int) -> None:
        _check_expansion(expansion)
        self.model = model
        self._weights = model._weights(by)
        self._answers_any_mix = _same_items_for_all_mixes(model)

    def recommend(
        self,
        users: str | Iterable[str],
        n: int = 10,
        *,
        by: By = None,
        exclude_seen: bool = True,
        block: Iterable[str] | None = None,
        aspects: bool = False,
    ) -> pl.DataFrame:
        """Rank items for users, and miss a few.

        Parameters
        ----------
        users, n, by, exclude_seen, block, aspects
            As for `Model.recommend`. Without `by`, what the index was built for.

        Returns
        -------
        polars.DataFrame
            As from `Model.recommend`.
        """
        check_length(n)
        catalogue = self.model.catalogue
        names = [users] if isinstance(users, str) else list(users)
        codes = known_users(catalogue, names)
        vectors = self._vectors(by)
        filters = Filters.of(catalogue, exclude_seen, block=block)
        n = min(n, len(catalogue.items))
        best = no_items(len(codes), n)
        for rows, count in _groups(self._wanted(codes, n, filters)):
            best.items[rows], best.scores[rows] = self._search(
                vectors, codes[rows], n, count, filters
            )
        return list_table(self.model, names, codes, best, aspects=aspects)

    def _vectors(self, by: By) -> Vectors:
        if by is not None and not self._answers_any_mix:
            given = self.model._weights(by)
            if not np.array_equal(given, self._weights):
                raise ConfigError(
                    f"{type(self.model).__name__} has other item vectors for each mix of aspects: "
                    "build an index for this one with model.index(by=…)"
                )
        if by is None:
            names = self.model.catalogue.aspects
            by = {name: float(w) for name, w in zip(names, self._weights, strict=True) if w > 0}
        return self.model._mixed_vectors(by)

    def _wanted(self, users: Codes, n: int, filters: Filters) -> NDArray[np.int64]:
        """Return how many items to search for each user, so that n are left after filtering."""
        blocked = 0 if filters.allowed is None else int((~filters.allowed).sum())
        seen = np.diff(filters.excluded(self.model.catalogue, users).pointer)
        return np.minimum(n + blocked + seen, len(self._index))

    def _search(self, vectors: Vectors, users: Codes, n: int, count: int, filters: Filters) -> TopN:
        catalogue, threads = self.model.catalogue, self.model.config.threads
        rows = np.ascontiguousarray(vectors.of_users(users), dtype=np.float32)
        # Starting a thread takes longer than one search.
        workers = 1 if len(rows) == 1 else _count(threads)
        row, items = _found(self._index.search(rows, count, threads=workers))
        kept = ~_is_in(row, items, filters.excluded(catalogue, users), len(catalogue.items))
        if filters.allowed is not None:
            kept &= filters.allowed[items]
        row, items = row[kept], items[kept]
        order = np.lexsort((items, row))
        ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(users)))])
        lists = ItemLists(ends, items[order])
        return best_of_lists(score_lists(rows, vectors.items, *lists, threads), *lists, n)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the index into a file, whole or not at all."""
        with atomic_path(path) as temporary:
            self._index.save(str(temporary))
        return Path(path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        model: Exporting,
        *,
        by: By = None,
        expansion: int = 32,
    ) -> Self:
        """Open an index that was saved; it is mapped from the file, not read.

        Parameters
        ----------
        path : path
            The file.
        model, by, expansion
            The model and the mix that it was built from, and how widely to search.
        """
        loaded = cls.__new__(cls)
        loaded._take(model, by, expansion)
        items = model._mixed_vectors(by).items
        rated = np.flatnonzero(model.catalogue.rated_items)
        loaded._index = _empty_index(items.shape[1], expansion)
        try:
            loaded._index.view(str(path))
        except RuntimeError as error:
            raise ModelFileError(f"{path} is not an index that can be opened: {error}") from None
        some = np.random.default_rng(0).choice(rated, size=min(_COMPARED, len(rated)))
        if len(loaded._index) != len(rated) or not _has(loaded._index, some, items[some]):
            raise ModelFileError(f"{path} was built from another model or mix: build it again")
        loaded.expansion = expansion
        return loaded

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        name = type(self.model).__name__
        return f"{type(self).__name__}({name}, {len(self):,} items, expansion={self.expansion})"


class Indexing(Exporting):
    """What makes an approximate index."""

    def index(
        self, by: By = None, *, expansion: int = 32, threads: int | None = None
    ) -> ApproximateIndex:
        """Build an index that finds most of the best items without scoring every item.

        See `ApproximateIndex`, whose parameters these are.
        """
        return ApproximateIndex(self, by=by, expansion=expansion, threads=threads)


def _empty_index(factors: int, expansion: int) -> Index:
    if find_spec("usearch") is None:
        raise ConfigError(
            "an approximate index needs usearch, which is not installed: pip install dmrank[ann]"
        )
    from usearch.index import Index

    return Index(
        ndim=factors,
        metric="ip",
        dtype="f32",
        connectivity=_CONNECTIVITY,
        expansion_add=_BUILD_EXPANSION,
        expansion_search=expansion,
    )


def _check_expansion(expansion: int) -> None:
    if expansion < 1:
        raise ConfigError(f"expansion={expansion!r}: give 1 or more")


def _found(matches: Matches | BatchMatches) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return row and item of everything that was found."""
    keys = np.atleast_2d(np.asarray(matches.keys))
    # A single row has no counts: it holds what was found and no more.
    counts = np.asarray(getattr(matches, "counts", [keys.shape[1]]))
    found = np.arange(keys.shape[1]) < counts[:, None]
    row, _ = np.nonzero(found)
    return row, keys[found].astype(np.int32)


def _count(threads: int | None) -> int:
    # usearch writes 0 for every core.
    return threads or 0


def _same_items_for_all_mixes(model: Exporting) -> bool:
    first, *others = (
        model._vectors(w) for w in np.eye(len(model.catalogue.aspects), dtype=np.float32)
    )
    return first is not None and all(
        other is not None
        and (other.items is first.items or np.array_equal(other.items, first.items))
        for other in others
    )


def _groups(wanted: NDArray[np.int64]) -> Iterable[tuple[NDArray[np.intp], int]]:
    """Group users by how many items to search for, within a factor of two."""
    size = np.ceil(np.log2(np.maximum(wanted, 1))).astype(np.int64)
    for group in np.unique(size):
        rows = np.flatnonzero(size == group)
        yield rows, int(wanted[rows].max())


def _is_in(
    row: NDArray[np.intp], items: NDArray[np.int32], lists: ItemLists, n_items: int
) -> NDArray[np.bool_]:
    """Return which items are in the list of their row."""
    owner = np.repeat(np.arange(len(lists.pointer) - 1), np.diff(lists.pointer))
    return np.isin(row * n_items + items, owner * n_items + lists.items)


def _has(index: Index, codes: NDArray[np.intp], rows: NDArray[np.float32]) -> bool:
    kept = [index.get(int(code)) for code in codes]
    pairs = zip(kept, rows, strict=True)
    return all(isinstance(one, np.ndarray) and np.array_equal(one, row) for one, row in pairs)
