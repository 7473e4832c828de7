"""Model files: the parameters and everything that was learned, in one container."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, cast, get_args

from pydantic import Field

from dmrank.data.ids import IdType
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import FittedModel
from dmrank.fitted.record import FitRecord
from dmrank.fitted.sizes import Sizes
from dmrank.support.containers import Container, read_container, write_container
from dmrank.support.errors import ModelFileError
from dmrank.support.layouts import checked_arrays
from dmrank.support.lazy_arrays import LazyArrays
from dmrank.support.metadata import A_MODEL, Metadata, unreadable
from dmrank.support.version import __version__

#: Arrays of a file that are not the model's own.
_SHARED = ("catalogue.", "calibration.")
_SIDES = ("users", "items")


class ModelMetadata(Metadata):
    """What the header of a model file says."""

    content: ClassVar[str] = A_MODEL

    model: str
    config: dict[str, Any]
    aspects: Annotated[list[str], Field(min_length=1)]
    primary_aspect: str
    #: Files of format 1 had strings, and did not say so.
    ids: dict[str, str] = Field(default_factory=lambda: dict.fromkeys(_SIDES, "string"))
    library: str | None = None
    #: Files of before 0.1.0 know nothing of their fit but the version.
    fit: FitRecord | None = None


class SavedModel(NamedTuple):
    """What a model file holds: the name and parameters of the model, and its state."""

    kind: str
    config: dict[str, Any]
    catalogue: Catalogue
    arrays: LazyArrays
    sizes: Sizes
    calibration: Calibration
    record: FitRecord


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
        "fit": model.record.model_dump(mode="json"),
    }
    arrays = {**model.arrays, **model.calibration.to_arrays(), **catalogue.to_arrays()}
    return write_container(path, arrays, metadata, content="model")


def read_model(path: str | os.PathLike[str], *, mapped: bool = True) -> SavedModel:
    """Open a model file; arrays of the model itself are not checked yet."""
    container = read_container(path, content="model", mapped=mapped)
    about = ModelMetadata.read(container.metadata, path)
    _check_header(about, path)
    sizes = _sizes(container, len(about.aspects))
    own = [name for name in container.shapes if not name.startswith(_SHARED)]
    shared = checked_arrays(
        container.arrays.some(container.shapes.keys() - set(own)),
        Catalogue.layout(sizes) | Calibration.layout(sizes.users, sizes.aspects),
        path,
    )
    catalogue = Catalogue.from_arrays(
        shared,
        tuple(about.aspects),
        about.primary_aspect,
        cast("dict[str, IdType]", about.ids),
        sizes,
        path,
    )
    if not mapped:
        catalogue.read_ids()
    return SavedModel(
        kind=about.model,
        config=about.config,
        catalogue=catalogue,
        arrays=container.arrays.some(own),
        sizes=sizes,
        calibration=Calibration.from_arrays(shared),
        record=about.fit or FitRecord(library=about.library),
    )


def _check_header(about: ModelMetadata, path: str | os.PathLike[str]) -> None:
    for side in _SIDES:
        type_ = about.ids.get(side)
        if type_ not in get_args(IdType):
            raise ModelFileError(
                f"{path} has ids of {side} of the type {type_!r}, which this version of dmrank "
                "does not know: upgrade dmrank"
            )
    if about.primary_aspect not in about.aspects or len(set(about.aspects)) < len(about.aspects):
        raise unreadable(path, A_MODEL, f"its aspects are {about.aspects}")


def _sizes(container: Container, aspects: int) -> Sizes:
    sizes = Sizes(0, 0, aspects, container.shapes, container.arrays)
    users, items = (sizes.length(f"catalogue.{side}.ends") for side in _SIDES)
    return sizes._replace(users=users, items=items)
