"""Model files: the parameters and everything that was learned, in one container."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from dmrank.data.ids import IdType
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.support.arrays import Array
from dmrank.support.containers import read_container, write_container
from dmrank.support.errors import ModelFileError
from dmrank.support.version import __version__

#: Version of the model file; raise it when the meaning of the content changes.
FILE_FORMAT = 1
#: Arrays of a file that are not the model's own.
_SHARED = ("catalogue.", "calibration.")
#: What the first files had for ids, and did not say.
_STRINGS: dict[str, IdType] = {"users": "string", "items": "string"}


class SavedModel(NamedTuple):
    """What a model file holds: the name and parameters of the model, and its state."""

    kind: str
    config: dict[str, Any]
    catalogue: Catalogue
    arrays: dict[str, Array]
    calibration: Calibration


def write_model(model: FittedModel, config: dict[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a fitted model with its parameters, whole or not at all."""
    catalogue = model.catalogue
    metadata = {
        "library": __version__,
        "model": type(model).__name__,
        "config": config,
        "aspects": list(catalogue.aspects),
        "primary_aspect": catalogue.primary_aspect,
        "ids": catalogue.id_types,
    }
    arrays = {**model.arrays, **model.calibration.to_arrays(), **catalogue.to_arrays()}
    return write_container(path, arrays, metadata, format_=FILE_FORMAT)


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """Open a model file; its arrays are mapped, not read."""
    arrays, metadata = read_container(path, format_=FILE_FORMAT)
    try:
        catalogue = Catalogue.from_arrays(
            arrays,
            tuple(metadata["aspects"]),
            metadata["primary_aspect"],
            metadata.get("ids", _STRINGS),
        )
        return SavedModel(
            kind=metadata["model"],
            config=metadata["config"],
            catalogue=catalogue,
            arrays={name: a for name, a in arrays.items() if not name.startswith(_SHARED)},
            calibration=Calibration.from_arrays(arrays),
        )
    except KeyError as error:
        raise unreadable(path, error) from None


def unreadable(path: str | os.PathLike[str], reason: Exception) -> ModelFileError:
    """Return the error of a file that is no model of this version."""
    return ModelFileError(f"{path} is not a model this version can read: {reason}")
