"""The whole run, on data small enough for a test."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import pytest

from dmrank import (
    Config,
    ConfigError,
    DataError,
    Fitting,
    Hurdle,
    MixedEffects,
    Model,
    Ratings,
    Search,
    load,
    make_ratings,
)
from dmrank.experiments import contenders, paper, run_paper
from dmrank.experiments.budgets import BUDGETS, Budget
from dmrank.experiments.contenders import CONTENDERS, find_contenders
from dmrank.experiments.study import Study, StudySettings
from dmrank.support.arrays import Codes, Float32s

#: So few iterations that every model takes a moment.
TINY = Budget(
    trials=2,
    tuning_rows=1_000,
    finalists=2,
    tuning_patience=1,
    iterations=0.001,
    margins=(0.0, 1.0),
    seeds=1,
)
MODELS = ["DMR", "DMR-I", "EFM", "ItemMean", "EASE"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUDGETS, "tiny", TINY)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(100, 40, 2_000, aspects=["overall", "value", "service"], seed=1).ratings


@pytest.fixture(scope="module")
def finished(ratings: Ratings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("paper") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "tiny", TINY)
        run_paper(ratings, folder, models=MODELS, budget="tiny", seeds=2, threads=1)
    return folder


def test_every_table_and_figure_is_written(finished: Path) -> None:
    tables = {path.stem for path in (finished / "tables").glob("*.csv")}
    assert {f"table-{n}" for n in (1, 2, 3, 4)} <= tables
    figures = {path.name for path in (finished / "figures").iterdir()}
    for n in ("1", "2", "3", "4", "5a", "5b"):
        assert {f"figure-{n}.png", f"figure-{n}.svg"} <= figures


def test_contrast_and_lift_are_measured_for_every_model(finished: Path) -> None:
    orders = pl.read_csv(finished / "tables" / "table-3.csv")
    contrast = orders.filter(pl.col("pairs") == "contrast")
    assert set(contrast["model"]) == set(MODELS)
    # One score for all aspects tells no contrast.
    assert contrast.filter(pl.col("model") == "EASE")["pooled"].item() == 0
    shown = (finished / "tables" / "table-3.md").read_text(encoding="utf-8")
    assert "| contrast | contrast, calibrated |" in shown


def test_lists_by_aspect_are_shown_where_items_can_be_judged(tmp_path: Path) -> None:
    aspects = ["overall", "value", "service"]
    ratings = make_ratings(500, 120, 14_000, aspects=aspects, seed=1).ratings
    run_paper(ratings, tmp_path / "run", models=["ItemMean", "EASE"], budget="tiny")
    table = pl.read_csv(tmp_path / "run" / "tables" / "lists-by-aspect.csv")
    of_ease = table.filter(pl.col("model") == "EASE").row(0, named=True)
    assert of_ease["lift"] == 0
    assert of_ease["overlap"] == 1
    assert (tmp_path / "run" / "figures" / "lists-by-aspect.png").exists()


@pytest.fixture(scope="module")
def with_hurdle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Hurdle and one of its members, on items that can be judged."""
    ratings = make_ratings(500, 120, 14_000, aspects=["overall", "value"], seed=1).ratings
    folder = tmp_path_factory.mktemp("paper") / "hurdle"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "tiny", TINY)
        run_paper(ratings, folder, models=["EASE", "Hurdle"], budget="tiny")
    return folder


def test_a_hurdle_has_the_settings_that_its_members_were_tuned_to(with_hurdle: Path) -> None:
    model = load(with_hurdle / "work" / "models" / "Hurdle-0.dmrank")
    assert isinstance(model, Hurdle)
    members = model.config.members
    for name in ("EASE", "iALS", "Cooccurrence"):
        chosen = json.loads((with_hurdle / "work" / "chosen" / f"{name}.json").read_text())
        assert chosen["parameters"].items() <= members[name.lower()].items()
    assert members["ials"]["iterations"] == 1  # as iALS itself has in this budget
    assert model.members["ease"].config.regularization == members["ease"]["regularization"]
    table = pl.read_csv(with_hurdle / "tables" / "settings.csv")
    assert table["model"].to_list() == ["EASE", "Hurdle"]
    shown = table.filter(pl.col("model") == "Hurdle")["settings"].item()
    assert "EASE: regularization" in shown
    assert "Cooccurrence: neighbours" in shown


