"""Pictures of what a model says."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from dmrank import (
    DMR,
    ConfigError,
    DataError,
    ItemMean,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    make_ratings,
)
from dmrank.directional import Gaussian, Student, log_likelihood
from dmrank.support.plots import draw_direction, figure, save

QUICK = {"iterations": 100, "evaluate_every": 100, "batch_size": 256, "factors": 4, "threads": 1}


@pytest.fixture(scope="module")
def model() -> DMR:
    return DMR(**QUICK, rated_share=1.0).fit(make_ratings(100, 30, 2_000, seed=1).ratings)


@pytest.mark.parametrize("degrees_of_freedom", [None, 5.0])
def test_the_coloured_area_is_the_likelihood_of_the_direction(degrees_of_freedom) -> None:
    mean, sigma, d = [1.7, -0.3], [[0.8, 0.35], [0.35, 0.6]], [2.0, -1.0]
    family = Gaussian(0.2) if degrees_of_freedom is None else Student(degrees_of_freedom, 0.2)
    with figure(4, 4) as drawn:
        area = draw_direction(
            drawn.subplots(), mean, sigma, d, margin=0.2, degrees_of_freedom=degrees_of_freedom
        )
    assert area == pytest.approx(np.exp(log_likelihood(d, mean, sigma, family)), rel=1e-3)


def test_panels_can_be_compared_side_by_side() -> None:
    with figure(8, 4) as drawn:
        panels = drawn.subplots(1, 2)
        for axes, mean in zip(panels, ([1.0, 1.0], [9.0, 0.0]), strict=True):
            draw_direction(
                axes, mean, np.eye(2), [1.0, 0.5], names=("a", "b"), reach=4.0, tallest=0.2
            )
    assert [axes.get_xlim() for axes in panels] == [(-4, 4)] * 2
    assert panels[0].get_xlabel() == "a"


def test_every_picture_is_a_figure_that_can_be_saved(model: DMR, tmp_path: Path) -> None:
    pictures = {
        "profile": model.plot_profile("u000003", "h000001"),
        "by anybody": ItemMean()
        .fit(make_ratings(30, 10, 200, seed=1).ratings)
        .plot_profile("u000003", "h000001"),
        "correlation": model.plot_correlation("u000003"),
        "of one item": model.plot_correlation("u000003", "h000001"),
        "comparison": model.plot_comparison("u000003", "h000001", "h000002"),
        "chosen": model.plot_comparison("u000003", "h000001", "h000002", ("value", "service")),
    }
    for name, drawn in pictures.items():
        assert isinstance(drawn, Figure)
        assert save(drawn, tmp_path / f"{name}.png").stat().st_size > 5_000


def test_a_comparison_is_drawn_on_the_aspects_that_differ_most(model: DMR) -> None:
    difference = model.compare("u000003", "h000001", "h000002").table
    most = difference.sort(difference["difference"].abs(), descending=True)["aspect"][:2]
    axes = model.plot_comparison("u000003", "h000001", "h000002").axes[0]
    labels = {axes.get_xlabel(), axes.get_ylabel()}
    assert labels == {f"difference in {name.replace('_', ' ')}" for name in most}


def test_a_profile_shows_the_numbers_of_predict(model: DMR) -> None:
    axes = model.plot_profile("u000003", "h000001").axes[0]
    shown = [text.get_text().split()[0] for text in axes.texts]
    assert shown == [f"{value:.1f}" for value in model.predict("u000003", "h000001")[0]]


def test_what_cannot_be_drawn_is_a_typed_error(model: DMR) -> None:
    with pytest.raises(UnknownUserError):
        model.plot_correlation("nobody")
    with pytest.raises(UnknownItemError):
        model.plot_profile("u000003", "nowhere")
    with pytest.raises(UnknownAspectError):
        model.plot_comparison("u000003", "h000001", "h000002", ("value", "food"))
    with pytest.raises(ConfigError, match="two different aspects"):
        model.plot_comparison("u000003", "h000001", "h000002", ("value", "value"))
    with pytest.raises(DataError, match="do not differ"):
        model.plot_comparison("u000003", "h000001", "h000001")
