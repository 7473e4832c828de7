"""The table of what was found, in Markdown."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmrank.evaluation import bootstrap_interval

#: Titles of columns, and what is kept of a model.
COLUMNS = (
    ("NDCG@10", "ndcg@10 overall"),
    ("NDCG@10, average", "ndcg@10 average"),
    ("NDCG@50", "ndcg@50 overall"),
    ("NDCG@50, average", "ndcg@50 average"),
    ("MAP", "ap overall"),
    ("MAP, average", "ap average"),
    ("rated pairs", "rated pairs"),
    ("contrast", "contrast"),
)
OURS = "dmrank Hurdle"


def show(found: dict[str, dict[str, Any]]) -> None:
    """Print a row per model, and what the best peer is behind or ahead of ours."""
    if not found:
        raise SystemExit("no model has been judged yet: run it without --show")
    if len({one["test"] for one in found.values()}) > 1:
        raise SystemExit("the models were judged on different test ratings: begin a new folder")
    print("\n".join(rows(found)))
    print(
        "\n" + ", ".join(sorted({f"{one['library']} {one['version']}" for one in found.values()}))
    )
    for name, one in found.items():
        print(f"{name}: {one['settings']}")
    peers = [name for name in found if not name.startswith("dmrank")]
    if OURS in found and peers:
        best = max(peers, key=lambda name: found[name]["ndcg@10 overall"])
        gain = np.array(found[OURS]["per user"]) - np.array(found[best]["per user"])
        low, high = bootstrap_interval(gain)
        print(f"NDCG@10, {OURS} − {best}: {np.nanmean(gain):+.4f} [{low:+.4f}, {high:+.4f}]")


def recorded(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a record: a model that says nothing of contrasts has a dash."""
    return [
        {"model": f"{name} {one['version']}"}
        | {title: "–" if one[key] is None else one[key] for title, key in COLUMNS}
        for name, one in found.items()
    ]


def rows(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a table with the best of each column in bold, and all that are printed alike."""
    titles = ["", *(title for title, _ in COLUMNS), "fit, s"]
    lines = [titles, ["---"] * len(titles)]
    best = {key: max(one[key] or 0.0 for one in found.values()) for _, key in COLUMNS}
    for name, one in found.items():
        cells = [shown(one[key], best[key]) for _, key in COLUMNS]
        lines.append([name, *cells, f"{one['seconds']:.2g}"])
    return [f"| {' | '.join(line)} |" for line in lines]


def shown(value: float | None, best: float) -> str:
    if value is None:
        return "–"
    printed = f"{value:.4f}".removeprefix("0")
    return f"**{printed}**" if f"{value:.4f}" == f"{best:.4f}" else printed
