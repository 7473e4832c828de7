"""What a fitted model keeps of the ratings."""

import gc
import weakref

from dmrank import ItemMean, make_ratings


def test_a_fitted_model_lets_go_of_the_ratings() -> None:
    ratings = make_ratings(50, 20, 500, seed=1).ratings
    model = ItemMean().fit(ratings)
    values = weakref.ref(ratings.values)
    del ratings
    gc.collect()
    assert values() is None
    evidence = model.catalogue.evidence
    assert evidence is not None
    assert len(evidence.user_means) == len(model.users)
