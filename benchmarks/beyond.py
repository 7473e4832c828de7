"""Hurdle beside its opponents: lists by every aspect, on five splits, tuned and with defaults.

    python -m benchmarks.beyond --tune --runs RUNS [--files yahoo-movies …] [--trials 8]
    python -m benchmarks.beyond --fit --runs RUNS [--files …] [--seeds 1 2 3 4 5] [--by time]
    python -m benchmarks.beyond --show --runs RUNS [--record]

Settings are tuned on validation of seed 1, with the same number of trials for every model that has
something to tune (on the ratings of some users where there are many). Test parts of seeds 1 to 5
are looked at once, by `--fit`; what is done is kept in the folder RUNS, so that a killed run goes
on. A user's value is the mean over splits; tests are paired over users, with Holm's correction.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.evaluation import bootstrap_interval, evaluate, lift, rated_pairs

DATA = Path(__file__).parents[2] / "shared" / "data"
FILES = ("yahoo-movies", "tripadvisor", "beeradvocate")
OURS = "Hurdle"
METRICS = ("ap", "ndcg@10", "ndcg@50")
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
#: More training rows than these are cut to those of some users for tuning.
TUNING_ROWS = 60_000
#: With more test users than these, shares other than the chosen one are judged on a sample.
MOST_CURVE_USERS, CURVE_USERS = 8_000, 2_000
DMR_R = {"rated_share": 1.0, "item_offsets": True, "regularization": 0.1, "iterations": 1_500}

PLAIN_EASE = {"activity_exponent": 0.0, "dropout": 0.0}

#: Each model, and whether it stops early on validation.
MODELS: dict[str, tuple[Callable[..., dmrank.Model], bool]] = {
    "Popularity": (dmrank.Popularity, True),
    "ItemMean": (dmrank.ItemMean, True),
    "PTF": (dmrank.PTF, True),
    "M-BPR": (dmrank.MBPR, True),
    "DMR": (dmrank.DMR, True),
    "DMR-R": (lambda **given: dmrank.DMR(**{**DMR_R, **given}), False),
    "EASE, plain": (lambda **given: dmrank.EASE(**{**PLAIN_EASE, **given}), True),
    "EASE": (dmrank.EASE, True),
    "iALS": (dmrank.IALS, True),
    "Cooccurrence": (dmrank.Cooccurrence, True),
    OURS: (dmrank.Hurdle, True),
}
#: What is tuned; a Hurdle takes the settings of its members.
KINDS: dict[str, type[dmrank.Model]] = {
    "ItemMean": dmrank.ItemMean, "PTF": dmrank.PTF, "M-BPR": dmrank.MBPR, "DMR": dmrank.DMR,
    "EASE, plain": dmrank.EASE, "EASE": dmrank.EASE, "iALS": dmrank.IALS,
    "Cooccurrence": dmrank.Cooccurrence,
}  # fmt: skip


def split_of(file: str, seed: int, by: str = "random") -> dmrank.Split:
    ratings = dmrank.read_ratings(DATA / f"{file}.parquet", verbose=False)
    return ratings.split(seed=seed) if by == "random" else ratings.split(by="time")


def some_users(split: dmrank.Split) -> dmrank.Split:
    """Keep users whose training rows are not too many to tune on."""
    sizes = np.diff(split.train.user_pointer)
    order = np.random.default_rng(0).permutation(len(sizes))
    kept = np.zeros(len(sizes), dtype=np.bool_)
    kept[order[np.cumsum(sizes[order]) <= TUNING_ROWS]] = True
    parts = (split.train, split.validation, split.test)
    return dmrank.Split(*(part.select(np.flatnonzero(kept[part.user_codes])) for part in parts))


def test_of_some(split: dmrank.Split) -> dmrank.Split:
    """Keep test ratings of fewer users, where the curve over shares would take hours."""
    users = np.unique(split.test.user_codes)
    if len(users) <= MOST_CURVE_USERS:
        return split
    kept = np.random.default_rng(0).choice(users, CURVE_USERS, replace=False)
    test = split.test.select(np.flatnonzero(np.isin(split.test.user_codes, kept)))
    return dmrank.Split(split.train, split.validation, test)


def tune(file: str, models: list[str], trials: int, runs: Path, threads: int | None) -> None:
    """Find settings on validation of seed 1; those of the members are the Hurdle's."""
    whole = split_of(file, 1)
    part = whole if len(whole.train) <= TUNING_ROWS else some_users(whole)
    for name, kind in KINDS.items():
        target = runs / file / "tuned" / f"{name}.json"
        if target.exists() or name not in models:
            continue
        given: dict[str, Any] = {"threads": threads}
        if "patience" in kind.Config.model_fields and name in ("DMR", "M-BPR"):
            given["patience"] = 4
        if name == "EASE, plain":
            given |= PLAIN_EASE
        started = time.perf_counter()
        # The regression of all items is as quick on all users, and is another on few.
        of = whole if kind in (dmrank.EASE, dmrank.IALS, dmrank.Cooccurrence) else part
        found = dmrank.tune(kind, of, trials=trials, parameters=given)
        chosen = {key: found.parameters[key] for key in found.trials.columns[4:]}
        keep(target, {"parameters": chosen, "value": found.value, "trials": len(found.trials)})
        print(f"{file} {name}: {found} in {time.perf_counter() - started:.0f} s", flush=True)


