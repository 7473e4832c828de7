"""Model and index files of a version that later ones have to open, and what they answer.

`make golden` writes those of the version at hand, before it is released; never again afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import dmrank
from dmrank import ApproximateIndex, Model, Ratings
from dmrank.models import MODELS
from dmrank.support.version import __version__

RELEASED = Path(__file__).parent / "released"
#: Models that between them have every kind of array, small and quick.
KEPT: dict[str, dict[str, Any]] = {
    "hurdle": {"ials": {"factors": 2, "iterations": 2}, "mixedeffects": {"iterations": 2}},
    "blend": {"ials": {"factors": 2, "iterations": 2}},
    "dmr": {"factors": 2, "iterations": 4, "batch_size": 20, "item_offsets": True},
    "mixedeffects": {"iterations": 2, "personal_strength": 0.5},
    "ease": {"weights_per_item": 3},
    "ials": {"factors": 2, "iterations": 2},
    "itemmean": {},
}
INDEX = "ials.index.file"


def make_ratings() -> Ratings:
    """Return a few ratings with gaps, times, and ids beyond ASCII."""
    rng = np.random.default_rng(0)
    pairs = [(f"u{u}", f"é{i}") for u in range(12) for i in range(8) if rng.random() < 0.7]
    users, items = zip(*pairs, strict=True)
    values = rng.integers(1, 6, (len(pairs), 2)).astype(float)
    values[::7, 1] = np.nan
    return Ratings.from_arrays(
        users, items, values, aspects=["overall", "value"],
        timestamps=1_300_000_000 + 86_400 * np.arange(len(pairs)),
    )  # fmt: skip


def answers(model: Model) -> dict[str, Any]:
    """Return what is asked of every kept model."""
    lists = model.recommend(["u3", "u5"], n=4, by={"overall": 1, "value": 2}, exclude_seen=False)
    return {
        "items": lists["item"].to_list(),
        "scores": lists["score"].to_list(),
        "predicted": model.predict("u3", ["é1", "é2"]).tolist(),
        "training": model.card().facts["training"],
    }


def index_answers(index: ApproximateIndex) -> list[str]:
    """Return what is asked of the kept index."""
    return index.recommend(["u3", "u5"], n=3, exclude_seen=False)["item"].to_list()


def write(folder: Path) -> None:
    """Write the files of the version at hand, and what they answer."""
    folder.mkdir(parents=True)
    ratings, told = make_ratings(), {}
    for name, parameters in KEPT.items():
        model = MODELS[name](threads=1, seed=1, **parameters).fit(ratings)
        told[name] = answers(dmrank.load(model.save(folder / f"{name}.file")))
        if name == "ials":
            index = model.index(clusters=2, probes=2)
            index.save(folder / INDEX)
            told[INDEX] = {"items": index_answers(index)}
    text = json.dumps(told, indent=1, ensure_ascii=False) + "\n"
    (folder / "answers.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(RELEASED / __version__)
