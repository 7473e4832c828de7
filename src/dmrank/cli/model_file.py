"""Model files of `dmrank fit`: what was learned is not lost, whatever happens to its place."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from dmrank.support.errors import WriteError

if TYPE_CHECKING:
    from dmrank.models import Model


def save_model(model: Model, out: Path) -> Path:
    """Write a model; if that fails, keep it in a temporary place that the error names."""
    try:
        return model.save(out)
    except OSError as error:
        raise WriteError(f"{error}; {_keep(model, out.name)}") from None


def _keep(model: Model, name: str) -> str:
    """Write a model where there is room, and say where."""
    for folder in (tempfile.gettempdir(), str(Path.home())):
        try:
            place = tempfile.mkdtemp(prefix="dmrank-", dir=folder)
        except OSError:
            continue
        try:
            return f"the model is kept in {model.save(Path(place) / name)}"
        except OSError:
            shutil.rmtree(place, ignore_errors=True)
    return f"there was no room for the model in {tempfile.gettempdir()} either"


def interrupted_file(out: Path) -> Path:
    """Return where the model so far of a fit that is stopped goes: `out` stays as it was.

    Examples
    --------
    >>> interrupted_file(Path("models/m.dmrank")).name
    'm.interrupted.dmrank'
    """
    return out.with_name(f"{out.stem}.interrupted{out.suffix}")
