"""DMR: what is particular to it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import DMR, ConfigError, ModelFileError, Popularity, Ratings, make_hotels, make_ratings
from dmrank.experiments.tuning import search_space

QUICK = {"iterations": 400, "evaluate_every": 100, "batch_size": 512, "factors": 4}


@pytest.mark.parametrize(
    "options",
    [
        {"covariance": "identity"},
        {"covariance": "shared"},
        {"family": "student"},
        {"family": "student", "hard_negatives": 4, "covariance": "identity"},
        {"nonnegative": True},
        {"missing": "zero"},
        {"item_offsets": True, "rated_share": 0.5},
        {"margin": 0.0},
        {"margin": 50.0},
        {"user_weight": 0.0},
        {"user_weight": 1.0},
        {"regularization": (0.1, 0.2, 0.3)},
        {"factors": 1},
        {"factors": 33},
    ],
    ids=str,
)
def test_every_option_learns_finite_parameters(hotels: Ratings, options) -> None:
    model = DMR(**{**QUICK, **options}).fit(hotels)
    assert all(np.isfinite(array).all() for array in model.arrays.values())
    objective = model.history.objective
    assert objective[-1] > objective[0]


def test_nonnegative_factors_are_not_negative(hotels: Ratings) -> None:
    arrays = DMR(**QUICK, nonnegative=True).fit(hotels).arrays
    assert all(arrays[name].min() >= 0 for name in ("users", "items", "aspects"))


def test_more_iterations_than_validation_likes_are_not_run(hotels: Ratings) -> None:
    split = hotels.split()
    model = DMR(**{**QUICK, "iterations": 100_000, "patience": 2}, learning_rate=0.5)
    model.fit(split.train, validation=split.validation)
    assert model.history.iterations[-1] < 50_000
    assert "stopped improving" in model.history.stopped


def test_the_paper_is_one_call_away() -> None:
    config = DMR.paper().config
    assert (config.user_weight, config.margin, config.factors) == (0.5, 0.2, 10)
    assert (config.learning_rate, config.iterations, config.batch_size) == (0.03, 40_000, 2_000)
    assert (config.missing, config.prior_at, config.nonnegative) == ("zero", "paper", True)
    assert DMR.paper(margin=0).config.margin == 0


def test_the_paper_has_none_of_what_came_later() -> None:
    config = DMR.paper().config
    assert (config.popularity_start, config.first_look) == (0, None)


def test_popularity_comes_first(hotels: Ratings) -> None:
    """Before much is learned, lists are those of popularity."""
    split = hotels.split()
    popular = Popularity().fit(split.train, validation=split.validation).history.validation[0]
    options = {"iterations": 5, "evaluate_every": 5}
    started, plain = (
        DMR(**options, popularity_start=size)
        .fit(split.train, validation=split.validation)
        .history.validation[0]
        for size in (1.0, 0)
    )
    assert started > 0.9 * popular
    assert plain < 0.9 * popular


def test_items_that_are_equally_popular_have_no_such_start() -> None:
    users, items = np.divmod(np.arange(60), 6)
    values = np.random.default_rng(0).integers(1, 6, (60, 2)).astype(float)
    ratings = Ratings.from_arrays(
        users.astype(str), items.astype(str), values, aspects=["a", "b"], scale=(1, 5)
    )
    one, other = (
        DMR(iterations=20, popularity_start=size).fit(ratings).arrays["users"] for size in (1, 0)
    )
    np.testing.assert_array_equal(one, other)


def test_popularity_says_nothing_of_rated_pairs(hotels: Ratings) -> None:
    one, other = (
        DMR(**QUICK, rated_share=1.0, popularity_start=size).fit(hotels).arrays["users"]
        for size in (1.0, 0)
    )
    np.testing.assert_array_equal(one, other)


def test_looks_are_early_with_validation_only(hotels: Ratings) -> None:
    split = hotels.split()
    model = DMR(iterations=1_200, batch_size=64)
    looks = model.fit(split.train, validation=split.validation).history.iterations
    assert looks == [1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 1_000, 1_200]
    assert model.fit(split.train).history.iterations == [500, 1_000, 1_200]


def test_nonnegative_is_not_searched() -> None:
    assert "nonnegative" not in search_space(DMR.Config)
    assert not any("nonnegative" in start for start in DMR.Config.starts)


def test_correlations_are_correlations(hotels: Ratings) -> None:
    for covariance in ("personalized", "shared", "identity"):
        model = DMR(**QUICK, covariance=covariance).fit(hotels)
        correlation = model.correlation("u000001", "h000002")
        np.testing.assert_allclose(np.diagonal(correlation), 1)
        np.testing.assert_allclose(correlation, correlation.T)
        assert np.linalg.eigvalsh(correlation).min() > 0


def test_predictions_follow_the_scale_of_each_aspect() -> None:
    synthetic = make_ratings(200, 50, 4_000, aspects=["overall", "palate"], seed=2)
    table = synthetic.ratings.to_polars()
    stretched = np.column_stack([(table["overall"] - 1) * 4.75 + 1, table["palate"]])
    ratings = Ratings.from_arrays(
        table["user"], table["item"], stretched,
        aspects=["overall", "palate"], scale={"overall": (1, 20), "palate": (1, 5)},
    )  # fmt: skip
    plain = DMR(**QUICK).fit(synthetic.ratings)
    scaled = DMR(**QUICK).fit(ratings)
    users, items = list(ratings.users)[:40], list(ratings.items)[:40]
    np.testing.assert_allclose(
        (scaled.predict(users, items)[:, 0] - 1) / 4.75 + 1,
        plain.predict(users, items)[:, 0],
        atol=1e-4,
    )


def test_calibrated_predictions_beat_the_mean_rating() -> None:
    split = make_ratings(500, 100, 20_000, seed=4, signal=1.0, taste=0.0).ratings.split()
    model = DMR(iterations=2_000, rated_share=1.0, learning_rate=0.1).fit(split.train)
    test = split.test
    users, items = test.users.names(test.user_codes), test.items.names(test.item_codes)
    error = model.predict(users, items) - test.values
    naive = test.values - np.nanmean(split.train.values, axis=0)
    assert np.sqrt((error**2).mean()) < 0.85 * np.sqrt((naive**2).mean())


def test_the_planted_order_of_two_hotels_is_found() -> None:
    hotels = make_hotels(seed=0)
    train = hotels.ratings.split(seed=0).train
    model = DMR(factors=4, iterations=4_000, evaluate_every=250, rated_share=1.0).fit(train)
    rng = np.random.default_rng(0)
    users = rng.integers(len(train.users), size=20_000)
    first, second = rng.integers(len(train.items), size=(2, 20_000))
    truth = hotels.truth.mean(users, first) - hotels.truth.mean(users, second)
    found = model.score_pairs(users, first) - model.score_pairs(users, second)
    assert (np.sign(found) == np.sign(truth)).mean(axis=0).min() > 0.8


def test_learned_correlations_follow_the_planted_ones() -> None:
    synthetic = make_ratings(
        300, 300, 60_000, taste=0.0, concentration=14, aspects=["overall", "a", "b", "c"], seed=6
    )
    model = DMR(iterations=3_000, rated_share=1.0, prior_strength=6).fit(synthetic.ratings)
    truth = synthetic.truth
    rows = np.random.default_rng(0).integers(len(synthetic.ratings), size=500)
    users, items = synthetic.ratings.user_codes[rows], synthetic.ratings.item_codes[rows]
    planted = truth.covariance(users, items)
    deviation = np.sqrt(np.diagonal(planted, axis1=1, axis2=2))
    planted /= deviation[:, :, None] * deviation[:, None, :]
    learned = np.stack(
        [
            model.correlation(synthetic.ratings.users[u], synthetic.ratings.items[i])
            for u, i in zip(users, items, strict=True)
        ]
    )
    off = ~np.eye(4, dtype=bool)
    assert np.corrcoef(planted[:, off].ravel(), learned[:, off].ravel())[0, 1] > 0.5


def test_a_killed_fit_goes_on_and_ends_with_the_same_bits(tmp_path: Path, capsys) -> None:
    ratings = make_ratings(200, 50, 4_000, seed=1).ratings
    ratings.write(tmp_path / "ratings.parquet")
    settings = {"iterations": 3_000, "evaluate_every": 50, "batch_size": 256, "factors": 4}
    script = (
        "import sys, dmrank\n"
        "from dmrank.training import checkpoints\n"
        "save = checkpoints.Checkpoint.save\n"
        "def tell(self, state, *, last):\n"
        "    save(self, state, last=True)\n"
        "    print(state.iteration, flush=True)\n"
        "checkpoints.Checkpoint.save = tell\n"
        "ratings = dmrank.read_ratings(sys.argv[1], verbose=False)\n"
        f"dmrank.DMR(**{settings!r}).fit(ratings, checkpoint=sys.argv[2])\n"
    )
    arguments = [sys.executable, "-c", script, tmp_path / "ratings.parquet", tmp_path / "state"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(3):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    resumed = DMR(**settings).fit(ratings, checkpoint=tmp_path / "state")
    assert "resumed at iteration" in capsys.readouterr().err
    whole = DMR(**settings).fit(ratings)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)


def test_a_checkpoint_of_other_data_or_settings_is_refused(hotels: Ratings, tmp_path: Path) -> None:
    DMR(**QUICK).fit(hotels, checkpoint=tmp_path)
    with pytest.raises(ConfigError, match="another run: its margin is 0.2, not 0.3"):
        DMR(**QUICK, margin=0.3).fit(hotels, checkpoint=tmp_path)
    with pytest.raises(ConfigError, match="training ratings"):
        DMR(**QUICK).fit(hotels.split().train, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "parameters",
    [
        {"margin": float("nan")},
        {"margin": float("inf")},
        {"margin": -0.1},
        {"regularization": -1},
        {"regularization": (0.1, 0.1)},
        {"learning_rate": 0},
        {"user_weight": 1.5},
        {"user_weight": -0.1},
        {"batch_size": 0},
        {"factors": 0},
        {"iterations": 0},
        {"seed": -1},
        {"threads": 0},
        {"prior_strength": 0},
        {"covariance": "diagonal"},
        {"family": "cauchy"},
        {"rated_share": 2},
        {"missing": "ignore"},
    ],
    ids=str,
)
def test_impossible_parameters_are_named_in_one_line(parameters) -> None:
    with pytest.raises(ConfigError) as caught:
        DMR(**parameters)
    name = next(iter(parameters))
    assert str(caught.value).startswith(f"{name}={parameters[name]!r}: ")
    assert "\n" not in str(caught.value)


def test_a_prior_needs_more_degrees_of_freedom_than_aspects(hotels: Ratings) -> None:
    with pytest.raises(ConfigError, match="prior_strength=7: with 8 aspects it must be above 7"):
        DMR(**QUICK, prior_strength=7).fit(hotels)


def test_a_metric_that_is_not_known_is_refused(hotels: Ratings) -> None:
    split = hotels.split()
    with pytest.raises(ConfigError, match="ndgc"):
        DMR(**QUICK, validation_metric="ndgc@10").fit(split.train, validation=split.validation)


def test_a_fit_that_diverges_says_so_instead_of_answering(hotels: Ratings) -> None:
    with pytest.raises(ConfigError, match="DMR has diverged.*lower learning_rate"):
        DMR(**QUICK, learning_rate=1e30).fit(hotels)


def test_covariances_that_are_none_are_one_line(hotels: Ratings) -> None:
    model = DMR(**QUICK).fit(hotels)
    turned = {name: -array if "covariances" in name else array
              for name, array in model.arrays.items()}  # fmt: skip
    diverged = model.with_state(model.catalogue, turned, model.calibration)
    user, first, second = hotels.users[0], hotels.items[0], hotels.items[1]
    with np.errstate(invalid="ignore"), pytest.raises(ConfigError, match="not positive definite"):
        diverged.compare(user, first, second)
    partial = pl.DataFrame({"user": [user], "item": [first], "overall": [3.0]})
    with pytest.raises(ConfigError, match="lower covariance_learning_rate"):
        diverged.complete(partial)


def test_more_memory_than_there_is_is_one_line(hotels: Ratings, monkeypatch) -> None:
    def learn(self, fitting):
        del self, fitting
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(DMR, "learn", learn)
    with pytest.raises(ConfigError, match="needs more memory than there is .*7 TiB"):
        DMR(factors=10**9).fit(hotels)


def test_a_damaged_model_file_is_refused(hotels: Ratings, tmp_path: Path) -> None:
    path = DMR(**QUICK).fit(hotels).save(tmp_path / "m.dmrank")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="truncated"):
        dmrank.load(path)
    with pytest.raises(ModelFileError, match="does not exist"):
        dmrank.load(tmp_path / "none.dmrank")


def test_a_loaded_model_can_be_asked_from_many_threads(hotels: Ratings, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    model = dmrank.load(DMR(**QUICK).fit(hotels).save(tmp_path / "m.dmrank"))
    users = list(hotels.users)[:60]
    expected = [model.recommend(user, n=5) for user in users]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda user: model.recommend(user, n=5), users))
    assert all(one.equals(other) for one, other in zip(expected, found, strict=True))


# Recorded from the first release: DMR.paper() may become faster, not different.
GOLDEN_SCORES = [[0.39157847, 0.28064007, 0.23414484], [0.0, 0.0, 0.0]]
GOLDEN_OBJECTIVES = [-13.962369123, -13.177270446]
GOLDEN_CORRELATION = 0.19858916


def test_the_paper_gives_the_same_result_for_ever() -> None:
    ratings = make_ratings(60, 30, 900, missing=0.2, factors=3, seed=9).ratings
    model = DMR.paper(iterations=200, evaluate_every=100, batch_size=500, seed=3).fit(ratings)
    scores = model.predict(["u000000", "u000031"], ["h000004", "h000017"], raw=True)
    np.testing.assert_allclose(scores[:, :3], GOLDEN_SCORES, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(model.history.objective, GOLDEN_OBJECTIVES, rtol=1e-5)
    assert model.correlation("u000000", "h000004")[0, 1] == pytest.approx(GOLDEN_CORRELATION, 1e-4)
