"""The model of docs/models.md works as it stands there."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dmrank
from dmrank import Model, Ratings, make_ratings

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


@pytest.fixture(scope="module")
def praised() -> type[Model]:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(blocks[-1], names)
    return names["Praised"]


@pytest.fixture
def ratings() -> Ratings:
    """Ratings as most people have them: without timestamps."""
    return make_ratings(60, 20, 600, seed=1).ratings


def test_two_hooks_make_a_model(praised, ratings: Ratings, tmp_path: Path) -> None:
    split = ratings.split()
    assert split.train.timestamps is None
    model = praised().fit(split.train, validation=split.validation)
    assert 0 <= model.history.validation[0] <= 1
    best = model.recommend("u000003", n=1, by="service", exclude_seen=False)["item"][0]
    full_marks = split.train.values[:, ratings.aspects.index("service")] == 5
    counts = np.bincount(split.train.item_codes[full_marks])
    assert best == ratings.items[int(np.argmax(counts))]
    again = dmrank.load(model.save(tmp_path / "praised.dmrank"))
    assert again.recommend("u000003").equals(model.recommend("u000003"))
    predictions = again.predict("u000003", list(ratings.items))
    assert ((predictions >= 1) & (predictions <= 5)).all()


def test_a_model_with_neither_hook_says_so(ratings: Ratings) -> None:
    class Nothing(Model):
        Config = dmrank.Popularity.Config

        def learn(self, fitting) -> None:
            pass

    with pytest.raises(NotImplementedError, match="neither scoring_vectors nor score_block"):
        Nothing().fit(ratings)
