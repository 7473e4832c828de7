"""Protocols: among which candidates a test item has to come first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import ConfigError, make_ratings
from dmrank.evaluation.protocols import Full, Sampled, _places, parse_protocol
from dmrank.training.held_out import HeldOut


def test_sampled_candidates_are_the_same_for_all_and_were_never_rated() -> None:
    split = make_ratings(150, 60, 3_000, seed=1).ratings.split(seed=2)
    held_out = HeldOut.from_ratings(split.train, split.test, split.validation)
    one, two = (Sampled(15, seed=3).prepare(held_out) for _ in range(2))
    np.testing.assert_array_equal(one.items, two.items)
    for n, user in enumerate(held_out.users):
        drawn = one.items[one.pointer[n] : one.pointer[n + 1]]
        assert len(set(drawn)) == len(drawn)
        for part in (split.train, split.validation, split.test):
            assert not set(drawn) & set(part.item_codes[part.user_codes == user])


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), min_size=1, max_size=6),
    st.lists(st.integers(0, 3), max_size=6),
)
def test_ties_count_against_the_model(tests, negatives) -> None:
    scores = np.array([score for score, _ in tests], dtype=np.float32)
    gains = np.array([gain for _, gain in tests], dtype=np.float32)
    places = _places(scores, gains, np.array(negatives, dtype=np.float32))
    for score, gain, place in zip(scores, gains, places, strict=True):
        before = sum(n >= score for n in negatives) + sum(
            s > score or (s == score and g < gain) for s, g in tests
        )
        alike = sum(s == score and g == gain for s, g in tests)
        assert before < place <= before + alike


def test_protocols_have_names() -> None:
    assert parse_protocol("full") == Full()
    assert parse_protocol(" Sampled(7) ") == Sampled(7)
    assert str(parse_protocol("sampled(100)")) == "sampled(100)"
    for name in ("all", "sampled", "sampled()", "sampled(0)"):
        with pytest.raises(ConfigError, match=r"sampled\("):
            parse_protocol(name)
