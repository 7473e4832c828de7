"""An approximate index for catalogues of a million items and more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field, FiniteFloat, NonNegativeInt

from dmrank.answers.lists import Filters, check_length, known_users, list_table
from dmrank.answers.vectors import rating_vectors
from dmrank.data.ids import Id, id_list
from dmrank.fitted.contract import By, FittedModel
from dmrank.fitted.scorers import Vectors, make_ranker
from dmrank.ranking.cluster_search import top_n_of_clusters
from dmrank.ranking.partition import Partition, make_partition
from dmrank.support.arrays import Arrays, Bools, Float32s
from dmrank.support.containers import read_container, write_container
from dmrank.support.errors import ConfigError, ModelFileError
from dmrank.support.layouts import checked_arrays
from dmrank.support.lazy_arrays import LazyArrays
from dmrank.support.metadata import Metadata

#: A search looks into this share of the clusters.
_SHARE = 0.035
#: And into so many at least: in a small catalogue a few clusters hold little.
_FEWEST = 16
#: Items compared when a file is opened, to see that it was made from this model.
_COMPARED = 64


class ApproximateIndex:
    """Finds most of the best items of a user without scoring every item.

    Items are put into clusters once; a search looks into the clusters whose centres score highest,
    and scores what is in them exactly. So it can only miss items: scores and order are those of
    `recommend`. Worth it from some hundred thousand items on. Clusters, and so lists, are the same
    every time.

    Parameters
    ----------
    model : Model
        A fitted model with vectors.
    by : str or mapping of str to float, optional
        What it is built for. Where a mix of aspects changes only the vectors of users (DMR and MBPR
        without item offsets, MTER, EFM, PTF, IALS), the index answers any other mix as well.
    clusters : int, optional
        By default three times the root of the number of items.
    probes : int, optional
        How many clusters a search looks into: more finds more, and takes longer. By default 3.5 %,
        and 16 at least.

    Examples
    --------
    >>> import dmrank
    >>> ratings = dmrank.make_ratings(100, 80, 2_000, seed=1).ratings
    >>> model = dmrank.MBPR(factors=4, iterations=50, seed=1).fit(ratings)
    >>> index = model.index(probes=12)
    >>> index
    ApproximateIndex(MBPR, 80 items, 27 clusters, probes=12)
    >>> index.recommend("u000003", n=3, by="value").columns
    ['user', 'rank', 'item', 'score', 'item_name']
    """

    def __init__(
        self,
        model: FittedModel,
        *,
        by: By = None,
        clusters: int | None = None,
        probes: int | None = None,
    ) -> None:
        vectors = rating_vectors(model, by)
        rated, threads = model.catalogue.rated_items, model.config.threads
        self._take(model, by, make_partition(vectors.items, rated, clusters, threads), probes)

    def _take(self, model: FittedModel, by: By, partition: Partition, probes: int | None) -> None:
        self.model = model
        self._weights = model.weights(by)
        self._answers_any_mix = _same_items_for_all_mixes(model)
        self._partition = partition
        self._checked: Arrays = {"blocks": partition.blocks}
        self.probes = (
            max(int(np.ceil(_SHARE * self.clusters)), _FEWEST) if probes is None else probes
        )

    @property
    def clusters(self) -> int:
        """Number of clusters."""
        return len(self._partition.pointer) - 1

    @property
    def probes(self) -> int:
        """How many clusters a search looks into; it can be changed at any time."""
        return self._probes

    @probes.setter
    def probes(self, probes: int) -> None:
        if probes < 1:
            raise ConfigError(f"probes={probes!r}: look into at least one cluster")
        self._probes = probes

    def recommend(
        self,
        users: Id | Iterable[Id],
        n: int = 10,
        *,
        by: By = None,
        exclude_seen: bool = True,
        allow: Iterable[Id] | None = None,
        block: Iterable[Id] | None = None,
        aspects: bool = False,
    ) -> pl.DataFrame:
        """Rank items for users, and miss a few.

        A user for whom filters leave fewer than n items in the clusters gets an exact list.

        Parameters
        ----------
        users, n, by, exclude_seen, allow, block, aspects
            As for `Model.recommend`. Without `by`, what the index was built for.

        Returns
        -------
        polars.DataFrame
            As from `Model.recommend`.

        Examples
        --------
        >>> from dmrank import IALS, make_ratings
        >>> model = IALS(factors=4).fit(make_ratings(100, 80, 2_000, seed=1).ratings)
        >>> model.index().recommend("u000003", n=3).height
        3
        """
        check_length(n)
        catalogue, threads = self.model.catalogue, self.model.config.threads
        names = id_list(users)
        codes = known_users(catalogue, names)
        vectors = self._vectors(by)
        filters = Filters.from_ids(catalogue, exclude_seen, allow, block)
        n = min(n, len(catalogue.items))
        seen = filters.excluded(catalogue, codes)
        best = top_n_of_clusters(
            vectors.of_users(codes),
            self._searched(),
            self.probes,
            n,
            *seen,
            filters.allowed,
            threads,
        )
        short = np.flatnonzero(best.items[:, -1] < 0)
        if len(short):
            exact = make_ranker(vectors, catalogue.rated_items)
            lists = filters.excluded(catalogue, codes[short])
            best.items[short], best.scores[short] = exact.top_n(
                codes[short], n, lists, filters.allowed, threads
            )
        return list_table(self.model, names, codes, best, aspects=aspects)

    def _vectors(self, by: By) -> Vectors:
        if by is None:
            names = self.model.catalogue.aspects
            by = {name: float(w) for name, w in zip(names, self._weights, strict=True) if w > 0}
        elif not self._answers_any_mix and (self.model.weights(by) != self._weights).any():
            raise ConfigError(
                f"{type(self.model).__name__} has other item vectors for each mix of aspects: "
                "build an index for this one with model.index(by=…)"
            )
        return rating_vectors(self.model, by)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the index into a file, whole or not at all."""
        arrays = self._searched()._asdict()
        metadata = {"n_items": arrays.pop("n_items"), "largest": arrays.pop("largest")}
        return write_container(path, arrays, metadata, content="index")

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        model: FittedModel,
        *,
        by: By = None,
        probes: int | None = None,
    ) -> Self:
        """Open an index that was saved; its arrays are mapped from the file, not read.

        Parameters
        ----------
        path : path
            The file.
        model, by, probes
            The model and the mix that it was built from, and how widely to search.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from dmrank import IALS, make_ratings
        >>> model = IALS(factors=4).fit(make_ratings(100, 80, 2_000, seed=1).ratings)
        >>> path = model.index().save(Path(tempfile.mkdtemp()) / "items.index")
        >>> ApproximateIndex.load(path, model).recommend("u000003", n=3).height
        3
        """
        partition, checked = read_partition(path)
        if not _is_of(partition, rating_vectors(model, by).items, model.catalogue.rated_items):
            raise ModelFileError(f"{path} was built from another model or mix: build it again")
        loaded = cls.__new__(cls)
        loaded._take(model, by, partition, probes)
        loaded._checked = checked
        return loaded

    def _searched(self) -> Partition:
        """Return the partition; vectors of a file are checked before the first search in them."""
        return self._partition._replace(blocks=self._checked["blocks"])

    def __len__(self) -> int:
        return len(self._partition.codes)

    def __repr__(self) -> str:
        name, size = type(self.model).__name__, f"{len(self):,} items, {self.clusters:,} clusters"
        return f"{type(self).__name__}({name}, {size}, probes={self.probes})"


