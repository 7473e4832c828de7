"""The loop keeps the best, stops in time, survives interrupts and resumes bit for bit."""

from pathlib import Path

import numpy as np
import pytest

from dmrank import ConfigError, ModelFileError
from dmrank.training.checkpoints import Checkpoint
from dmrank.training.history import History
from dmrank.training.loop import Schedule, train
from tests.damage import flipped, forged


class Climb:
    """A toy model: one number that each iteration changes, and a sum as its hidden state."""

    def __init__(self, interrupt_at: int = -1, explode_at: int = -1) -> None:
        self.parameters = {"x": np.zeros(1)}
        self.state = {"steps": np.zeros(1)}
        self.interrupt_at, self.explode_at = interrupt_at, explode_at

    def run(self, first: int, count: int) -> np.ndarray:
        for iteration in range(first, first + count):
            if iteration == self.interrupt_at:
                raise KeyboardInterrupt
            self.state["steps"] += 1
            self.parameters["x"] += np.sin(iteration) / self.state["steps"] + 1
            if iteration == self.explode_at:
                self.parameters["x"][:] = np.nan
        return np.full(count, -1.0 if self.explode_at < 0 else self.parameters["x"][0])

    def value(self) -> float:
        return -float(abs(self.parameters["x"][0] - 50))

    def train(
        self, iterations: int = 100, patience: int = 3, first_look: int | None = None, **options
    ) -> History:
        schedule = Schedule(iterations, 10, patience, first_look)
        return train(self.run, self.parameters, self.state, schedule, **options)


def test_without_validation_the_last_parameters_are_kept() -> None:
    climb = Climb()
    history = climb.train(95)
    assert history.iterations == [10, 20, 30, 40, 50, 60, 70, 80, 90, 95]
    assert climb.parameters["x"] == pytest.approx(96, abs=2)
    assert history.stopped == ""


def test_the_best_parameters_are_kept_and_patience_ends_training() -> None:
    climb = Climb()
    history = climb.train(10_000, evaluate=climb.value)
    assert history.iterations[-1] == 80
    assert history.best_iteration == 50
    assert climb.value() == max(history.validation)
    assert "stopped improving" in history.stopped


def test_the_first_looks_come_early() -> None:
    climb = Climb()
    history = climb.train(35, first_look=2, evaluate=climb.value)
    assert history.iterations == [2, 4, 8, 10, 20, 30, 35]
    assert Climb().train(25, first_look=10).iterations == [10, 20, 25]
    assert Climb().train(3, first_look=2).iterations == [2, 3]


def test_an_early_look_is_kept_if_it_was_the_best() -> None:
    climb = Climb()
    history = climb.train(first_look=1, evaluate=lambda: -float(abs(climb.parameters["x"][0] - 4)))
    assert history.best_iteration == 4
    assert climb.parameters["x"] == pytest.approx(4, abs=2)


def test_early_looks_change_nothing_about_how_long_training_is() -> None:
    """Neither do they use patience up, nor is a regular look measured by them."""
    lengths = []
    for first_look in (None, 1):
        climb, values = Climb(), iter([9, 8, 7, 6] if first_look else [])
        regular = iter([1, 2, 3, 4, 3, 3, 3, 3])

        def value(climb: Climb = climb, early=values, regular=regular) -> float:
            return next(early if climb.state["steps"][0] < 10 else regular)

        history = climb.train(evaluate=value, first_look=first_look)
        lengths.append(history.iterations[-1])
    assert lengths == [70, 70]


@pytest.mark.parametrize("killed_at", [1, 3, 7, 9, 12, 58])
def test_a_run_with_early_looks_goes_on_with_the_same_bits(tmp_path: Path, killed_at: int) -> None:
    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path, {}, every_seconds=0)

    def value_of(climb: Climb) -> float:
        # Best at the second early look, then at iteration 30.
        return -float(abs(climb.parameters["x"][0] - (2 if climb.state["steps"] < 10 else 30)))

    def run(climb: Climb, **options) -> History:
        return climb.train(first_look=1, evaluate=lambda: value_of(climb), **options)

    whole, killed, resumed = Climb(), Climb(interrupt_at=killed_at), Climb()
    expected = run(whole)
    run(killed, checkpoint=checkpoint())
    assert run(resumed, checkpoint=checkpoint()) == expected
    assert expected.iterations[-1] == 60
    np.testing.assert_array_equal(resumed.parameters["x"], whole.parameters["x"])


def test_an_interrupt_keeps_the_best_so_far(capsys) -> None:
    climb = Climb(interrupt_at=73)
    history = climb.train(evaluate=climb.value, patience=99)
    assert history.stopped == "interrupted"
    assert history.iterations[-1] == 70
    assert climb.value() == max(history.validation)
    assert "best parameters so far are kept" in capsys.readouterr().err


