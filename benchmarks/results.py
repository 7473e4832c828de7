"""Put the tables and figures of finished runs of `dmrank paper` into the documentation.

    python -m benchmarks.results RUN_FOLDER… --out docs/results

Each run becomes a page in Markdown with its figures beside it; nothing is computed here. Its date
is that of its last table, its versions are those of the environment that writes the page: run both
in one.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import platform
import shutil
from pathlib import Path
from typing import Any

from benchmarks.record import made_with, versions_here

DATA = Path(__file__).parents[2] / "shared" / "data"
#: In the order of the paper.
EXHIBITS = (
    "table-1", "table-1-aspects", "table-2", "table-2-sampled", "table-2-aspects",
    "table-2-metrics", "table-3", "lists-by-aspect", "preference", "table-4", "figure-1",
    "figure-2", "figure-3", "figure-4", "figure-4-calibration", "figure-5a", "figure-5b",
    "settings",
)  # fmt: skip


#: Runs of the project, by the names of their folders.
TITLES = {
    "yahoo-movies": "Yahoo! Movies",
    "tripadvisor": "TripAdvisor",
    "beeradvocate": "BeerAdvocate",
    "tripadvisor-text": "TripAdvisor, ratings extracted from text",
}


def write_page(run: Path, out: Path) -> Path:
    """Write the page of one run."""
    settings = json.loads((run / "settings.json").read_text(encoding="utf-8"))
    steps = (run / "work" / "seconds.jsonl").read_text(encoding="utf-8").splitlines()
    seconds = sum(json.loads(step)[1] for step in steps)
    name = run.resolve().name
    lines = [
        f"# {TITLES.get(name, name)}",
        "",
        f"    {command(settings, name)}",
        "",
        f"{len(settings['models'])} models, {settings['budget']['trials']} settings each, "
        f"{settings['seeds']} seed; {seconds / 60:.0f} minutes. Finished on {finished(run)}; "
        f"{made_with(platform.python_version(), versions_here())}.",
    ]
    figures = out / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for exhibit in EXHIBITS:
        picture, table = run / "figures" / f"{exhibit}.png", run / "tables" / f"{exhibit}.md"
        if not (picture.exists() or table.exists()):
            continue
        lines += ["", f"## {exhibit.replace('-', ' ').capitalize()}", ""]
        if picture.exists():
            shutil.copyfile(picture, figures / f"{name}-{exhibit}.png")
            lines += [f"![{exhibit}](figures/{name}-{exhibit}.png)", ""]
        if table.exists():
            lines.append(table.read_text(encoding="utf-8").rstrip())
    page = out / f"{name}.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


def finished(run: Path) -> str:
    """Return the day on which the last table of a run was written."""
    last = max(table.stat().st_mtime for table in (run / "tables").glob("*.md"))
    return dt.datetime.fromtimestamp(last, dt.UTC).date().isoformat()


def command(settings: dict[str, Any], name: str) -> str:
    """Return the command that makes a run, with what is not the default."""
    file = f"{settings['data']}.parquet"
    folder = "../shared/data/" if (DATA / file).exists() else ""
    core = "" if settings["k-core"] == 5 else f" --k-core {settings['k-core']}"
    budget = settings["budget"]["name"]
    return f"dmrank paper --ratings {folder}{file} --out {name} --budget {budget}{core}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    arguments = parser.parse_args()
    for run in arguments.runs:
        print(write_page(run, arguments.out))


if __name__ == "__main__":
    main()
