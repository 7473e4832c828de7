"""From sentiments to ratings."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import ConfigError
from dmrank.text import lexicon_polarity, load_lexicon
from dmrank.text.extractor import Extractor
from dmrank.text.reading import clean_texts
from dmrank.text.scoring import Scores, rate

POLARITY = lexicon_polarity(load_lexicon("beer"))


def _scores(total: float, evidence: float, mentions: int = 1, tone: float = 3.0) -> Scores:
    shape = (1, len(POLARITY.roles.aspects))
    return Scores(
        np.full(shape, mentions, dtype=np.int32),
        np.full(shape, total),
        np.full(shape, evidence),
        np.full(1, tone),
    )


def _rating(*args: float, overall: float | None = None, **options) -> float:
    own = None if overall is None else np.array([overall])
    return float(rate(_scores(*args), POLARITY, own, **options)[0, 0])


@given(
    st.integers(1, 20), st.floats(-1, 1), st.integers(1, 20)
)  # mean sentiment s of evidence e, n mentions
def test_efm_is_its_formula(n: int, s: float, e: int) -> None:
    expected = 1 + 4 / (1 + np.exp(-n * s))
    assert _rating(s * e, e, n, mapping="efm") == pytest.approx(expected, abs=1e-6)


@given(st.floats(-5, 5), st.floats(0, 20), st.floats(1, 5), st.floats(0.01, 5), st.floats(0.01, 3))
def test_more_praise_and_a_higher_overall_rating_never_lower_a_rating(
    total: float, evidence: float, overall: float, praise: float, stars: float
) -> None:
    plain = _rating(total, evidence, overall=overall)
    assert 1 < plain < 5
    assert _rating(total + praise, evidence, overall=overall) > plain
    assert _rating(total, evidence, overall=min(5, overall + stars)) >= plain


@given(st.floats(-1, 1).filter(lambda s: abs(s) > 0.01), st.floats(0.1, 5), st.floats(0.1, 5))
def test_more_evidence_moves_a_rating_farther_from_the_overall_rating(
    sentiment: float, evidence: float, more: float
) -> None:
    base = _rating(0, 0, overall=3.0)
    little = _rating(sentiment * evidence, evidence, overall=3.0)
    much = _rating(sentiment * (evidence + more), evidence + more, overall=3.0)
    assert abs(much - base) > abs(little - base)


def test_without_an_overall_rating_the_tone_of_the_text_counts() -> None:
    assert _rating(0, 0, 1, 4.5) > _rating(0, 0, 1, 2.0)
    assert _rating(0, 0, 1, 4.5, overall=float("nan")) == _rating(0, 0, 1, 4.5)


@pytest.mark.parametrize("mapping", ["shrunk", "efm"])
def test_what_is_not_mentioned_is_missing_unless_filled(mapping: str) -> None:
    assert np.isnan(_rating(0, 0, 0, mapping=mapping))
    assert 1 < _rating(0, 0, 0, mapping=mapping, fill=True) < 5


def test_an_unknown_mapping_is_refused() -> None:
    with pytest.raises(ConfigError, match="'emf' is not known; did you mean 'efm'"):
        _rating(0, 0, mapping="emf")


def test_sentiment_is_between_minus_one_and_one() -> None:
    extractor = Extractor(lexicon_polarity(load_lexicon("hotels")))
    texts = pl.Series(["Extremely outstanding room. Absolutely incredibly awful staff."])
    scores, _ = extractor.score(clean_texts(texts))
    found = scores.sentiment[0][scores.mentions[0] > 0]
    assert (np.abs(found) <= 1).all()
    assert found.max() > 0.8
    assert found.min() < -0.8
