"""Model files that many blocks of work read: opened once per process, the same from first to last.

Blocks are given the path of a model and not the model: it may be larger than what a worker is sent.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeAlias

from dmrank.models.base import Model, load
from dmrank.support.errors import ModelFileError

#: Models that a process keeps open; they are mapped, and take memory by what is read of them.
_MOST_OPEN: Final = 4


class ModelFile(NamedTuple):
    """A model file as it was when work with it began.

    Attributes
    ----------
    path : str
        Where it is, from the root on: workers have folders of their own.
    size, modified : int
        Its length in bytes, and the time of its last change in nanoseconds.

    Examples
    --------
    >>> import tempfile
    >>> from dmrank import ItemMean, make_ratings
    >>> model = ItemMean().fit(make_ratings(50, 20, 500, seed=1).ratings)
    >>> file = ModelFile.at(model.save(Path(tempfile.mkdtemp()) / "means.dmrank"))
    >>> opened(file) is opened(file)
    True
    """

    path: str
    size: int
    modified: int

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> Self:
        """Return a file as it is now."""
        place = Path(path).absolute()
        try:
            status = place.stat()
        except OSError as error:
            raise ModelFileError(f"{place} cannot be read: {error.strerror}") from None
        return cls(str(place), status.st_size, status.st_mtime_ns)


#: A model by its file: a path, or a file that must not have changed since.
ModelSource: TypeAlias = str | os.PathLike[str] | ModelFile

_open: OrderedDict[ModelFile, Model] = OrderedDict()


def opened(source: ModelSource) -> Model:
    """Return the model of a file; refuse one that is no longer what it was."""
    file = source if isinstance(source, ModelFile) else ModelFile.at(source)
    if ModelFile.at(file.path) != file:
        raise ModelFileError(
            f"{file.path} was changed while it was in use: leave the file alone until the work is "
            "done, and start it again"
        )
    if file not in _open:
        _open[file] = load(file.path)
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)
    _open.move_to_end(file)
    return _open[file]
