"""The settings that tuning chose, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping

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
            f"settings each, tuned on {len(study.tuning_split.train):,} training rows, fitted on "
            f"{len(study.split.train):,}. Everything else is the model's default. DMR-paper has "
            "the settings of the paper; DMR-R learns from pairs of rated items alone and is not "
            "tuned.",
            data,
            as_text(data).with_columns(seconds),
        )
    ]


def _row(study: Study, contender: Contender) -> dict[str, object]:
    found = study.tuned(contender.name) if contender.is_tuned else None
    return {
        "model": contender.name,
        "settings": _chosen(contender.given if found is None else found["parameters"]),
        "validation": found["value"] if found else None,
        "tuning, s": round(found["seconds"]) if found else None,
        "fit, s": study.fit_seconds(f"{contender.name}-{SEED}"),
    }


def _chosen(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in parameters.items())


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
