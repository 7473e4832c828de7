"""Aspects are found in a corpus of its own, and written as a lexicon that a person can edit."""

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import ConfigError, DataError
from dmrank.text import AspectWords, Lexicon
from dmrank.text.lexicon_files import format_lexicon, parse_lexicon

_GROUPS = {
    ("gearbox", "clutch"): ("shifts", "gears", "lever"),
    ("saddle", "seat"): ("sitting", "leather", "hours"),
    ("brakes",): ("stopping", "rain", "downhill"),
}


def make_bike_reviews(rows: int = 900) -> pl.DataFrame:
    """Return reviews of bicycles, whose parts have words of their own around them."""
    random = np.random.default_rng(0)
    texts, stars = [], []
    for _ in range(rows):
        said, good = [], 0
        for things, context in _GROUPS.items():
            happy = random.random() < 0.6
            good += happy
            thing, word = random.choice(things), random.choice(context)
            opinion = random.choice(["great", "lovely"] if happy else ["bad", "poor"])
            said.append(f"The {thing} was {opinion} for {word}.")
            said.append(f"A {opinion} {thing} with {random.choice(context)}.")
        texts.append(" ".join(random.permutation(said)))
        stars.append(2 + good)
    return pl.DataFrame({"text": texts, "stars": stars})


@pytest.fixture(scope="module")
def found():
    return dmrank.discover_aspects(make_bike_reviews(), overall="stars")


def test_things_that_people_have_opinions_about_are_found(found) -> None:
    terms = {term for words in found.lexicon.aspects.values() for term in words.terms}
    assert {"gearbox", "clutch", "saddle", "seat", "brakes"} <= terms


def test_words_that_keep_the_same_company_are_one_aspect(found) -> None:
    groups = [set(words.terms) for words in found.lexicon.aspects.values()]
    assert any({"gearbox", "clutch"} <= group and "seat" not in group for group in groups)
    assert any({"saddle", "seat"} <= group for group in groups)


def test_verbs_and_function_words_are_no_aspects(found) -> None:
    terms = {term for words in found.lexicon.aspects.values() for term in words.terms}
    assert not terms & {"the", "was", "great", "bad", "with"}


def test_mentions_are_counted(found) -> None:
    texts = make_bike_reviews()["text"]
    for name, words in found.lexicon.aspects.items():
        pattern = r"\b(?:" + "|".join(words.terms) + r")s?\b"
        assert found.mentions[name] == texts.str.count_matches(pattern).sum()


def test_rare_aspects_are_left_out() -> None:
    reviews = make_bike_reviews(300)
    most = max(dmrank.discover_aspects(reviews).mentions.values())
    with pytest.raises(DataError, match=f"the most frequent has {most:,}: lower min_count"):
        dmrank.discover_aspects(reviews, min_count=10**6)
    assert len(dmrank.discover_aspects(reviews, most=1).lexicon.aspects) == 1


def test_words_are_grouped_around_given_seeds() -> None:
    seeds = Lexicon({"comfort": AspectWords(terms=("saddle",))})
    found = dmrank.discover_aspects(make_bike_reviews(), seeds=seeds)
    assert {"saddle", "seat"} <= set(found.lexicon.aspects["comfort"].terms)


def test_the_written_lexicon_can_be_read_and_used(found) -> None:
    text = format_lexicon(found.lexicon, found.notes())
    assert f"# {max(found.mentions.values()):,} mentions" in text
    lexicon = parse_lexicon(text, "bikes")
    table = make_bike_reviews(50).with_columns(user=pl.col("text"), item=pl.lit("bike"))
    ratings = dmrank.extract_aspects(table, aspects=lexicon, verbose=False)
    assert set(ratings.aspects) == set(found.lexicon.aspects)


def test_mistakes_are_named() -> None:
    with pytest.raises(ConfigError, match="similarity"):
        dmrank.discover_aspects(make_bike_reviews(50), similarity=1.5)
    with pytest.raises(DataError, match="no review has text"):
        dmrank.discover_aspects(pl.DataFrame({"text": ["", None]}))
    with pytest.raises(DataError, match="give more reviews"):
        dmrank.discover_aspects(pl.DataFrame({"text": ["Fine."]}))
