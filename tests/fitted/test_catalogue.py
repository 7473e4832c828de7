"""What a model file keeps of ids and names: every text comes back as it was."""

import gc
import weakref

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import ItemMean, make_ratings
from dmrank.fitted.catalogue import _from_bytes, _to_bytes

#: All that ASCII has: nothing is left to stand between texts.
EVERY_LETTER = "".join(map(chr, range(128)))


@given(st.lists(st.text(max_size=5)), st.booleans())
def test_texts_come_back(texts: list[str], has_every_letter: bool) -> None:
    given_ = [*texts, EVERY_LETTER] if has_every_letter else texts
    if not given_:
        return
    series = pl.Series(given_, dtype=pl.String)
    assert _from_bytes(*_to_bytes(series)).to_list() == given_


def test_what_is_cut_within_a_letter_is_no_text() -> None:
    text = np.frombuffer("aéb".encode(), dtype=np.uint8)
    with pytest.raises(UnicodeDecodeError):
        _from_bytes(text, np.array([2, 4]))


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
