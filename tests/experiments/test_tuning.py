"""Tuning finds good parameters, repeats itself, and goes on where it was cut off."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dmrank import DMR, ConfigError, DataError, ItemMean, Model, Split, make_ratings, tune
from dmrank.experiments.tuning import search_space
from dmrank.models import MODELS
from dmrank.models.config import Config, Search, all_fields
from dmrank.models.popularity import Popularity


@pytest.fixture(scope="module")
def split() -> Split:
    return make_ratings(200, 50, 4_000, seed=1).ratings.split()


class KnobConfig(Config):
    knob: float = 0.1


class Knob(Popularity):
    """Popularity that trains for some time and is judged by how near its knob is to 0.7."""

    Config = KnobConfig
    config: KnobConfig
    fits = 0

    def learn(self, fitting) -> None:
        super().learn(fitting)
        type(self).fits += 1
        for look in range(1, 11):
            value = (1 - abs(self.config.knob - 0.7)) * (0.5 + look / 20)
            self.history.add(look, 0.0, value)
            if fitting.callback is not None:
                fitting.callback(self.history)


SPACE = {"knob": Search((0.0, 0.3, 0.6, 1.0))}


def test_the_best_parameters_are_found_and_make_a_model(split: Split) -> None:
    tuned = tune(Knob, split, trials=25, space=SPACE)
    assert tuned.parameters["knob"] == pytest.approx(0.7, abs=0.05)
    assert tuned.value == pytest.approx(1 - abs(tuned.parameters["knob"] - 0.7))
    assert tuned.make(threads=1).get_params()["knob"] == tuned.parameters["knob"]
    assert "knob=" in repr(tuned)


def test_the_defaults_are_tried_first(split: Split) -> None:
    assert tune(Knob, split, trials=2, space=SPACE).trials["knob"][0] == 0.1


def test_the_same_seed_searches_the_same_way(split: Split) -> None:
    one, two, other = (tune(Knob, split, trials=12, space=SPACE, seed=s) for s in (3, 3, 4))
    assert one.trials["knob"].equals(two.trials["knob"])
    assert not one.trials["knob"].equals(other.trials["knob"])


def test_a_grid_tries_each_of_its_points_once(split: Split) -> None:
    tuned = tune(Knob, split, trials=99, strategy="grid", space=SPACE)
    alone = tune(Knob, split, trials=99, strategy="grid", space=SPACE, parameters={"knob": 0.5})
    assert len(alone.trials) == 1, "what is given is not searched, and one point is left"
    assert sorted(tuned.trials["knob"]) == [0.0, 0.3, 0.6, 1.0]
    assert tuned.parameters["knob"] == 0.6


def test_trials_that_lag_behind_are_given_up_and_never_win(split: Split) -> None:
    states = tune(Knob, split, trials=20, strategy="random", space=SPACE).trials
    assert set(states["state"]) == {"pruned", "complete"}
    assert states.filter(states["state"] == "complete")["value"].max() == states["value"].max()
    unpruned = tune(Knob, split, trials=20, strategy="random", space=SPACE, prune=False).trials
    assert set(unpruned["state"]) == {"complete"}


def test_a_search_that_was_cut_off_goes_on_without_repeating_itself(
    split: Split, tmp_path: Path
) -> None:
    whole = tune(Knob, split, trials=10, space=SPACE)
    store = tmp_path / "trials" / "knob.sqlite"
    tune(Knob, split, trials=4, space=SPACE, storage=store)
    before = Knob.fits
    resumed = tune(Knob, split, trials=10, space=SPACE, storage=store)
    assert Knob.fits - before == 6
    assert resumed.trials["knob"].equals(whole.trials["knob"])
    other_threads = {"threads": 1}
    again = tune(Knob, split, trials=10, space=SPACE, storage=store, parameters=other_threads)
    assert again.parameters == resumed.parameters | other_threads
    assert Knob.fits - before == 6


def test_settings_of_one_round_do_not_know_each_other(split: Split, tmp_path: Path) -> None:
    """So that a search of some width is the same however many of a round run at a time."""
    wide = tune(Knob, split, trials=20, space=SPACE, width=8)
    narrow = tune(Knob, split, trials=20, space=SPACE)
    # The first eight are drawn at random, whatever was reached; later ones follow what was.
    assert wide.trials["knob"][:9].equals(narrow.trials["knob"][:9])
    assert not wide.trials["knob"].equals(narrow.trials["knob"])
    store = tmp_path / "knob.sqlite"
    for trials in (3, 11, 20):
        resumed = tune(Knob, split, trials=trials, space=SPACE, width=8, storage=store)
    assert resumed.trials.drop("seconds").equals(wide.trials.drop("seconds"))


def test_a_round_has_at_least_one_setting(split: Split) -> None:
    with pytest.raises(ConfigError, match="width=0: choose at least one"):
        tune("ItemMean", split, trials=2, width=0)


def test_trials_are_kept_in_the_file_of_that_name(split: Split, tmp_path: Path) -> None:
    storage = tmp_path / "a?b#c%20 d.db"
    tune("ItemMean", split, trials=1, storage=storage)
    assert [path.name for path in tmp_path.iterdir()] == [storage.name]
    assert len(tune("ItemMean", split, trials=2, storage=storage).trials) == 2


def test_a_file_that_holds_no_trials_is_refused(split: Split, tmp_path: Path) -> None:
    storage = tmp_path / "trials.db"
    storage.write_bytes(b"no database" * 1_000)
    with pytest.raises(ConfigError, match="trials.db cannot be read as a file of trials"):
        tune("ItemMean", split, trials=1, storage=storage)
    with pytest.raises(DataError, match="is a directory"):
        tune("ItemMean", split, trials=1, storage=tmp_path)


def test_trials_of_another_search_are_not_mixed_in(split: Split, tmp_path: Path) -> None:
    store = tmp_path / "knob.sqlite"
    tune(Knob, split, trials=3, space=SPACE, storage=store)
    before = Knob.fits
    tune(Knob, split, trials=3, space={"knob": Search((0.0, 0.5))}, storage=store)
    assert Knob.fits - before == 3


def test_the_first_trials_are_the_defaults_and_the_starts_of_the_model(
    split: Split, monkeypatch
) -> None:
    monkeypatch.setattr(Knob.Config, "starts", ({"knob": 0.125},))
    tried = tune(Knob, split, trials=3, space=SPACE).trials["knob"].to_list()
    assert tried[:2] == [Knob.Config.model_fields["knob"].default, 0.125]
    assert tried[2] not in tried[:2]


def test_an_interrupted_fit_ends_the_search(split: Split, monkeypatch) -> None:
    def interrupted(self, fitting) -> None:
        Popularity.learn(self, fitting)
        self.history.stopped = "interrupted"
        self.history.add(1, 0.0, 0.5)

    monkeypatch.setattr(Knob, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tune(Knob, split, trials=3, space=SPACE)


def test_parameters_that_are_given_are_not_searched(split: Split) -> None:
    tuned = tune("ItemMean", split, trials=3, parameters={"shrinkage": 3.0})
    assert tuned.model is ItemMean
    assert tuned.make().config.shrinkage == 3.0
    assert "shrinkage" not in tuned.trials.columns


def test_a_model_that_trains_is_tuned_on_at_most_so_many_users(split: Split) -> None:
    quick = {"iterations": 100, "evaluate_every": 50, "batch_size": 256}
    tuned = tune("DMR", split, trials=2, users=50, parameters=quick)
    assert set(search_space(DMR.Config)) <= set(tuned.trials.columns)
    assert 0 < tuned.value <= 1


@pytest.mark.parametrize("kind", MODELS.values(), ids=MODELS)
def test_what_is_searched_is_allowed_and_the_default_lies_within(kind: type[Model]) -> None:
    for name, search in search_space(kind.Config).items():
        for value in search.values:
            kind(**{name: value})
        default = all_fields(kind.Config)[name].default
        if all(isinstance(value, int | float) for value in search.values):
            assert min(search.values) <= default <= max(search.values)
        else:
            assert default in search.values


def test_mistakes_are_refused_before_anything_is_fitted(split: Split) -> None:
    with pytest.raises(ConfigError, match="there is no model 'DRM'; did you mean 'dmr'"):
        tune("DRM", split)
    with pytest.raises(ConfigError, match="did you mean 'shrinkage'"):
        tune("ItemMean", split, parameters={"shrinkag": 1})
    with pytest.raises(ConfigError, match="shrinkage: nothing to search"):
        tune("ItemMean", split, space={"shrinkage": Search(())})
    with pytest.raises(ConfigError, match=r"shrinkage: ratios of 0\.0 cannot be searched"):
        tune("ItemMean", split, space={"shrinkage": Search((0.0, 1.0), log=True)})
    with pytest.raises(ConfigError, match="has no parameter 'knob'"):
        tune("ItemMean", split, space=SPACE)
    with pytest.raises(ConfigError, match="no strategy 'gird'; did you mean 'grid'"):
        tune("ItemMean", split, strategy="gird")
    with pytest.raises(ConfigError, match="at least one setting"):
        tune("ItemMean", split, trials=0)
    with pytest.raises(ConfigError, match="seed=-1: give a whole number"):
        tune("ItemMean", split, trials=1, seed=-1, parameters={"seed": 3})


#: What leaves a file of trials without what its other tables speak of.
CUT = {"no seconds": "trial_user_attributes", "no trials": "trials"}


@pytest.mark.parametrize("damage", ["text", "half", "zeros", "foreign", "schema", *CUT])
def test_a_damaged_file_of_trials_is_refused(split: Split, tmp_path: Path, damage: str) -> None:
    storage = tmp_path / "trials.db"
    tune(Knob, split, trials=2, space=SPACE, storage=storage)
    content = storage.read_bytes()
    if damage in CUT:
        with closing(sqlite3.connect(storage)) as database, database:
            database.execute(f"DELETE FROM {CUT[damage]}")
    else:
        storage.write_bytes(
            {
                "text": b"no trials",
                "half": content[: len(content) // 2],
                "zeros": content[:100] + bytes(4_000) + content[4_100:],
                "foreign": b"SQLite format 3\0" + bytes(5_000),
                "schema": content.replace(b"CREATE TABLE", b"CREATE \xffABLE"),
            }[damage]
        )
    with pytest.raises(ConfigError, match=r"trials\.db cannot be read as a file of trials"):
        tune(Knob, split, trials=3, space=SPACE, storage=storage)
