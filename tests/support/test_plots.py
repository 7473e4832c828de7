"""Figures: the numbers behind them, and files that are the same every time."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from dmrank import Ratings, describe
from dmrank.support.plots import draw_ratings, figure, label_points, rating_shares, save


def test_shares_of_each_aspect_add_up_to_one(hotels: Ratings) -> None:
    shares, labels = rating_shares(hotels.values, hotels.scale)
    assert labels == ["1", "2", "3", "4", "5"]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[:, -1], np.isnan(hotels.values).mean(axis=0))


def test_aspects_on_different_scales_are_cut_into_fifths() -> None:
    values = np.float32([[1, 1], [20, 5], [10.5, 3]])
    shares, labels = rating_shares(values, np.float32([[1, 20], [1, 5]]))
    assert len(labels) == 5
    np.testing.assert_allclose(shares, [[1 / 3, 0, 1 / 3, 0, 1 / 3, 0]] * 2)


def test_a_figure_is_the_same_file_every_time(hotels: Ratings, tmp_path: Path) -> None:
    statistics = describe(hotels)
    for name in ("one", "two"):
        for ending in (".png", ".svg"):
            drawn = draw_ratings(
                hotels.values, hotels.scale, statistics.correlation, hotels.aspects
            )
            save(drawn, tmp_path / f"{name}{ending}")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_names_of_points_do_not_cover_each_other() -> None:
    with figure(5, 4) as drawn:
        axes = drawn.subplots()
        axes.set(xlim=(0, 1), ylim=(0, 1))
        label_points(axes, [(0.5, 0.5, "first"), (0.5, 0.5, "second"), (0.51, 0.5, "third")])
    heights = sorted(text.xyann[1] for text in axes.texts)
    assert [text.get_text() for text in axes.texts] == ["first", "second", "third"]
    assert min(high - low for low, high in pairwise(heights)) >= 12
