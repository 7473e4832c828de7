"""One run of the experiments: its data and settings, and the models, tuned and fitted once."""

from __future__ import annotations

import hashlib
import inspect
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dmrank.data.fingerprint import fingerprint
from dmrank.data.ratings import Ratings, Split
from dmrank.experiments.budgets import Budget
from dmrank.experiments.contenders import CONTENDERS, Contender
from dmrank.experiments.folder import RunFolder
from dmrank.experiments.tuning import search_space, tune
from dmrank.metrics import parse_metric
from dmrank.models import Model, load
from dmrank.models.config import Config
from dmrank.support.errors import ConfigError
from dmrank.support.version import __version__
from dmrank.training.validation import Validator

#: Tuning and early stopping look at it, ranking by the primary aspect.
TUNING_METRIC = "ndcg@10"
#: Seed of the split, of tuning and of the drawn pairs.
SEED = 0


@dataclass(frozen=True)
class StudySettings:
    """What to run.

    Attributes
    ----------
    contenders : tuple of Contender
        Which models.
    budget_name, budget : str, Budget
        How much work.
    seeds : int
        How often each model that starts at random is trained.
    k_core : int
        Users and items with fewer ratings are left out.
    threads : int or None
        Number of threads.
    """

    contenders: tuple[Contender, ...]
    budget_name: str
    budget: Budget
    seeds: int
    k_core: int
    threads: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return everything that the results of any model depend on."""
        return {
            "budget": {"name": self.budget_name, **asdict(self.budget)},
            "seeds": self.seeds,
            "k-core": self.k_core,
            "dmrank": __version__,
        }


class Study:
    """Tunes and fits models on one split, each once, however often it is cut off.

    Parameters
    ----------
    ratings : Ratings
        All ratings.
    name : str
        Name of the data.
    folder : Path
        Where results and finished work are kept.
    settings : StudySettings
        What to run.
    """

    def __init__(self, ratings: Ratings, name: str, folder: Path, settings: StudySettings) -> None:
        self.name, self.settings = name, settings
        self.ratings = ratings.k_core(settings.k_core)
        self.folder = RunFolder(
            folder, {"data": name, "ratings": fingerprint(self.ratings), **settings.to_dict()}
        )

        for contender in settings.contenders:
            if contender.role == "own":
                self._check_unchanged(contender)

    def _check_unchanged(self, contender: Contender) -> None:
        """Refuse a model of the user's own that is not the one whose results the folder has."""
        source = _source(contender.kind)
        kept = self.folder.keep_values(f"own/{contender.name}", lambda: {"source": source})
        if kept["source"] != source:
            raise ConfigError(
                f"{self.folder.path} holds results of another {contender.name}, whose source was "
                "not this one: name another folder"
            )

    def _contender(self, name: str) -> Contender:
        """Return who takes part under a name, or is a member of one who does."""
        taking_part = {contender.name: contender for contender in self.settings.contenders}
        return taking_part.get(name) or CONTENDERS[name]

    @cached_property
    def split(self) -> Split:
        """70 % of the rating vectors to train on, 15 % to validate, 15 % to test (paper 4.1)."""
        return self.ratings.split(seed=SEED)

    @cached_property
    def tuning_split(self) -> Split:
        """What models are tuned on: everything, or the ratings of some users."""
        return _some_users(self.split, self.settings.budget.tuning_rows)

    def has(self, *names: str) -> bool:
        """Return whether all of these models take part."""
        return set(names) <= {contender.name for contender in self.settings.contenders}

    def seeds_of(self, contender: Contender) -> range:
        """Return the seeds that a model is trained with."""
        return range(self.settings.seeds if contender.is_random else 1)

    def tuned(self, name: str) -> dict[str, Any]:
        """Return what tuning a contender found: its parameters, validation value and time."""
        return self.folder.keep_values(f"tuning/{name}", lambda: self._tune(self._contender(name)))

    def _tune(self, contender: Contender) -> dict[str, Any]:
        started = time.perf_counter()
        given = self._given(contender)
        if contender.is_random:
            given["patience"] = self.settings.budget.tuning_patience
        storage = self.folder.kept(f"tuning/{contender.name}.sqlite")
        tuning = tune(
            contender.kind,
            self.tuning_split,
            trials=self.settings.budget.trials,
            parameters=given,
            metric=TUNING_METRIC,
            seed=SEED,
            storage=storage,
        )
        searched = set(search_space(contender.kind.Config)) - set(given)
        result = {
            "parameters": {name: tuning.parameters[name] for name in sorted(searched)},
            "value": tuning.value,
            "seconds": time.perf_counter() - started,
            "trials": tuning.trials.to_dicts(),
        }
        storage.unlink()
        return result

    def _given(self, contender: Contender) -> dict[str, Any]:
        """Return the parameters that are not searched."""
        given = {**contender.given, "seed": SEED, "threads": self.settings.threads}
        # What is not random converges in the few rounds that it has: fewer would be another model.
        fields = contender.kind.Config.model_fields
        if contender.is_random and "iterations" in fields:
            whole = given.get("iterations", fields["iterations"].default)
            every = given.get("evaluate_every", fields["evaluate_every"].default)
            given["iterations"] = max(every, round(whole * self.settings.budget.iterations))
        return given

    def parameters(self, contender: Contender) -> dict[str, Any]:
        """Return the parameters of a contender, tuned ones included."""
        given = self._given(contender)
        if not contender.is_tuned:
            return {**self._of_members(contender), **given}
        return {**self.chosen(contender.name)["parameters"], **given}

    def _of_members(self, contender: Contender) -> dict[str, Any]:
        """Return the parameters with which the members of a contender take part themselves.

        They are tuned for it if they take no part, so that it is the same whoever else is asked
        for. Seed and threads are those of the contender.
        """
        return {
            f"{member.kind.__name__.lower()}.{name}": value
            for member in (self._contender(name) for name in contender.members)
            for name, value in self.parameters(member).items()
            if name not in ("seed", "threads")
        }

    def chosen(self, name: str) -> dict[str, Any]:
        """Return the setting that a tuned contender takes part with, and its validation value."""
        return self.folder.keep_values(
            f"chosen/{name}", lambda: self._choose(self._contender(name))
        )

    def _choose(self, contender: Contender) -> dict[str, Any]:
        """Take the best trial or, if trials saw some users only, the best of several on all."""
        tuned = self.tuned(contender.name)
        if self.tuning_split is self.split:
            return {"parameters": tuned["parameters"], "value": tuned["value"], "key": None}
        trials = [trial for trial in tuned["trials"] if trial["state"] == "complete"]
        best = sorted(trials, key=lambda trial: -trial["value"])[: self.settings.budget.finalists]
        finalists = [self._finalist(contender, n, trial) for n, trial in enumerate(best)]
        return max(finalists, key=lambda finalist: float(finalist["value"]))

    def _finalist(
        self, contender: Contender, number: int, trial: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Fit a setting on everything."""
        names = self.tuned(contender.name)["parameters"]
        parameters = {name: trial[name] for name in names}
        key = f"{contender.name}-finalist-{number}"
        model = self.fitted(key, contender.kind(**{**parameters, **self._given(contender)}))
        value = self._validator(model.scorer(model.weights(None)), self.settings.threads)
        return {"parameters": parameters, "value": value, "key": key}

    @cached_property
    def _validator(self) -> Validator:
        train, validation = self.split.train, self.split.validation
        users = Config.model_fields["validation_users"].default
        return Validator(train, validation, parse_metric(TUNING_METRIC), users, SEED)

    def model(self, name: str, seed: int = SEED) -> Model:
        """Return a contender, fitted on the training part."""
        contender = self._contender(name)
        return self.fitted(
            self.key(contender, seed),
            contender.kind(**{**self.parameters(contender), "seed": seed}),
            validated=contender.validated,
        )

    def key(self, contender: Contender, seed: int) -> str:
        """Return the name under which a fitted contender is kept."""
        of_finalist = self.chosen(contender.name)["key"] if contender.is_tuned else None
        return of_finalist if of_finalist and seed == SEED else f"{contender.name}-{seed}"

    def fitted(
        self, key: str, unfitted: Model, *, validated: bool = True, on: Split | None = None
    ) -> Model:
        """Fit a model, or open it if that was done before."""
        target = self.folder.kept(f"models/{key}.dmrank")
        if target.exists():
            return load(target)
        split = on or self.split
        checkpoint = self.folder.kept(f"checkpoints/{key}")
        validation = split.validation if validated else None
        started = time.perf_counter()
        unfitted.fit(split.train, validation=validation, checkpoint=checkpoint)
        seconds = time.perf_counter() - started
        if unfitted.history.stopped == "interrupted":
            raise KeyboardInterrupt
        iterations = unfitted.history.best_iteration if validated else None
        self.folder.keep_values(
            f"fits/{key}", lambda: {"seconds": seconds, "best iteration": iterations}
        )
        unfitted.save(target)
        shutil.rmtree(checkpoint, ignore_errors=True)
        return load(target)

    def fit_seconds(self, key: str) -> float:
        """Return how long a fit took; if it was cut off, its last part."""
        return float(self.folder.keep_values(f"fits/{key}", dict).get("seconds", float("nan")))


def _source(kind: type[Model]) -> str:
    """Return a short name of the source of a class; "" where there is none, as in a shell."""
    try:
        return hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()[:16]
    except (OSError, TypeError):
        return ""


def _some_users(split: Split, most_rows: int | None) -> Split:
    """Keep the ratings of randomly drawn users, so that at most so many training rows are left."""
    if most_rows is None or len(split.train) <= most_rows:
        return split
    sizes = np.diff(split.train.user_pointer)
    order = np.random.default_rng(SEED).permutation(len(sizes))
    kept = np.zeros(len(sizes), dtype=np.bool_)
    kept[order[np.cumsum(sizes[order]) <= most_rows]] = True

    def of_kept(part: Ratings) -> Ratings:
        return part.select(np.flatnonzero(kept[part.user_codes]))

    return Split(of_kept(split.train), of_kept(split.validation), of_kept(split.test))
