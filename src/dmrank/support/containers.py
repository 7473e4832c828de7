"""Named arrays and metadata in one safetensors file: written whole, opened memory-mapped.

Reading such a file never runs anything that is in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dmrank.support.arrays import Array, Arrays
from dmrank.support.errors import ModelFileError
from dmrank.support.files import atomic_path

#: What safetensors calls the types that we write.
_TYPES = {
    "F32": np.float32,
    "F64": np.float64,
    "I32": np.int32,
    "I64": np.int64,
    "U8": np.uint8,
    "BOOL": np.bool_,
}
#: A header beyond this is not one of ours; safetensors has the same limit.
_LONGEST_HEADER = 100_000_000
_KEY = "dmrank"


class Container(NamedTuple):
    """The content of a file: read-only arrays, and metadata (plain JSON values)."""

    arrays: dict[str, Array]
    metadata: dict[str, Any]


def write_container(
    path: str | os.PathLike[str],
    arrays: Arrays,
    metadata: Mapping[str, Any],
    *,
    format_: int,
) -> Path:
    """Write arrays and metadata, whole or not at all.

    Parameters
    ----------
    path : path
        The file.
    arrays : mapping of str to array
        Float, integer or boolean arrays of any shape.
    metadata : mapping of str to JSON value
        Whatever `json` can write.
    format_ : int
        Version of what the content means; :func:`read_container` refuses a newer one.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    # One entry, because safetensors writes several in an order that differs from run to run.
    text = {_KEY: json.dumps({"format": format_, "metadata": dict(metadata)})}
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_path(path) as temporary:
        try:
            save_file(tensors, temporary, text)
        except SafetensorError as error:
            raise ModelFileError(f"{path} cannot be written: {error}") from None
    return Path(path)


def read_container(path: str | os.PathLike[str], *, format_: int) -> Container:
    """Open a file that :func:`write_container` wrote; arrays are mapped, not read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "numbers"
    >>> _ = write_container(path, {"x": np.arange(3)}, {"name": "three"}, format_=1)
    >>> container = read_container(path, format_=1)
    >>> container.arrays["x"], container.metadata
    (memmap([0, 1, 2]), {'name': 'three'})
    """
    file = Path(path)
    if file.is_dir():
        raise ModelFileError(f"{file} is a directory: name a file")
    if not file.exists():
        raise ModelFileError(f"{file} does not exist: check the path")
    header, start = _read_header(file)
    texts = header.pop("__metadata__", {})
    if _KEY not in texts:
        raise ModelFileError(f"{file} is a safetensors file, but not one that dmrank wrote")
    content = json.loads(texts[_KEY])
    if content["format"] > format_:
        raise ModelFileError(
            f"{file} has format {content['format']}, and this version of dmrank reads up to "
            f"{format_}: upgrade dmrank"
        )
    size = file.stat().st_size
    arrays = {}
    for name, entry in header.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        if end > size:
            raise ModelFileError(
                f"{file} is truncated: {size:,} bytes of at least {end:,}; copy or write it again"
            )
        arrays[name] = _map(file, entry, begin)
    return Container(arrays, content["metadata"])


def _read_header(file: Path) -> tuple[dict[str, Any], int]:
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= _LONGEST_HEADER:
            raise ModelFileError(f"{file} is not a file of dmrank")
        text = stream.read(length)
    if len(text) < length:
        raise ModelFileError(f"{file} is truncated within its header, or not a file of dmrank")
    try:
        header = json.loads(text)
    except ValueError:
        raise ModelFileError(f"{file} is not a file of dmrank: its header is not JSON") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{file} is not a file of dmrank: its header is not an object")
    return header, 8 + length


def _map(file: Path, entry: Mapping[str, Any], begin: int) -> Array:
    dtype, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    return np.memmap(file, dtype=dtype, mode="r", offset=begin, shape=shape)