def settings(file: str, name: str, runs: Path) -> dict[str, Any]:
    def found(each: str) -> dict[str, Any]:
        text = (runs / file / "tuned" / f"{each}.json").read_text(encoding="utf-8")
        return json.loads(text)["parameters"]

    if name == OURS:
        members = {"ease": "EASE", "ials": "iALS", "cooccurrence": "Cooccurrence"}
        return {"members": {member: found(each) for member, each in members.items()}}
    return found(name) if name in KINDS else {}


def keep(target: Path, values: dict[str, Any]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".part")
    temporary.write_text(json.dumps(values), encoding="utf-8")
    temporary.rename(target)


def fit(
    file: str,
    models: list[str],
    split: dmrank.Split,
    seed: int,
    folder: str,
    runs: Path,
    threads: int | None,
) -> None:
    """Fit models on one split, and keep what each user gets of each."""
    kind = folder.rsplit("-", maxsplit=1)[-1]
    for name in models:
        make, validated = MODELS[name]
        target = runs / file / folder / f"{name}.json"
        if target.exists():
            continue
        given = settings(file, name, runs) if kind == "tuned" else {}
        started = time.perf_counter()
        model = make(threads=threads, seed=seed, **given)
        model.fit(split.train, validation=split.validation if validated else None)
        if name == OURS and kind == "tuned":
            # What is tuned is chosen by NDCG@10: the share as well, not the largest that is good.
            best = int(np.argmax(model.arrays["curve.values"]))
            model = model.with_preference(float(model.arrays["curve.shares"][best]))
        seconds = time.perf_counter() - started
        shares = SHARES if kind == "default" else ()
        keep(target, {"seconds": seconds, **judge(model, split, name, shares, threads)})
        print(f"{file} {folder} {name}: {seconds:.0f} s", flush=True)


def judge(
    model: dmrank.Model,
    split: dmrank.Split,
    name: str,
    shares: tuple[float, ...],
    threads: int | None,
) -> dict[str, Any]:
    """Ask a model for everything that is compared, a Hurdle also with other shares."""
    report = evaluate({name: model}, split, metrics=METRICS, threads=threads)
    codes = split.train.users.codes(report.users)
    found: dict[str, Any] = {}
    for metric in METRICS:
        each = [report.values[name, aspect, metric] for aspect in report.aspects]
        with warnings.catch_warnings():  # a user without a rating on any aspect
            warnings.simplefilter("ignore", RuntimeWarning)
            mean = np.nanmean(each, axis=0)
        primary = report.values[name, report.primary_aspect, metric]
        found[f"{metric} overall"] = by_user(primary, codes, len(split.train.users))
        found[f"{metric} average"] = by_user(mean, codes, len(split.train.users))
    pairs = rated_pairs(split)
    found["pairs"] = pairs.accuracy(model).pooled
    found["contrast"] = pairs.contrast(model).pooled
    if name == OURS:
        found["preference"] = model.preference
        fewer = test_of_some(split)
        for n, share in enumerate((model.preference, *shares)):
            asked = fewer if n else split
            measured = lift(model.with_preference(share), asked, threads=threads)
            per_user = measured.mean_per_user(specific=True)
            low, high = bootstrap_interval(per_user)
            ndcg = evaluate({name: model.with_preference(share)}, asked, metrics=["ndcg@10"])
            found.setdefault("curve", []).append(
                {
                    "share": share,
                    "specific": float(np.nanmean(per_user)) if len(per_user) else None,
                    "interval": [low, high],
                    "lift": float(np.nanmean(measured.mean_per_user(specific=False)))
                    if len(per_user)
                    else None,
                    "ndcg": float(ndcg.table()["ndcg@10 average"][0]),
                }
            )
    return found


def by_user(values: NDArray[np.float64], codes: NDArray[np.integer], users: int) -> list[float]:
    table = np.full(users, np.nan)
    table[codes] = values
    return table.tolist()


def show(runs: Path, by: str, keeps: bool) -> None:
    """Print means over splits, and what each model is behind the Hurdle; keep them for the docs."""
    for file in FILES:
        for kind in ("tuned", "default"):
            folders = sorted((runs / file).glob(f"{by}-*-{kind}"))
            if folders:
                print(f"\n{file}, {kind}, {len(folders)} splits")
                rows, curve = show_table(folders)
                if keeps:
                    write_record(f"beyond-{file}-{by}-{kind}", as_called("beyond"), rows)
                if keeps and kind == "default" and by == "random":
                    write_record(f"beyond-shares-{file}", as_called("beyond"), curve)