class _About(Metadata):
    """What the header of an index says."""

    content: ClassVar[str] = "an index"

    n_items: NonNegativeInt
    largest: Annotated[FiniteFloat, Field(ge=0)]


def read_partition(path: str | os.PathLike[str]) -> tuple[Partition, LazyArrays]:
    """Open the partition of an index, and its arrays; vectors, the bulk, are not checked yet."""
    container = read_container(path, content="index")
    about = _About.read(container.metadata, path)
    layout = Partition.layout(container.shapes, about.n_items, about.largest)
    arrays = checked_arrays(container.arrays, layout, path)
    blocks = container.unchecked["blocks"]
    fault = replace(layout["blocks"], finite=False).fault(blocks, {})
    if fault:
        raise ModelFileError(f"{path} is damaged: its array 'blocks' {fault}")
    parts: dict[str, Any] = {name: arrays[name] for name in layout if name != "blocks"}
    return Partition(**parts, blocks=blocks, **about.model_dump()), arrays


def _same_items_for_all_mixes(model: FittedModel) -> bool:
    each_aspect = np.eye(len(model.catalogue.aspects), dtype=np.float32)
    first, *others = (model.scoring_vectors(weights) for weights in each_aspect)
    return first is not None and all(
        other is not None
        and (other.items is first.items or np.array_equal(other.items, first.items))
        for other in others
    )


def _is_of(partition: Partition, items: Float32s, rated: Bools) -> bool:
    """Return whether a partition was made from these item vectors, by a sample of them."""
    if (partition.n_items, len(partition.centres)) != items.shape:
        return False
    if len(partition.codes) != rated.sum():
        return False
    places = np.random.default_rng(0).integers(len(partition.codes), size=_COMPARED)
    return all(
        np.array_equal(partition.vector(place), items[partition.codes[place]]) for place in places
    )
