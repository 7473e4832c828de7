"""Where a raw file comes from: the user's own disk, or the publisher by way of the cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dmrank.datasets import cache
from dmrank.datasets.corpus import Corpus
from dmrank.datasets.fetch import fetch, file_name
from dmrank.support.errors import DownloadError


class Source(Protocol):
    """A raw file that may still have to be fetched."""

    def identity(self) -> str | None:
        """Return what tells this raw file from others and from its own later versions.

        None if it is not here yet.
        """

    def obtain(self, *, verbose: bool) -> Path:
        """Return the raw file, whole and checked."""


@dataclass(frozen=True)
class OwnFile:
    """A file or directory that the user has."""

    path: Path

    def identity(self) -> str | None:
        """Return a hash of names, sizes and times."""
        return cache.fingerprint(self.path) if self.path.exists() else None

    def obtain(self, *, verbose: bool) -> Path:  # noqa: ARG002
        """Return the path as it is."""
        return self.path


@dataclass(frozen=True)
class Download:
    """A corpus to be downloaded once.

    Attributes
    ----------
    corpus : Corpus
        What to download.
    folder : Path
        The part of the cache that belongs to the corpus.
    url : str or None
        The user's own choice of a place.
    """

    corpus: Corpus
    folder: Path
    url: str | None = None

    @property
    def target(self) -> Path:
        """Where the download is kept; what came from elsewhere is kept apart."""
        if self.url is not None:
            return self.folder / cache.short_hash(self.url) / file_name(self.url)
        if not self.corpus.urls:
            raise DownloadError(
                f"{self.corpus.name} has no open download: {self.corpus.source}, then give it with "
                f"load({self.corpus.name!r}, path=…)"
            )
        return self.folder / file_name(self.corpus.urls[0])

    def identity(self) -> str | None:
        """Return the checksum on record."""
        return cache.recorded(self.target)

    def obtain(self, *, verbose: bool) -> Path:
        """Return the cached file, after downloading it if it is not there."""
        target = self.target
        if not target.exists():
            self._fetch_from_any(target, verbose)
        elif (known := cache.recorded(target) or self._expected) is not None:
            cache.verify(target, known)
        if cache.recorded(target) is None:  # the user has put the file there
            cache.record(target, cache.checksum(target))
        return target

    @property
    def _expected(self) -> str | None:
        return self.corpus.sha256 if self.url is None else None

    def _fetch_from_any(self, target: Path, verbose: bool) -> None:
        failures = []
        for url in self.corpus.urls if self.url is None else (self.url,):
            try:
                fetch(url, target, sha256=self._expected, verbose=verbose)
                return
            except DownloadError as error:
                failures.append(str(error))
        raise DownloadError(
            f"{target.name} of {self.corpus.name} could not be downloaded: {'; '.join(failures)}. "
            f"Try again later, or fetch it by other means ({self.corpus.source}) and give it with "
            "path="
        )
