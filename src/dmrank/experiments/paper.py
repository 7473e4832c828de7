"""All tables and figures of the paper, on any ratings."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from dmrank.compiled.ranges import count_threads
from dmrank.data.ratings import Ratings
from dmrank.experiments.ahead import work_ahead
from dmrank.experiments.budgets import find_budget
from dmrank.experiments.contenders import (
    CONTENDERS,
    Contender,
    find_contenders,
    with_members,
)
from dmrank.experiments.exhibit import Exhibit
from dmrank.experiments.figure_2 import directions
from dmrank.experiments.figure_3 import groups
from dmrank.experiments.figure_4 import confidence
from dmrank.experiments.figure_5 import gradient_term, margin, ranking_by_margin
from dmrank.experiments.folder import RunFolder
from dmrank.experiments.lists_by_aspect import lists_by_aspect
from dmrank.experiments.page import Section, make_page, to_markdown
from dmrank.experiments.preference import lists_with, preference, shares
from dmrank.experiments.rankings import judge
from dmrank.experiments.settings_used import settings_used
from dmrank.experiments.study import SEED, TUNING_METRIC, Study, StudySettings
from dmrank.experiments.table_1 import statistics
from dmrank.experiments.table_2 import PROTOCOLS, ranking
from dmrank.experiments.table_3 import pair_orders
from dmrank.experiments.table_4 import explanations
from dmrank.models.base import Model
from dmrank.support.errors import ConfigError
from dmrank.support.extras import require
from dmrank.support.files import write_table
from dmrank.support.plots import check_drawing, save
from dmrank.support.progress import bar, logger, say
from dmrank.support.version import __version__

#: What the results depend on.
_PACKAGES = ("numpy", "numba", "scipy", "polars", "optuna", "torch", "matplotlib")


@dataclass(frozen=True)
class Step:
    """A piece of work that is kept when it is done."""

    title: str
    weight: float
    run: Callable[[], object]


def run_paper(
    ratings: Ratings,
    out: Path,
    *,
    name: str = "ratings",
    models: Sequence[str | type[Model]] | None = None,
    budget: str = "standard",
    seeds: int | None = None,
    k_core: int = 5,
    threads: int | None = None,
) -> Path:
    """Tune, train, judge and compare all models, and write the paper's tables and figures.

    A run that was cut off goes on where it stopped when it is started again with the same folder
    and settings; a folder with a run of other settings is refused. The models may be others: what
    is finished is kept by model, and the report is on those that are asked for now.

    Parameters
    ----------
    ratings : Ratings
        All ratings; they are split 70/15/15.
    out : Path
        Folder for ``report.html``, ``tables/`` and ``figures/``.
    name : str
        Name of the data.
    models : sequence of str or type of Model, optional
        Which models take part, by their names in the tables; a model of one's own by its class, or
        as ``"module:Class"``. By default all of ours, without those that need PyTorch if it is not
        installed.
    budget : {"quick", "standard", "full"}
        How much work.
    seeds : int, optional
        How often each model is trained; results are means over them. By default what the budget
        says.
    k_core : int
        Users and items with fewer ratings are left out.
    threads : int, optional
        Number of threads; by default every core.

    Returns
    -------
    Path
        The report.

    Examples
    --------
    >>> import tempfile
    >>> import dmrank
    >>> ratings = dmrank.make_ratings(80, 40, 1_600, seed=1).ratings
    >>> folder = Path(tempfile.mkdtemp()) / "results"
    >>> page = run_paper(ratings, folder, models=["ItemMean", "Popularity"], budget="quick")
    >>> page.name, (folder / "tables" / "table-2.md").exists()
    ('report.html', True)
    """
    chosen = find_budget(budget)
    contenders = find_contenders(models)
    if models is None:
        _say_left_out(contenders)
    check_packages(contenders)
    count = chosen.seeds if seeds is None else seeds
    if count < 1:
        raise ConfigError(f"seeds={count}: train each model at least once")
    settings = StudySettings(contenders, budget, chosen, count, k_core, threads)
    study = Study(ratings, name, Path(out), settings)
    work_ahead(study, ratings)
    steps = list(_steps(study))
    _run_steps(steps, study.folder)
    sections = [_write(study, exhibit) for exhibit in _exhibits(study)]
    page = make_page(
        f"Directional multivariate ranking on {name}",
        f"{study.ratings!r}. Budget “{budget}”: {chosen.trials} settings per model tried on "
        f"validation ratings ({TUNING_METRIC} by {ratings.primary_aspect}), "
        f"{count} seed{'s' if count > 1 else ''}; test ratings looked at once.",
        sections,
        _facts(study, steps),
    )
    report = study.folder.write_text("report.html", page)
    study.folder.finish_report(
        [contender.name for contender in contenders],
        [file for section in sections for file in section.files],
    )
    return report


def _say_left_out(contenders: Sequence[Contender]) -> None:
    """Say who cannot take part, before anything is done."""
    missing = [name for name, each in CONTENDERS.items() if each not in contenders]
    if missing:
        say(
            f"PyTorch is not installed: going on without {' and '.join(missing)} "
            "(pip install dmrank[neural] for them)"
        )


def check_packages(contenders: Sequence[Contender]) -> None:
    """Raise if a package is missing that the work would stop at, hours later."""
    check_drawing()
    if any(contender.is_tuned for contender in with_members(contenders)):
        require("optuna", "tuning")


def _steps(study: Study) -> Iterator[Step]:
    """List the work whose results are kept, in an order in which each has what it needs."""
    contenders = study.settings.contenders
    weight = study.settings.budget.trials / 3
    for contender in with_members(contenders):
        if contender.is_tuned:
            yield Step(f"tuning {contender.name}", weight, _later(study.tuned, contender.name))
            yield Step(f"choosing {contender.name}", 1, _later(study.chosen, contender.name))
    for contender in contenders:
        for seed in study.seeds_of(contender):
            yield Step(f"fitting {contender.name}", 1, _later(study.model, contender.name, seed))
            for protocol in PROTOCOLS:
                yield Step(
                    f"judging {contender.name}, {protocol}",
                    0.2,
                    _later(judge, study, contender, seed, protocol),
                )
    if study.has("DMR"):
        for xi in study.settings.budget.margins:
            yield Step(f"DMR with margin {xi:g}", 0.7, _later(ranking_by_margin, study, xi))
    for share in shares(study):
        yield Step(f"lists with preference {share:g}", 0.5, _later(lists_with, study, share))
    for make in (ranking, pair_orders, lists_by_aspect, preference, confidence, explanations):
        yield Step(make.__name__.replace("_", " "), 1, _later(make, study))


def _later(function: Callable[..., object], *arguments: object) -> Callable[[], object]:
    return lambda: function(*arguments)


def _run_steps(steps: Sequence[Step], folder: RunFolder) -> None:
    done = 0.0
    with bar("experiments", total=round(sum(step.weight for step in steps), 1)) as progress:
        for number, step in enumerate(steps, start=1):
            progress.update(round(done, 1), note=step.title)
            started, kept = time.perf_counter(), folder.pieces
            step.run()
            done += step.weight
            seconds = time.perf_counter() - started
            if folder.pieces > kept:
                folder.add_seconds(step.title, seconds)
            logger.info("%d/%d %s: %.0f s", number, len(steps), step.title, seconds)


def _exhibits(study: Study) -> Iterator[Exhibit]:
    makers = (
        statistics, ranking, pair_orders, lists_by_aspect, preference, explanations, directions,
        groups, confidence,
    )  # fmt: skip
    for make in makers:
        yield from make(study)
    yield from margin(study)
    yield from gradient_term()
    yield from settings_used(study)


def _write(study: Study, exhibit: Exhibit) -> Section:
    """Write an exhibit's files."""
    root = study.folder.path
    files = [f"tables/{exhibit.name}.csv"]
    write_table(exhibit.data, root / files[0])
    if exhibit.shown is not None:
        files.append(f"tables/{exhibit.name}.md")
        text = f"**{exhibit.title}.** {exhibit.note}\n\n{to_markdown(exhibit.shown)}\n"
        study.folder.write_text(files[-1], text)
    picture = None
    if exhibit.draw is not None:
        drawn = exhibit.draw()
        for ending in ("svg", "png"):
            files.append(f"figures/{exhibit.name}.{ending}")
            picture = save(drawn, root / files[-1])
    return Section(exhibit, files, picture)


def _facts(study: Study, steps: Sequence[Step]) -> dict[str, str]:
    budget = study.settings.budget
    seconds = study.folder.seconds({step.title for step in steps})
    return {
        "data": f"{study.name}: {study.ratings!r}",
        "split": f"70/15/15 at random, seed {SEED}: {study.split!r}",
        "models": ", ".join(contender.name for contender in study.settings.contenders),
        "budget": f"{study.settings.budget_name}: {budget}",
        "seeds": str(study.settings.seeds),
        "versions": ", ".join(_versions()),
        "machine": f"{platform.machine()}, {count_threads(study.settings.threads)} threads, "
        f"{platform.system()}",
        "run time": f"{seconds / 60:.1f} minutes",
    }


def _versions() -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    yield f"dmrank {__version__}"
    for package in _PACKAGES:
        try:
            yield f"{package} {version(package)}"
        except ImportError:
            continue
