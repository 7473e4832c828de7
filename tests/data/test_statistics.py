"""Statistics: the paper's Table 1 and what one wants to know of each aspect."""

import numpy as np
import pandas as pd
from hypothesis import given

from dmrank import Ratings, describe
from tests.strategies import ratings as any_ratings

NAN = float("nan")


def test_counts_means_and_missing_shares() -> None:
    ratings = Ratings.from_arrays(
        ["a", "a", "b"], ["x", "y", "x"], [[1, NAN], [2, 5], [6, 3]], aspects=["p", "q"]
    )
    statistics = describe(ratings)
    assert (statistics.users, statistics.items, statistics.ratings) == (2, 2, 3)
    assert statistics.density == 0.75
    assert statistics.ratings_per_user == (1, 1.5, 2)
    np.testing.assert_allclose(statistics.missing, [0, 1 / 3])
    np.testing.assert_allclose(statistics.mean, [3, 4])
    np.testing.assert_allclose(statistics.deviation, [np.sqrt(14 / 3), 1])


def test_users_without_a_row_are_not_counted(hotels: Ratings) -> None:
    part = hotels.select(np.arange(10))
    assert describe(part).users == len(part.compact().users)


@given(any_ratings(min_rows=3))
def test_correlations_are_those_of_pandas(ratings: Ratings) -> None:
    frame = pd.DataFrame(ratings.values.astype(np.float64))
    expected = frame.corr(min_periods=1).to_numpy()
    found = describe(ratings).correlation
    both = ~np.isnan(expected) & ~np.isnan(found)
    np.testing.assert_allclose(found[both], expected[both], atol=1e-6)
    # Where one of the two has no number, the common rows have no variance.
    for row, column in np.argwhere(np.isnan(found)):
        common = frame[[row, column]].dropna().to_numpy()
        assert len(common) == 0 or np.isclose(common.std(axis=0).min(), 0)


def test_an_aspect_without_ratings_has_no_mean() -> None:
    statistics = describe(Ratings.from_arrays(["a"], ["x"], [[1, NAN]], aspects=["p", "q"]))
    assert np.isnan(statistics.mean[1])
    assert statistics.to_dict()["per_aspect"][1]["mean"] is None
