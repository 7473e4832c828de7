"""Texts are split into words, clauses and sentences, whatever is in them."""

import re

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dmrank.text.tokens import CLAUSE_END, SENTENCE_END, Tokens, join_texts, tokenize
from dmrank.text.vocabulary import CLAUSE_BREAK, SENTENCE_BREAK, UNKNOWN, Vocabulary


def _split(*texts: str) -> Tokens:
    return tokenize(*join_texts(pl.Series(list(texts), dtype=pl.String)))


def _words(text: str) -> list[str]:
    tokens = _split(text)
    return [tokens.spelling(t) for t in np.flatnonzero(tokens.hashes > CLAUSE_END)]


def _breaks(text: str) -> str:
    marks = {SENTENCE_END: ".", CLAUSE_END: ","}
    return "".join(marks.get(int(value), "w") for value in _split(text).hashes)


def test_words_are_lower_case_and_keep_their_apostrophe() -> None:
    assert _words("The HOTEL isn't Mary's") == ["the", "hotel", "isn't", "mary"]


def test_a_typographic_apostrophe_is_an_apostrophe() -> None:
    assert _words("didn’t") == _words("didn't")


def test_hyphens_separate_words() -> None:
    assert _words("check-in, well-kept") == ["check", "in", "well", "kept"]


def test_sentences_and_clauses_end_where_they_do() -> None:
    assert _breaks("Nice, but old. Go!") == "w,ww.w.."
    assert _breaks("clean – cheap … far - out") == "w,w.w,w."
    assert _breaks("4.5 stars") == "www."


def test_tags_end_a_sentence_and_are_not_read() -> None:
    assert _words("clean<br/>cheap <b>room</b>") == ["clean", "cheap", "room"]
    assert _breaks("clean<br/>cheap") == "w.w."
    assert _breaks("<p>very <b>clean</b></p>") == ".ww.."
    assert _words("3 < 4 and a<b") == ["3", "4", "and", "a", "b"]


def test_emoji_are_words_of_their_own() -> None:
    assert _words("great😀room ❤️") == ["great", "😀", "room", "❤"]


def test_texts_do_not_run_into_each_other() -> None:
    tokens = _split("a b", "", "c")
    assert np.diff(tokens.pointer).tolist() == [3, 1, 2]


@given(st.lists(st.text(), max_size=5))
def test_any_text_is_split_into_tokens_that_lie_in_it_in_order(texts: list[str]) -> None:
    tokens = _split(*texts)
    assert len(tokens.pointer) == len(texts) + 1
    assert (tokens.starts <= tokens.ends).all()
    assert (np.diff(tokens.starts) >= 0).all()
    assert (tokens.hashes[tokens.pointer[1:] - 1] == SENTENCE_END).all()
    for row, text in enumerate(texts):
        size = len(text.encode(errors="surrogatepass"))
        own = slice(tokens.pointer[row], tokens.pointer[row + 1])
        assert tokens.ends[own].max() - tokens.starts[own].min() <= size


@given(st.text(alphabet="abcXYZ09 ,.!'-\n"))
def test_ascii_words_are_those_of_a_regular_expression(text: str) -> None:
    expected = re.findall(r"[a-z0-9]+(?:'(?=[a-z])[a-z0-9]+)*", text.lower())
    assert _words(text) == [word.removesuffix("'s") for word in expected]


def test_a_vocabulary_finds_its_words_and_the_longest_phrase() -> None:
    vocabulary = Vocabulary(["value", "good value", "good value for money", "room"])
    codes = vocabulary.encode(_split("Good value for money, good value, room unknown."))
    named = [vocabulary.name(c) if c >= 0 else c for c in codes.words.tolist()]
    assert named == [
        "good value for money", CLAUSE_BREAK, "good value", CLAUSE_BREAK,
        "room", UNKNOWN, SENTENCE_BREAK, SENTENCE_BREAK,
    ]  # fmt: skip


def test_a_phrase_does_not_cross_a_break() -> None:
    vocabulary = Vocabulary(["good value"])
    words = vocabulary.encode(_split("good, value")).words.tolist()
    assert vocabulary.code_of["good value"] not in words


@given(st.sets(st.text(alphabet="abcdefgh", min_size=1, max_size=6), min_size=1, max_size=40))
def test_every_word_of_a_vocabulary_is_found_and_no_other(words: set[str]) -> None:
    vocabulary = Vocabulary(words)
    codes = vocabulary.encode(_split(" ".join([*words, "xyz"]))).words[:-1]
    assert [vocabulary.name(code) for code in codes[:-1]] == list(words)
    assert codes[-1] == UNKNOWN
