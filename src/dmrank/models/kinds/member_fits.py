"""Fitting the members of a model, one after the other or on the workers that there are.

A killed fit goes on with the members that are missing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Any, Self

from dmrank.data.ratings import Ratings
from dmrank.fitted.fitting import Fitting
from dmrank.models.base import Model, load
from dmrank.support.errors import ConfigError, DataError
from dmrank.support.files import atomic_path, read_json
from dmrank.support.progress import Bar
from dmrank.support.workers import current_workers, run_in_order, shared
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
    files : dict of str to Path
        Where the fitted members are, if they are kept or workers are to open them.
    """

    folder: Path | None
    seed: int
    progress: Bar | None = None
    done: list[str] = field(default_factory=list)
    files: dict[str, Path] = field(default_factory=dict)

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
        self, members: Mapping[str, Model], train: Ratings, validation: Ratings | None
    ) -> Iterator[tuple[str, Model, dict[str, Any]]]:
        """Yield the fitted members by name, each with what validation chose for it."""
        workers, is_kept = current_workers(), self.folder is not None
        folder = self.folder if is_kept or workers is None else workers.new_folder()
        if folder is None:
            for name, unfitted in members.items():
                self._show(name)
                model = _fitted(unfitted, train, validation, None)
                yield name, model, model.settled()
            return
        place = folder.absolute()
        self.files = dict(self._fit_into(place, members, train, validation))
        for name in members:
            yield name, load(self.files[name]), _read(_chosen(place, name))

    def _fit_into(
        self,
        folder: Path,
        members: Mapping[str, Model],
        train: Ratings,
        validation: Ratings | None,
    ) -> Iterator[tuple[str, Path]]:
        """Fit members on workers as a whole, and then here those that use workers themselves."""

        def calls(names: list[str], *ratings: Any) -> Iterator[tuple[Any, ...]]:
            for name in names:
                self._show(name)
                model, is_kept = members[name], self.folder is not None
                yield folder, name, type(model), model.given, *ratings, is_kept

        whole = [name for name, model in members.items() if not model.spreads_its_fit]
        spread = [name for name, model in members.items() if model.spreads_its_fit]
        if whole:
            parts = calls(whole, shared(train), shared(validation))
            yield from zip(whole, run_in_order(_fit_into, parts), strict=True)
        parts = calls(spread, train, validation)
        yield from zip(spread, starmap(_fit_into, parts), strict=True)

    def _show(self, name: str) -> None:
        if self.progress is not None:
            self.progress.update(len(self.done), note=name)
        self.done.append(name)


def _fit_into(
    folder: Path,
    name: str,
    kind: type[Model],
    parameters: dict[str, Any],
    train: Ratings,
    validation: Ratings | None,
    has_checkpoints: bool,
) -> Path:
    """Fit a member and keep it in a folder, unless it is there already; return its file."""
    target, chosen = folder / f"{name}.dmrank", _chosen(folder, name)
    if not chosen.exists():
        checkpoint = folder / name if has_checkpoints else None
        model = _fitted(kind(**parameters), train, validation, checkpoint)
        model.save(target)
        # Written last: what it stands beside is whole.
        _write(chosen, model.settled())
    return target


def _chosen(folder: Path, name: str) -> Path:
    """Return the file that says what validation chose for a member."""
    return folder / f"{name}.json"


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
