"""Downloads: whole, with the right checksum, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote, urlsplit

from dmrank.datasets.cache import record
from dmrank.support.errors import ConfigError, DataError, DownloadError
from dmrank.support.files import atomic_path
from dmrank.support.progress import bar

TIMEOUT_SECONDS = 30
_PIECE = 1 << 18


def file_name(url: str) -> str:
    """Return the name of the file behind an address.

    Examples
    --------
    >>> file_name("https://example.org/beer/ratebeer.json.gz?mirror=1")
    'ratebeer.json.gz'
    """
    parts = urlsplit(url)
    name = PurePosixPath(unquote(parts.path)).name
    if parts.scheme not in ("http", "https") or not name:
        raise ConfigError(
            f"url={url!r} is not the http(s) address of a file; give a file you have with path="
        )
    return name


def fetch(url: str, target: Path, *, sha256: str | None = None, verbose: bool = True) -> None:
    """Download a file and record its checksum beside it; on failure nothing is written.

    Parameters
    ----------
    url : str
        Where it is.
    target : Path
        Where to put it.
    sha256 : str, optional
        The checksum it should have.
    verbose : bool
        Whether to show a bar.
    """
    try:
        with atomic_path(target) as temporary:
            found = _download(url, temporary, verbose)
            if sha256 is not None and found != sha256:
                raise DownloadError(
                    f"{url}: the file has the checksum {found}, expected {sha256}: it was changed "
                    "or damaged on its way"
                )
            # Before the file itself: a killed run may leave a record without a file, but never a
            # file that nothing vouches for.
            record(target, found)
    except DownloadError:
        raise
    except OSError as error:
        raise DataError(
            f"cannot write {target} ({error.strerror}): choose another directory with cache="
        ) from None


def _download(url: str, target: Path, verbose: bool) -> str:
    """Write the file to `target` and return its checksum."""
    request = urllib.request.Request(url, headers={"User-Agent": "dmrank"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            if response.headers.get_content_type() == "text/html":
                raise DownloadError(f"{url} answered with a web page, not with the file")
            size = response.headers.get("Content-Length")
            return _copy(response, target, url, None if size is None else int(size), verbose)
    except urllib.error.HTTPError as error:
        with error:
            raise DownloadError(f"{url} answered {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise DownloadError(f"cannot connect to {url} ({error.reason})") from None


def _copy(response: IO[bytes], target: Path, url: str, size: int | None, verbose: bool) -> str:
    digest, done = hashlib.sha256(), 0
    show = bar(f"downloading {file_name(url)}", size, bytes_=True) if verbose else nullcontext()
    with target.open("wb") as file, show as progress:
        while piece := _read(response, url, done):
            file.write(piece)
            digest.update(piece)
            done += len(piece)
            if progress is not None:
                progress.update(done)
    if size is not None and done != size:
        raise DownloadError(f"{url} broke off after {done:,} of {size:,} bytes")
    return digest.hexdigest()


def _read(response: IO[bytes], url: str, done: int) -> bytes:
    try:
        return response.read(_PIECE)
    except (http.client.HTTPException, OSError) as error:
        raise DownloadError(f"{url} broke off after {done:,} bytes ({error})") from None
