"""What takes the time of a run of the experiments, done ahead by the workers that there are.

Tuning a contender, and fitting one with a seed, leave their results in the folder of the run, where
the steps of the run find them.
"""

from __future__ import annotations

import time
from pathlib import Path

from dmrank.data.ratings import Ratings
from dmrank.experiments.contenders import with_members
from dmrank.experiments.study import Study, StudySettings
from dmrank.support.progress import bar
from dmrank.support.workers import current_workers, run_in_order


def work_ahead(study: Study, ratings: Ratings) -> None:
    """Tune and fit everybody on the workers, if there are any.

    Parameters
    ----------
    study : Study
        The run.
    ratings : Ratings
        What it was made with.
    """
    workers = current_workers()
    if workers is None:
        return
    workers.check_sees(study.folder.settings_file)
    contenders = study.settings.contenders
    tuned = [(each.name, None) for each in with_members(contenders) if each.is_tuned]
    fits = [(each.name, seed) for each in contenders for seed in study.seeds_of(each)]
    same = (workers.share(ratings), study.name, study.folder.path.absolute(), study.settings)
    with bar("tuning and fitting", total=len(tuned) + len(fits)) as progress:
        done = 0
        # A fit needs what tuning has found.
        for pieces in (tuned, fits):
            for title, seconds in run_in_order(_work, ((*same, *piece) for piece in pieces)):
                study.folder.add_seconds(title, seconds)
                done += 1
                progress.update(done, note=title)


def _work(
    ratings: Ratings, title: str, folder: Path, settings: StudySettings, name: str, seed: int | None
) -> tuple[str, float]:
    """Tune a contender, or fit it with a seed; return what was done, and in how many seconds."""
    study = Study(ratings, title, folder, settings)
    started = time.perf_counter()
    if seed is None:
        study.tuned(name)
        study.chosen(name)
    else:
        study.model(name, seed)
    step = f"tuning {name}" if seed is None else f"fitting {name}"
    return step, time.perf_counter() - started
