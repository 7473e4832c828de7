"""The settings that tuning chose, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import polars as pl

from dmrank.experiments.contenders import Contender
from dmrank.experiments.exhibit import Exhibit, as_text, number
from dmrank.experiments.study import SEED, TUNING_METRIC, Study


def settings_used(study: Study) -> list[Exhibit]:
    """Return one row per model."""
    data = pl.DataFrame([_row(study, contender) for contender in study.settings.contenders])
    seconds = pl.Series("fit, s", [number(value, 1) for value in data["fit, s"]])
    return [
        Exhibit(
            "settings",
            "Settings of the models",
            f"Chosen by {TUNING_METRIC} on validation ratings among {study.settings.budget.trials} "
            f"settings each, tuned on {len(study.tuning_split.train):,} training rows"
            f"{_finals(study)}, fitted on {len(study.split.train):,}. Everything else is the "
            "model's default. DMR-paper has the settings of the paper; DMR-R learns from pairs of "
            "rated items alone and is not tuned. Blend and Hurdle are not tuned as a whole: each "
            "of their members has the setting that was chosen for it alone, among as many.",
            data,
            as_text(data).with_columns(seconds),
        )
    ]


def _finals(study: Study) -> str:
    if study.tuning_split is study.split:
        return ""
    return f" and, the best {study.settings.budget.finalists} of them, on all"


def _row(study: Study, contender: Contender) -> dict[str, object]:
    chosen = study.chosen(contender.name) if contender.is_tuned else None
    return {
        "model": contender.name,
        "settings": _text(_settings(study, contender)),
        "validation": chosen["value"] if chosen else None,
        "tuning, s": round(study.tuned(contender.name)["seconds"]) if chosen else None,
        "fit, s": study.fit_seconds(study.key(contender, SEED)),
    }


def _settings(study: Study, contender: Contender) -> Mapping[str, object]:
    """Return what is not the default, of members as well."""
    if contender.is_tuned:
        return cast("Mapping[str, object]", study.chosen(contender.name)["parameters"])
    of_members = {
        f"{name}: {parameter}": value
        for name in contender.members
        for parameter, value in study.chosen(name)["parameters"].items()
    }
    return {**of_members, **contender.given}


def _text(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in parameters.items())


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
