"""Seeds that are none are said in one line, whoever takes them."""

from collections.abc import Callable

import pytest

from dmrank import ConfigError, ItemMean, make_hotels, make_ratings, tune
from dmrank.evaluation import rated_pairs
from dmrank.evaluation.protocols import Sampled


@pytest.mark.parametrize("seed", [-1, 1.5, None])
@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: make_ratings(20, 10, 100, seed=1).ratings.split(seed=seed),
        lambda seed: make_ratings(20, 10, 100, seed=seed),
        lambda seed: make_hotels(seed=seed),
        lambda seed: ItemMean(seed=seed),
        lambda seed: tune("ItemMean", make_ratings(20, 10, 100, seed=1).ratings.split(), seed=seed),
        lambda seed: rated_pairs(make_ratings(40, 10, 300, seed=1).ratings.split(), seed=seed),
        lambda seed: Sampled(10, seed),
    ],
    ids=["split", "ratings", "hotels", "model", "tune", "pairs", "protocol"],
)
def test_a_seed_is_a_whole_number_from_0_on(draw: Callable[[object], object], seed: object) -> None:
    with pytest.raises(ConfigError, match="seed="):
        draw(seed)
