"""Pairs that count by how likely their item was to be met."""

import numpy as np
import pytest

import dmrank
from dmrank import DMR, EASE, ConfigError, Ratings, make_ratings
from dmrank.models.kinds.propensity import model_propensities, weigh_rows
from dmrank.training.data import ratings_data
from dmrank.training.pairwise.row_weights import expected_draws

QUICK = {"iterations": 400, "evaluate_every": 100, "batch_size": 512, "factors": 4}


def test_a_model_is_given_by_name_with_parameters_or_itself() -> None:
    assert DMR().config.propensity is None
    assert DMR(propensity="popularity").config.propensity == "popularity"
    by_name = DMR(propensity="EASE").config
    assert by_name.propensity == {"ease": {}}
    with_parameters = DMR(propensity=EASE(regularization=30.0)).config
    assert with_parameters.propensity == {"ease": {"regularization": 30.0}}
    assert DMR(propensity={"ease": {"regularization": 30.0}}).config == with_parameters


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("eas", r"propensity='eas': there is no model 'eas'; did you mean 'ease'\?"),
        (["ease", "ials"], "give 'popularity' or one model"),
        ({"ease": {}, "ials": {}}, "give 'popularity' or one model"),
        (3, "give 'popularity' or one model"),
        ({"ease": {"regularisation": 1}}, "did you mean 'regularization'"),
    ],
    ids=str,
)
def test_what_is_no_propensity_is_one_line(given: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        DMR(propensity=given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("how", ["popularity", "ease"])
def test_ratings_of_seldom_met_items_are_drawn_more_often(hotels: Ratings, how: str) -> None:
    data = ratings_data(hotels)
    draws = expected_draws(weigh_rows(data, hotels, DMR(propensity=how).config))
    popularity = data.item_counts[data.items]
    few, many = popularity < np.median(popularity), popularity > np.median(popularity)
    assert draws[few].mean() > 1.2
    assert draws[many].mean() < 1
    assert draws.sum() == pytest.approx(len(hotels))


def test_no_pair_counts_more_than_is_allowed(hotels: Ratings) -> None:
    data = ratings_data(hotels)
    draws = expected_draws(
        weigh_rows(data, hotels, DMR(propensity="popularity", largest_weight=1.5).config)
    )
    assert draws.max() == pytest.approx(1.5 * np.median(draws), rel=1e-5)


def test_propensities_of_a_model_are_shares_of_what_is_rated() -> None:
    ratings = make_ratings(400, 60, 5_000, taste=0.0, seed=2).ratings
    met = model_propensities(EASE(), ratings)
    assert met.min() > 0
    assert met.max() <= 1
    # Among the ratings, the mean of 1/θ is how many pairs there are for each.
    assert np.mean(1 / met) == pytest.approx(400 * 60 / 5_000, rel=0.1)


def test_the_same_bits_with_any_number_of_threads(hotels: Ratings) -> None:
    one, two = (
        DMR(**QUICK, propensity="popularity", rated_share=0.3, threads=n, seed=5).fit(hotels)
        for n in (1, 2)
    )
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, two.arrays[name])


def test_a_file_remembers_it(hotels: Ratings, tmp_path) -> None:
    model = DMR(**QUICK, propensity=EASE(regularization=30.0)).fit(hotels)
    model.save(tmp_path / "m.dmrank")
    assert dmrank.load(tmp_path / "m.dmrank").config == model.config


def test_lists_lean_less_on_popularity_where_it_alone_says_who_comes() -> None:
    synthetic = make_ratings(800, 150, 16_000, taste=1.0, seed=3)
    counts = np.bincount(synthetic.ratings.item_codes, minlength=150)

    def mean_popularity(**options: object) -> float:
        model = DMR(iterations=3_000, covariance="identity", seed=1, **options)
        lists = model.fit(synthetic.ratings).recommend(list(synthetic.ratings.users), n=10)
        return float(counts[synthetic.ratings.items.codes(lists["item"])].mean())

    assert mean_popularity(propensity="popularity") < 0.95 * mean_popularity()
