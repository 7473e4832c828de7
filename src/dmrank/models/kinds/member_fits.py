"""Fitting the members of a model one after the other, so that a killed fit goes on at the next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from dmrank.data.ratings import Ratings
from dmrank.fitted.fitting import Fitting
from dmrank.models.base import Model, load
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.files import atomic_path, read_json
from dmrank.support.progress import Bar
from dmrank.training.history import INTERRUPTED

_STATE = "members.json"


@dataclass
class MemberFits:
    """Fits members, or opens those that were fitted before the run was killed.

    Attributes
    ----------
    folder : path or None
        Where finished members are kept; None: nowhere.
    seed : int
        Which users stop members early.
    """

    folder: Path | None
    seed: int
    progress: Bar | None = None
    done: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, model: Model, fitting: Fitting) -> Self:
        """Find what a killed fit of the same model on the same ratings has left."""
        seed = model.config.seed
        if fitting.checkpoint is None:
            return cls(None, seed)
        folder = Path(fitting.checkpoint)
        run = _fingerprint(model, fitting)
        state = folder / _STATE
        if state.exists() and read_json(state, f"delete {folder}, and fit anew") != run:
            raise ConfigError(
                f"{folder} is a checkpoint of another run: use another folder or delete it"
            )
        _write(state, run)
        return cls(folder, seed)

    def within(self, name: str) -> MemberFits:
        """Return the same for a fit within this one."""
        folder = None if self.folder is None else self.folder / name
        return MemberFits(folder, self.seed, self.progress, done=self.done)

    def fit(
        self, name: str, unfitted: Model, train: Ratings, validation: Ratings | None
    ) -> tuple[Model, dict[str, Any]]:
        """Return a fitted member, and what validation chose for it."""
        if self.progress is not None:
            self.progress.update(len(self.done), note=name)
        self.done.append(name)
        if self.folder is None:
            model = _fitted(unfitted, train, validation, None)
            return model, model.settled()
        target, chosen = self.folder / f"{name}.dmrank", self.folder / f"{name}.json"
        if not chosen.exists():
            model = _fitted(unfitted, train, validation, self.folder / name)
            model.save(target)
            # Written last: what it stands beside is whole.
            _write(chosen, model.settled())
        return load(target), _read(chosen)


def _fitted(
    model: Model, train: Ratings, validation: Ratings | None, checkpoint: Path | None
) -> Model:
    model.fit(train, validation=validation, checkpoint=checkpoint)
    if model.history.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return model


def _fingerprint(model: Model, fitting: Fitting) -> dict[str, Any]:
    digest = hashlib.sha256()
    fitting.ratings.update_digest(digest)
    if fitting.validation is not None:
        fitting.validation.update_digest(digest)
    # The number of threads changes no bit, so that a run may go on with another.
    parameters = model.config.model_dump(mode="json", exclude={"threads"})
    return {"model": type(model).__name__, **parameters, "ratings": digest.hexdigest()}


def _read(path: Path) -> dict[str, Any]:
    remedy = "delete it, and the member is fitted again"
    values = read_json(path, remedy)
    if not isinstance(values, dict):
        raise DataError(f"{path} is damaged, it holds no parameters: {remedy}")
    return values


def _write(path: Path, values: Mapping[str, Any]) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