def show_table(folders: list[Path]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return a row for each model, and for each share of preference of the Hurdle."""
    rows: list[dict[str, Any]] = []
    curve: list[dict[str, str]] = []
    keys = [f"{metric} {of}" for of in ("overall", "average") for metric in METRICS]
    tables: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name in MODELS:
        files = [folder / f"{name}.json" for folder in folders]
        if not all(file.exists() for file in files):
            continue
        each = [json.loads(file.read_text(encoding="utf-8")) for file in files]
        with warnings.catch_warnings():  # a user without a test rating in any split
            warnings.simplefilter("ignore", RuntimeWarning)
            tables[name] = {
                key: np.nanmean(np.array([one[key] for one in each], dtype=float), axis=0)
                for key in keys
            }
        found = [float(np.nanmean(tables[name][key])) for key in keys]
        found += [float(np.mean([one[key] for one in each])) for key in PAIRED]
        rows.append({"model": name, **dict(zip(COLUMNS, found, strict=True))})
        seconds = np.mean([one["seconds"] for one in each])
        print(f"{name:14} {' '.join(f'{value:.4f}' for value in found)}   {seconds:.0f} s")
        if name == OURS:
            curve = show_curve(each)
    if OURS in tables:
        ahead = show_tests(tables, keys) + [""] * len(PAIRED)
        row = {"model": f"{OURS} over the best of the others"}
        rows.append(row | dict(zip(COLUMNS, ahead, strict=True)))
    return rows, curve


PAIRED = ("pairs", "contrast")
#: Titles of what a share of preference does.
CURVE = {"NDCG@10": "ndcg", "lift": "lift", "specific lift": "specific"}
#: Titles of what is shown: by overall, then over aspects.
COLUMNS = (
    "MAP", "NDCG@10", "NDCG@50", "MAP, average", "NDCG@10, average", "NDCG@50, average", *PAIRED
)  # fmt: skip


def show_curve(each: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Print what shares of preference do, and return it; the first is the one that was chosen."""
    shown = []
    for n, point in enumerate(each[0]["curve"]):
        rows = [one["curve"][n] for one in each]
        if point["specific"] is None:
            continue
        shares = sorted({row["share"] for row in rows})
        means = {key: float(np.mean([row[key] for row in rows])) for key in CURVE.values()}
        row = {"share": f"as chosen, {shares[0]:g} to {shares[-1]:g}" if n == 0 else f"{shares[0]}"}
        row |= {title: f"{means[key]:.4f}" for title, key in CURVE.items()}
        row["at least"] = f"{min(one['interval'][0] for one in rows):.4f}"
        print("    " + ", ".join(f"{title} {value}" for title, value in row.items()))
        shown.append(row)
    return shown


def show_tests(tables: dict[str, dict[str, NDArray[np.float64]]], keys: list[str]) -> list[str]:
    """Print how far the Hurdle is ahead of the best other one by each key, and return it."""
    shown = []
    for key in keys:
        others = [name for name in tables if name != OURS]
        gains = [tables[OURS][key] - tables[name][key] for name in others]
        tests = [stats.ttest_1samp(gain[~np.isnan(gain)], 0.0).pvalue for gain in gains]
        order, worst = np.argsort(tests), 0.0
        adjusted = dict.fromkeys(others, 1.0)
        for place, index in enumerate(order):
            worst = max(worst, min(1.0, (len(tests) - place) * tests[index]))
            adjusted[others[index]] = worst
        best = max(others, key=lambda name: float(np.nanmean(tables[name][key])))
        gain = float(np.nanmean(tables[OURS][key]) / np.nanmean(tables[best][key]) - 1)
        behind = [
            name
            for name, each in zip(others, gains, strict=True)
            if np.nanmean(each) < 0 and adjusted[name] < 0.05
        ]
        print(
            f"    {key}: {gain:+.1%} over {best}, p = {adjusted[best]:.2g}"
            + (f"; significantly behind {', '.join(behind)}" if behind else "")
        )
        shown.append(f"{100 * gain:+.1f} % ({best}, p = {adjusted[best]:.1g})")
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--files", nargs="+", default=FILES, choices=FILES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--by", choices=("random", "time"), default="random")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--runs", type=Path, required=True, help="folder that keeps what is done")
    add_record_option(parser)
    arguments = parser.parse_args()
    for file in arguments.files:
        if arguments.tune:
            tune(file, arguments.models, arguments.trials, arguments.runs, arguments.threads)
        if arguments.fit:
            seeds = arguments.seeds if arguments.by == "random" else [1]
            for seed in seeds:
                split = split_of(file, seed, arguments.by)
                for kind in ("tuned", "default"):
                    folder = f"{arguments.by}-{seed}-{kind}"
                    fit(
                        file,
                        arguments.models,
                        split,
                        seed,
                        folder,
                        arguments.runs,
                        arguments.threads,
                    )
    if arguments.show:
        show(arguments.runs, arguments.by, arguments.record)


if __name__ == "__main__":
    main()