def test_lists_go_from_exposure_to_preference(with_hurdle: Path) -> None:
    table = pl.read_csv(with_hurdle / "tables" / "preference.csv")
    assert {0, 0.1, 0.2, 0.3, 0.5, 0.7, 1} <= set(table["preference"])
    # Who comes is not asked by aspect.
    assert table["specific lift"][0] == 0
    assert table["specific lift, low"][-1] > 0
    model = load(with_hurdle / "work" / "models" / "Hurdle-0.dmrank")
    assert isinstance(model, Hurdle)
    default = table.filter(pl.col("default"))
    assert default["preference"].to_list() == [model.preference]
    of_lists = pl.read_csv(with_hurdle / "tables" / "lists-by-aspect.csv")
    expected = of_lists.filter(pl.col("model") == "Hurdle")["specific lift"].item()
    assert default["specific lift"].item() == pytest.approx(expected)
    assert "(default)" in (with_hurdle / "tables" / "preference.md").read_text(encoding="utf-8")
    assert (with_hurdle / "figures" / "preference.png").exists()


def test_the_preference_curve_is_of_a_hurdle_with_several_aspects(
    finished: Path, tmp_path: Path
) -> None:
    assert not (finished / "tables" / "preference.csv").exists()
    ratings = make_ratings(60, 30, 1_000, aspects=["overall"], seed=1).ratings
    run_paper(ratings, tmp_path / "run", models=["Hurdle"], budget="tiny")
    assert not (tmp_path / "run" / "tables" / "preference.csv").exists()


def test_the_report_is_one_file_with_all_pictures_in_it(finished: Path) -> None:
    page = (finished / "report.html").read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]{0,22})', page)
    assert len(sources) == len(list((finished / "figures").glob("*.png")))
    assert all(source.startswith("data:image/png;base64") for source in sources)
    for said in ("About this run", "seed", "numpy", "minutes"):
        assert said in page


def test_links_of_the_report_lead_to_files(finished: Path) -> None:
    page = (finished / "report.html").read_text(encoding="utf-8")
    linked = re.findall(r'href="([^"#]+)"', page)
    assert len(linked) > 20
    assert all((finished / name).is_file() for name in linked)


def test_table_2_has_a_row_per_model_and_says_who_is_best(finished: Path) -> None:
    table = pl.read_csv(finished / "tables" / "table-2.csv")
    assert table["model"].to_list() == ["EFM", "DMR-I", "DMR", "ItemMean", "EASE"]
    assert table.drop("model").to_numpy().min() >= 0
    shown = (finished / "tables" / "table-2.md").read_text(encoding="utf-8")
    assert "improvement, models of the paper" in shown
    assert shown.count("**") >= 2 * 6


def test_values_are_means_over_the_seeds(finished: Path) -> None:
    column = "overall ndcg@10"
    each = [
        pl.read_parquet(finished / "work" / "rankings" / f"DMR-{seed}-full.parquet")[column]
        for seed in (0, 1)
    ]
    assert not each[0].equals(each[1])
    table = pl.read_csv(finished / "tables" / "table-2.csv").filter(pl.col("model") == "DMR")
    expected = np.nanmean((each[0] + each[1]).to_numpy() / 2)
    assert table["NDCG@10 overall"][0] == pytest.approx(expected)


def test_deterministic_models_are_trained_once(finished: Path) -> None:
    names = {path.name for path in (finished / "work" / "models").iterdir()}
    assert "ItemMean-0.dmrank" in names
    assert not names & {"ItemMean-1.dmrank", "EASE-1.dmrank"}


def test_the_best_settings_of_some_users_compete_on_all(finished: Path) -> None:
    trials = json.loads((finished / "work" / "tuning" / "EASE.json").read_text())["trials"]
    chosen = json.loads((finished / "work" / "chosen" / "EASE.json").read_text())
    tried = [trial["regularization"] for trial in trials]
    assert chosen["parameters"]["regularization"] in tried
    names = {path.stem for path in (finished / "work" / "models").iterdir()}
    assert {"EASE-finalist-0", "EASE-finalist-1"} <= names
    assert chosen["key"] in names


def test_a_finished_run_is_only_read_again(finished: Path, ratings: Ratings) -> None:
    work = {path: path.stat().st_mtime_ns for path in (finished / "work").rglob("*")}
    before = (finished / "report.html").read_bytes()
    run_paper(ratings, finished, models=MODELS, budget="tiny", seeds=2, threads=1)
    assert {path: path.stat().st_mtime_ns for path in (finished / "work").rglob("*")} == work
    assert (finished / "report.html").read_bytes() == before


