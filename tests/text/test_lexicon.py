"""Lexicons: what is wrong with one is said in one line when it is loaded."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import ConfigError
from dmrank.text import AspectWords, Lexicon, load_lexicon
from dmrank.text.lexicon_files import INCLUDED, format_lexicon, parse_lexicon

TRIPADVISOR = (
    "value", "rooms", "location", "cleanliness", "service", "sleep_quality", "checkin", "business",
)  # fmt: skip
YELP = (
    "food", "service", "bar", "meal", "chicken", "menu", "price", "staff", "restaurant", "sauce",
    "cheese", "taste", "pizza",
)  # fmt: skip


@pytest.mark.parametrize("name", INCLUDED)
def test_included_lexicons_load(name: str) -> None:
    assert load_lexicon(name).aspects


def test_included_lexicons_have_the_aspects_of_the_public_corpora() -> None:
    assert set(TRIPADVISOR) <= set(load_lexicon("hotels").aspects)
    assert set(YELP) <= set(load_lexicon("restaurants").aspects)
    assert set(load_lexicon("beer").aspects) == {"appearance", "aroma", "palate", "taste"}


def test_restaurants_have_coarse_aspects_too() -> None:
    coarse = load_lexicon("restaurants-coarse")
    assert list(coarse.aspects) == ["food", "service", "price", "ambience"]
    assert {"pizza", "sushi"} <= set(coarse.aspects["food"].terms)


def _error(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_lexicon(text, "mine.toml")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("mine.toml")
    return message


def test_a_short_lexicon_is_a_list_of_words_per_aspect() -> None:
    lexicon = parse_lexicon('[aspects]\nstaff = ["Staff", "front  desk"]', "mine")
    assert lexicon.aspects["staff"].terms == ("staff", "front desk")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[aspects]\na = ["bed", "bed"]', "'bed' is twice in a.terms"),
        ('[aspects]\na = ["bed", "beds"]', "plurals of terms are matched"),
        ('[aspects]\na = ["bed"]\nb = ["beds"]', "'beds' is in a.terms and in b.terms"),
        (
            '[aspects.a]\nterms = ["bed"]\npositive = ["fine"]\nnegative = ["fine"]',
            "'fine' is in a.positive and in a.negative",
        ),
        (
            '[aspects.a]\nterms = ["bed"]\nfaults = ["dirty"]\n[aspects.b]\nnegative = ["dirty"]',
            "'dirty' is in a.faults and names an aspect in b.negative",
        ),
        (
            '[aspects.a]\nterms = ["bed"]\nfaults = ["old"]\nfavours = ["old"]',
            "'old' is in a.favours and in a.faults",
        ),
        (
            '[aspects.a]\npositive = ["old"]\n[aspects."\\u001b[31m"]\npositive = ["old"]',
            "'old' is in a.positive and in \\x1b[31m.positive",
        ),
    ],
)
def test_duplicate_and_overlapping_words_are_refused(text: str, said: str) -> None:
    message = _error(text)
    assert said in message
    assert "keep one of the two" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no aspect"),
        ("[aspects]\n", "no aspect"),
        ("aspects = 3", "should be a table"),
        ("[aspects]\na = []", "aspect 'a' has no words"),
        ("[aspects]\na = 3", "should be a list of words or a table"),
        ("[aspects]\na = [3]", "give a list of words"),
        ('[aspects]\na = ["…"]', "is no word"),
        ('[aspects]\noverall = ["hotel"]', "cannot be called 'overall'"),
        ('[aspects]\nuser = ["me"]', "cannot be called 'user'"),
        ('[aspects.a]\nterm = ["bed"]', "did you mean 'terms'?"),
        ('[aspect.a]\nterms = ["bed"]', "did you mean 'aspects'?"),
        ('[aspects]\na = ["bed"]\n[groups]\ng = ["b"]', "group 'g' has 'b'"),
        ('[aspects]\na = ["one two three four five six seven"]', "longer than 6 words"),
        ("[aspects", "is not a toml file"),
        ('groups = 5\n[aspects]\na = ["bed"]', "groups should be a table"),
        ("aspects = " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_other_mistakes_are_named(text: str, said: str) -> None:
    assert said in _error(text)


def test_an_unknown_name_or_file_is_named() -> None:
    with pytest.raises(ConfigError, match="no lexicon 'hotel'; did you mean 'hotels'"):
        load_lexicon("hotel")
    with pytest.raises(ConfigError, match="nowhere.toml cannot be read"):
        load_lexicon("nowhere.toml")


def test_coarse_aspects_need_groups() -> None:
    with pytest.raises(ConfigError, match="no .groups."):
        load_lexicon("beer-coarse")


_WORDS = st.lists(st.text(alphabet="abcdefghij", min_size=3, max_size=8), min_size=1, unique=True)


@given(_WORDS, st.sampled_from(["room", "sleep quality", "café", "a.b", 'say "x"']))
def test_a_written_lexicon_reads_back_the_same(words: list[str], name: str) -> None:
    lexicon = Lexicon({name: AspectWords(negative=tuple(words))}, name="x")
    read = parse_lexicon(format_lexicon(lexicon, {name: "a note"}), "x")
    assert read == lexicon


def test_a_lexicon_file_is_read_from_a_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(format_lexicon(load_lexicon("restaurants")), encoding="utf-8")
    assert load_lexicon(path).aspects == load_lexicon("restaurants").aspects
    assert load_lexicon(path).groups == load_lexicon("restaurants").groups
