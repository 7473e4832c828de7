"""The metadata of a file: which values its header must have, and of which type."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from dmrank.support.errors import ModelFileError


class Metadata(BaseModel):
    """Typed values of a header; a subclass says which, others are ignored."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=True)
    #: What a file with such a header is.
    content: ClassVar[str]

    @classmethod
    def read(cls, metadata: Mapping[str, Any], path: str | os.PathLike[str]) -> Self:
        """Take the metadata of a file, after a check."""
        try:
            return cls.model_validate(dict(metadata))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise unreadable(path, cls.content, f"{where or 'header'}: {first['msg']}") from None


A_MODEL: Final = "a model"


def unreadable(path: str | os.PathLike[str], content: str, reason: object) -> ModelFileError:
    """Return the error of a file that is not what it should be."""
    return ModelFileError(f"{path} is not {content} that this version can read: {reason}")