def test_a_run_that_was_cut_off_ends_with_the_same_tables(
    ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = ["EFM", "ItemMean"]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    run_paper(ratings, whole, models=models, budget="tiny", threads=1)
    fit = Study.fitted

    def killed(study: Study, key: str, *arguments: object, **options: object) -> object:
        if key.startswith("ItemMean"):
            raise KeyboardInterrupt
        return fit(study, key, *arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Study, "fitted", killed)
        with pytest.raises(KeyboardInterrupt):
            run_paper(ratings, cut, models=models, budget="tiny", threads=1)
    assert (cut / "work" / "chosen" / "EFM.json").exists()
    run_paper(ratings, cut, models=models, budget="tiny", threads=1)
    for path in (whole / "tables").glob("table-*.csv"):
        assert path.read_bytes() == (cut / "tables" / path.name).read_bytes(), path.name


def test_a_folder_takes_further_models(ratings: Ratings, tmp_path: Path) -> None:
    """One after the other, or all at once: the tables are the same, and nothing is done twice."""
    whole, grown = tmp_path / "whole", tmp_path / "grown"
    both = ["EFM", "MTER", "Popularity"]
    run_paper(ratings, whole, models=both, budget="tiny", threads=1)
    run_paper(ratings, grown, models=["EFM"], budget="tiny", threads=1)
    work = {path: path.stat().st_mtime_ns for path in (grown / "work").rglob("EFM*")}
    assert pl.read_csv(grown / "tables" / "table-4.csv")["selected by"].to_list() == [
        "Random",
        "EFM",
    ]
    run_paper(ratings, grown, models=both, budget="tiny", threads=1)
    assert {path: path.stat().st_mtime_ns for path in (grown / "work").rglob("EFM*")} == work
    for path in (whole / "tables").glob("*.csv"):
        if path.stem != "settings":  # has seconds
            assert path.read_bytes() == (grown / "tables" / path.name).read_bytes(), path.name
    assert json.loads((grown / "settings.json").read_text())["models"] == [
        "EFM",
        "MTER",
        "Popularity",
    ]


def test_the_report_shows_the_models_asked_for_now(ratings: Ratings, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_paper(ratings, folder, models=["DMR-paper", "ItemMean"], budget="tiny", threads=1)
    assert (folder / "figures" / "figure-2.png").exists()
    page = run_paper(ratings, folder, models=["ItemMean"], budget="tiny", threads=1)
    assert pl.read_csv(folder / "tables" / "table-2.csv")["model"].to_list() == ["ItemMean"]
    assert "<td>models</td><td>ItemMean</td>" in page.read_text(encoding="utf-8")
    # A figure of a model that is not shown any more would pass for one of this report.
    assert not (folder / "figures" / "figure-2.png").exists()
    assert (folder / "work" / "models" / "DMR-paper-0.dmrank").exists()


def test_results_of_other_settings_are_never_mixed(finished: Path, ratings: Ratings) -> None:
    with pytest.raises(ConfigError, match="holds a run with seeds 2, not 1"):
        run_paper(ratings, finished, models=MODELS, budget="tiny", seeds=1)
    other = make_ratings(100, 40, 2_000, aspects=["overall", "value", "service"], seed=2).ratings
    with pytest.raises(ConfigError, match="holds a run with ratings"):
        run_paper(other, finished, models=MODELS, budget="tiny", seeds=2)


def test_tuned_settings_are_written_beside_the_result(finished: Path) -> None:
    table = pl.read_csv(finished / "tables" / "settings.csv")
    dmr = table.filter(pl.col("model") == "DMR").row(0, named=True)
    assert "learning_rate" in dmr["settings"]
    assert dmr["validation"] > 0
    tuned = json.loads((finished / "work" / "tuning" / "DMR.json").read_text())
    assert len(tuned["trials"]) == TINY.trials


def test_models_are_tuned_on_a_share_of_the_users(ratings: Ratings, tmp_path: Path) -> None:
    settings = StudySettings(find_contenders(["ItemMean"]), "tiny", TINY, 1, k_core=1)
    study = Study(ratings, "some", tmp_path / "run", settings)
    tuned_on, whole = study.tuning_split, study.split
    assert 0 < len(tuned_on.train) <= TINY.tuning_rows  # type: ignore[operator]
    sizes, all_sizes = (np.diff(split.train.user_pointer) for split in (tuned_on, whole))
    assert set(sizes - all_sizes) > {0}
    assert all(size in (0, of_all) for size, of_all in zip(sizes, all_sizes, strict=True))


def test_a_small_budget_cuts_iterations_of_what_is_random_alone(
    ratings: Ratings, tmp_path: Path
) -> None:
    contenders = find_contenders(["DMR", "MixedEffects"])
    settings = StudySettings(contenders, "quick", BUDGETS["quick"], 3, 1)
    study = Study(ratings, "some", tmp_path / "run", settings)
    mixed = study.model("MixedEffects")
    assert mixed.config == MixedEffects(threads=None).config
    assert [len(study.seeds_of(contender)) for contender in contenders] == [3, 1]


def test_a_single_aspect_is_enough(tmp_path: Path) -> None:
    ratings = make_ratings(60, 30, 1_000, aspects=["overall"], seed=1).ratings
    run_paper(ratings, tmp_path / "run", models=["ItemMean", "EASE"], budget="tiny")
    assert not (tmp_path / "run" / "tables" / "table-4.csv").exists()
    assert (tmp_path / "run" / "tables" / "table-3.csv").exists()


def test_one_model_has_nobody_to_be_compared_with(ratings: Ratings, tmp_path: Path) -> None:
    page = run_paper(ratings, tmp_path / "run", models=["Popularity"], budget="tiny")
    assert page.exists()


def test_contenders_are_found_however_they_are_written() -> None:
    assert [found.name for found in find_contenders(["mbpr", "DMR-i", "ials"])] == [
        "M-BPR",
        "DMR-I",
        "iALS",
    ]
    assert len(find_contenders(None)) == len(CONTENDERS)


class NewestConfig(Config):
    slope: Annotated[float, Search((1.0, 2.0))] = 1.0


class Newest(Model):
    """A model of the user's own: the last item of the catalogue first."""

    Config = NewestConfig

    def learn(self, fitting: Fitting) -> None:
        self.arrays = {"place": np.arange(len(fitting.ratings.items), dtype=np.float32)}

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        return np.tile(self.config.slope * weights.sum() * self.arrays["place"], (len(users), 1))


def test_a_model_of_ones_own_takes_part(ratings: Ratings, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_paper(ratings, folder, models=["ItemMean", Newest], budget="tiny", threads=1)
    table = pl.read_csv(folder / "tables" / "table-2.csv")
    assert table["model"].to_list() == ["ItemMean", "Newest"]
    settings = pl.read_csv(folder / "tables" / "settings.csv")
    assert settings.filter(pl.col("model") == "Newest")["settings"][0].startswith("slope")
    # What is kept of it counts for its source alone.
    (folder / "work" / "own" / "Newest.json").write_text('{"source": "of another day"}')
    with pytest.raises(ConfigError, match="holds results of another Newest"):
        run_paper(ratings, folder, models=["ItemMean", Newest], budget="tiny", threads=1)


def test_a_model_of_ones_own_is_found_by_its_module() -> None:
    (found,) = find_contenders([f"{__name__}:Newest"])
    assert (found.kind, found.role, found.is_tuned) == (Newest, "own", True)
    reasons = {
        f"{__name__}:Newst": "no 'Newst' in .*did you mean 'Newest'",
        "no_such_module:Newest": "module 'no_such_module' cannot be loaded",
        "json:loads": "no class that is made from dmrank.Model",
        "dmrank:DMR": "cannot be called DMR, as one of ours is",
    }
    for name, reason in reasons.items():
        with pytest.raises(ConfigError, match=reason):
            find_contenders([name])


def test_without_pytorch_the_others_go_on_and_that_is_said_first(
    ratings: Ratings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(contenders, "has_torch", lambda: False)
    with_pytorch = {"Ex-SAE", "NeuralDMR", "SPS-MTL"}
    assert {each.name for each in find_contenders(None)} == set(CONTENDERS) - with_pytorch
    with pytest.raises(ConfigError, match="SPS-MTL needs PyTorch, which is not installed"):
        run_paper(ratings, tmp_path / "run", models=["ItemMean", "SPS-MTL"])
    assert not (tmp_path / "run").exists()
    few = {name: CONTENDERS[name] for name in ("Ex-SAE", "SPS-MTL", "ItemMean")}
    for module in (contenders, paper):
        monkeypatch.setattr(module, "CONTENDERS", few)
    monkeypatch.setattr(paper, "_run_steps", lambda *_: print("starting", file=sys.stderr))
    run_paper(ratings, tmp_path / "run", budget="tiny", threads=1)
    first, *others = capsys.readouterr().err.splitlines()
    assert first.startswith("PyTorch is not installed: going on without Ex-SAE and SPS-MTL")
    assert "starting" in others
    assert pl.read_csv(tmp_path / "run" / "tables" / "table-2.csv")["model"].to_list() == [
        "ItemMean"
    ]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"models": []}, "no model to run"),
        ({"models": ["DMRX"]}, "no model 'DMRX'; did you mean"),
        ({"budget": "huge"}, "no budget 'huge'"),
        ({"seeds": 0}, "at least once"),
    ],
)
def test_impossible_runs_are_refused_before_anything_is_written(
    ratings: Ratings, tmp_path: Path, options: dict[str, object], reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        run_paper(ratings, tmp_path / "run", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_too_few_ratings_are_refused(ratings: Ratings, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="choose a smaller k"):
        run_paper(ratings, tmp_path / "run", k_core=500)
    assert not (tmp_path / "run").exists()
