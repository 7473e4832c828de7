"""Named arrays and metadata in one safetensors file: written whole, opened memory-mapped.

Reading such a file never runs anything that is in it. Header and arrays have a checksum each: that
of the header is looked at when a file is opened, that of an array when it is first used, so that
opening takes no longer than before. What arrays must be is the business of each reader
(`support.layouts`): a checksum guards against accidents, not against somebody who computes it.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from dmrank.support.arrays import Array, Arrays
from dmrank.support.errors import ModelFileError
from dmrank.support.files import atomic_path
from dmrank.support.lazy_arrays import LazyArrays

#: Version of all files; raise it when the meaning changes. Format 1 had no checksums.
FILE_FORMAT = 2
Content: TypeAlias = Literal["model", "index", "checkpoint", "polarity"]

#: What safetensors calls the types that we write.
_TYPES: dict[str, type[np.generic]] = {
    "F32": np.float32,
    "F64": np.float64,
    "I32": np.int32,
    "I64": np.int64,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
_NAMES = {np.dtype(type_): name for name, type_ in _TYPES.items()}
#: A header beyond this is not one of ours; safetensors has the same limit.
_LONGEST_HEADER = 100_000_000
_MOST_DIMENSIONS = 8
#: Every element is where the processor wants it.
_ALIGNMENT = 8
_KEY = "dmrank"
#: A header starts with this and eight digits, the checksum of all that follows them.
_START = b'{"__metadata__":{"crc32":"'
_DIGITS = 8


class Container(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    arrays : LazyArrays
        Read-only; the checksum of each is looked at when it is first asked for.
    unchecked : dict of str to array
        The same, for whoever needs a shape, or a look into an array that is too large to check.
    metadata : dict
        Plain JSON values.
    content : str or None
        What the file is; not known of format 1.
    format : int
        Its version.
    """

    arrays: LazyArrays
    unchecked: dict[str, Array]
    metadata: dict[str, Any]
    content: str | None
    format: int

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array."""
        return {name: array.shape for name, array in self.unchecked.items()}


def write_container(
    path: str | os.PathLike[str],
    arrays: Arrays,
    metadata: Mapping[str, Any],
    *,
    content: Content,
) -> Path:
    """Write arrays and metadata, whole or not at all; the same bytes every time.

    Parameters
    ----------
    path : path
        The file.
    arrays : mapping of str to array
        Float, integer or boolean arrays of any shape.
    metadata : mapping of str to JSON value
        Whatever `json` can write.
    content : str
        What the file is.
    """
    written = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    # The widest first, as safetensors has it: so all are aligned.
    names = sorted(written, key=lambda name: (-written[name].itemsize, name))
    header = _header(path, {name: written[name] for name in names}, metadata, content)
    with atomic_path(path) as temporary:
        try:
            with temporary.open("wb") as stream:
                stream.write(len(header).to_bytes(8, "little"))
                stream.write(header)
                for name in names:
                    stream.write(_bytes(written[name]))
        except OSError as error:
            raise ModelFileError(f"{path} cannot be written: {error.strerror}") from None
    return Path(path)


def _header(
    path: str | os.PathLike[str], arrays: Arrays, metadata: Mapping[str, Any], content: Content
) -> bytes:
    entries, end = {}, 0
    for name, array in arrays.items():
        if array.dtype not in _NAMES:
            raise ModelFileError(f"{path}: array {name!r} has type {array.dtype}: use float32")
        begin, end = end, end + array.nbytes
        entries[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    checksums = {name: _checksum(array) for name, array in arrays.items()}
    text = json.dumps(
        {
            "format": FILE_FORMAT,
            "content": content,
            "metadata": dict(metadata),
            "checksums": checksums,
        }
    )
    rest = f'",{json.dumps(_KEY)}:{json.dumps(text)}}}'
    if entries:
        rest += "," + json.dumps(entries)[1:-1]
    rest += "}"
    used = len(_START) + _DIGITS + len(rest)
    rest += " " * (-used % _ALIGNMENT)
    return _START + f"{zlib.crc32(rest.encode()):08x}".encode() + rest.encode()


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _checksum(array: Array) -> int:
    return zlib.crc32(_bytes(array))


def read_container(
    path: str | os.PathLike[str], *, content: Content | None = None, mapped: bool = True
) -> Container:
    """Open a file that :func:`write_container` wrote.

    Parameters
    ----------
    path : path
        The file.
    content : str, optional
        What it must be; by default anything.
    mapped : bool
        Map the arrays, and read nothing of them before it is used. A mapped file must not be cut
        short in its place: who then reads what is gone is ended by the system (SIGBUS). Replacing
        it by another, as all writing here does, is safe. False: copy them now, and check them.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers"
    >>> _ = write_container(path, {"x": np.arange(3)}, {"name": "three"}, content="model")
    >>> container = read_container(path)
    >>> container.arrays["x"], container.metadata
    (array([0, 1, 2]), {'name': 'three'})
    """
    file = Path(path)
    if file.is_dir():
        raise ModelFileError(f"{file} is a directory: name a file")
    if not file.exists():
        raise ModelFileError(f"{file} does not exist: check the path")
    try:
        return _read(file, content, mapped)
    except ModelFileError:
        raise
    except OSError as error:
        raise ModelFileError(f"{file} cannot be read: {error.strerror}") from None


def _read(file: Path, content: Content | None, mapped: bool) -> Container:
    size = file.stat().st_size
    header, start, is_guarded = _read_header(file, size)
    texts = header.pop("__metadata__", None)
    if not isinstance(texts, dict) or not isinstance(texts.get(_KEY), str):
        raise ModelFileError(f"{file} is a safetensors file, but not one that dmrank wrote")
    about = _json(file, texts[_KEY])
    format_ = about.get("format")
    if type(format_) is not int or format_ < 1:
        raise _damaged(file, "its header names no format")
    if format_ > FILE_FORMAT:
        raise ModelFileError(
            f"{file} has format {format_}, and this version of dmrank reads up to "
            f"{FILE_FORMAT}: upgrade dmrank"
        )
    if format_ > 1 and not is_guarded:
        raise _damaged(file, "its header has no checksum")
    found = about.get("content")
    if content is not None and found not in (content, None):
        raise ModelFileError(f"{file} is not {_named(content)}, but {_named(found)}")
    if not isinstance(about.get("metadata"), dict):
        raise _damaged(file, "its header has no metadata")
    places = {name: _place(file, name, entry) for name, entry in header.items()}
    _check_places(file, places.values(), start, size)
    arrays = {name: _open(file, place, start, mapped) for name, place in places.items()}
    checksums = _checksums(file, about, arrays) if format_ > 1 else {}
    checks = {
        name: partial(_check, file, name, array, checksums.get(name))
        for name, array in arrays.items()
    }
    checked = LazyArrays({}, checks)
    if not mapped:
        checked.make_all()
    return Container(checked, arrays, about["metadata"], found, format_)


def _read_header(file: Path, size: int) -> tuple[dict[str, Any], int, bool]:
    """Return the header, where it ends, and whether it has a checksum."""
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= _LONGEST_HEADER:
            raise ModelFileError(f"{file} is not a file of dmrank")
        text = stream.read(length) if 8 + length <= size else b""
    if len(text) < length:
        raise ModelFileError(f"{file} is truncated within its header, or not a file of dmrank")
    is_guarded = text.startswith(_START)
    rest = len(_START) + _DIGITS
    if is_guarded and text[len(_START) : rest] != f"{zlib.crc32(text[rest:]):08x}".encode():
        raise _damaged(file, "its header has not the checksum that it was written with")
    return _json(file, text), 8 + length, is_guarded


def _json(file: Path, text: str | bytes) -> dict[str, Any]:
    try:
        found = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise ModelFileError(f"{file} is not a file of dmrank: its header is not JSON") from None
    if not isinstance(found, dict):
        raise ModelFileError(f"{file} is not a file of dmrank: its header is not an object")
    return found


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is repeated")
    return found


class _Place(NamedTuple):
    """Where an array is in the data of a file."""

    dtype: type[np.generic]
    shape: tuple[int, ...]
    begin: int
    end: int


def _place(file: Path, name: str, entry: object) -> _Place:
    match entry:
        case {"dtype": str(dtype), "shape": list(shape), "data_offsets": [begin, end]} if (
            dtype in _TYPES
            and len(shape) <= _MOST_DIMENSIONS
            and all(type(number) is int and number >= 0 for number in (*shape, begin, end))
            and math.prod(shape) * np.dtype(_TYPES[dtype]).itemsize == end - begin
        ):
            return _Place(_TYPES[dtype], tuple(shape), begin, end)
    raise _damaged(file, f"what its header says of the array {name!r} is contradictory")


def _check_places(file: Path, places: Iterable[_Place], start: int, size: int) -> None:
    """Check that arrays fill a file from its header on, each where its elements can be read."""
    end = 0
    for place in sorted(places, key=lambda place: (place.begin, place.end)):
        if place.begin != end:
            raise _damaged(file, "its arrays overlap or leave gaps")
        if (start + place.begin) % np.dtype(place.dtype).itemsize:
            raise _damaged(file, "its arrays are not aligned")
        end = place.end
    if start + end > size:
        raise ModelFileError(
            f"{file} is truncated: {size:,} bytes of {start + end:,}; copy or write it again"
        )
    if start + end < size:
        raise _damaged(file, f"{size - start - end:,} bytes at its end belong to nothing")


def _open(file: Path, place: _Place, start: int, mapped: bool) -> Array:
    if 0 in place.shape:
        return np.empty(place.shape, dtype=place.dtype)
    offset = start + place.begin
    if mapped:
        found = np.memmap(file, dtype=place.dtype, mode="r", offset=offset, shape=place.shape)
        # A plain array over the same memory: parts of a memmap take many times as long to take.
        return found.view(np.ndarray)
    array = np.fromfile(file, dtype=place.dtype, count=math.prod(place.shape), offset=offset)
    if array.size < math.prod(place.shape):
        raise ModelFileError(f"{file} is truncated: copy or write it again")
    array.flags.writeable = False
    return array.reshape(place.shape)


def _checksums(file: Path, about: Mapping[str, Any], arrays: Arrays) -> dict[str, int]:
    checksums = about.get("checksums")
    if not isinstance(checksums, dict) or checksums.keys() != arrays.keys():
        raise _damaged(file, "its header has not a checksum for each array")
    return checksums


def _check(file: Path, name: str, array: Array, checksum: int | None) -> Array:
    if checksum is not None and _checksum(array) != checksum:
        raise _damaged(file, f"its array {name!r} has not the checksum that it was written with")
    # A truth value of 2 is none, and does not say so.
    if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        raise _damaged(file, f"its array {name!r} has values that are neither true nor false")
    return array


def _damaged(file: Path, reason: str) -> ModelFileError:
    return ModelFileError(f"{file} is damaged: {reason}; copy or write it again")


def _named(content: object) -> str:
    names = {"model": "a model", "checkpoint": "a checkpoint", "index": "an index"}
    names["polarity"] = "a learned polarity"
    return names.get(str(content), repr(content))