def test_an_explosion_stops_training_and_keeps_the_last_good_state(capsys) -> None:
    climb = Climb(explode_at=47)
    history = climb.train()
    assert history.iterations[-1] == 40
    assert np.isfinite(climb.parameters["x"]).all()
    assert "no longer finite" in history.stopped
    assert "lower learning_rate" in capsys.readouterr().err


def test_a_killed_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    def checkpoint() -> Checkpoint:
        return Checkpoint(tmp_path, {"margin": 0.2}, every_seconds=0)

    whole = Climb()
    expected = whole.train(evaluate=whole.value, patience=99)
    killed = Climb(interrupt_at=58)
    killed.train(evaluate=killed.value, patience=99, checkpoint=checkpoint())
    resumed = Climb()
    history = resumed.train(evaluate=resumed.value, patience=99, checkpoint=checkpoint())
    assert history == expected
    np.testing.assert_array_equal(resumed.parameters["x"], whole.parameters["x"])
    np.testing.assert_array_equal(resumed.state["steps"], whole.state["steps"])


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {}, every_seconds=0)
    first, second = Climb(), Climb()
    first.train(checkpoint=checkpoint)
    second.run = lambda *_: pytest.fail("there is nothing left to run")  # type: ignore[method-assign]
    second.train(checkpoint=checkpoint)
    np.testing.assert_array_equal(second.parameters["x"], first.parameters["x"])


def test_states_are_saved_at_intervals_and_at_the_end(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {}, every_seconds=3_600)
    climb = Climb()
    climb.train(checkpoint=checkpoint)
    saved = checkpoint.load(climb.parameters, climb.state)
    assert saved is not None
    assert saved.iteration == 100


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    Climb().train(checkpoint=Checkpoint(tmp_path, {"margin": 0.2}, every_seconds=0))
    with pytest.raises(ConfigError, match="another run: its margin is 0.2, not 0.5"):
        Climb().train(checkpoint=Checkpoint(tmp_path, {"margin": 0.5}))


def test_a_full_disk_does_not_end_training(tmp_path: Path, monkeypatch, capsys) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dmrank.training.checkpoints.write_container", full)
    climb = Climb()
    history = climb.train(checkpoint=Checkpoint(tmp_path, {}, every_seconds=0))
    assert history.iterations[-1] == 100
    assert "No space left on device; training goes on" in " ".join(capsys.readouterr().err.split())


def test_a_history_plots_itself(tmp_path: Path) -> None:
    climb = Climb()
    history = climb.train(evaluate=climb.value)
    assert history.plot(tmp_path / "history.png").stat().st_size > 5_000
    assert history.to_polars().height == len(history.iterations)
    assert repr(History()) == "History(no evaluation)"


def test_a_model_that_is_learned_in_one_step_has_no_iterations_to_tell() -> None:
    history = History()
    history.add(1, float("nan"), 0.25)
    assert repr(history) == "History(validation 0.2500)"
    history.add(2, float("nan"), 0.2)
    assert repr(history) == "History(2 iterations, best validation 0.2500 at 1)"


@pytest.mark.parametrize("lost", ["x", "best.x", "steps"])
def test_a_checkpoint_without_one_of_its_arrays_is_refused(tmp_path: Path, lost: str) -> None:
    checkpoint = Checkpoint(tmp_path, {}, every_seconds=0)
    climb = Climb()
    climb.train(checkpoint=checkpoint)
    forged(checkpoint.path, checkpoint.path, lambda arrays, _: arrays.pop(lost))
    with pytest.raises(ModelFileError, match=f"lacks the array '{lost}'"):
        Climb().train(checkpoint=checkpoint)


def test_a_flipped_bit_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, {}, every_seconds=0)
    Climb().train(checkpoint=checkpoint)
    for content in flipped(checkpoint.path.read_bytes(), count=100, seed=1):
        checkpoint.path.write_bytes(content)
        with pytest.raises(ModelFileError):
            Climb().train(checkpoint=checkpoint)


@pytest.mark.parametrize(
    "change",
    [
        {"iteration": -1},
        {"iteration": "60"},
        {"since_best": None},
        {"run": []},
        {"history": {"iterations": [1], "objective": [], "validation": [], "stopped": ""}},
    ],
)
def test_a_checkpoint_with_another_header_is_refused(tmp_path: Path, change: dict) -> None:
    checkpoint = Checkpoint(tmp_path, {}, every_seconds=0)
    Climb().train(checkpoint=checkpoint)
    forged(checkpoint.path, checkpoint.path, lambda _, about: about.update(change))
    with pytest.raises(ModelFileError, match="is not a checkpoint that this version can read"):
        Climb().train(checkpoint=checkpoint)
