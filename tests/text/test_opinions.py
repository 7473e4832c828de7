"""What is said about what: mentions, negation, intensity, contrast."""

import pytest

from dmrank.text import AspectWords, Lexicon
from tests.text.corpus import said_about, sentiment


def test_words_are_about_the_nearest_mention() -> None:
    said = said_about("The rooms were large and the staff was charming.")
    assert said["rooms"] == {"rooms", "large"}
    assert said["service"] == {"staff", "charming"}


def test_adjectives_before_and_after_their_noun_are_found() -> None:
    assert sentiment("A lovely room.")["rooms"] > 0.3
    assert sentiment("The room was lovely.")["rooms"] > 0.3


def test_plurals_and_phrases_are_mentions() -> None:
    assert {"checkin", "sleep_quality"} <= said_about("Front desks and beds.").keys()


def test_an_opinion_can_name_its_aspect() -> None:
    found = sentiment("Overpriced and filthy.")
    assert found["value"] < 0
    assert found["cleanliness"] < 0


def test_an_opinion_goes_past_another_opinion_to_its_noun() -> None:
    assert "tiny" in said_about("The room was dirty, tiny and dark.")["rooms"]


def test_contrast_separates_what_is_said() -> None:
    found = sentiment("Clean but tiny rooms.")
    assert found["cleanliness"] > 0
    assert found["rooms"] < 0
    found = sentiment("The staff was great, but the breakfast awful.")
    assert found["service"] > 0
    assert found["food"] < 0


@pytest.mark.parametrize(
    "text",
    ["The room was not clean.", "The room wasn't clean.", "The room was never really clean."],
)
def test_negation_turns_an_opinion_around(text: str) -> None:
    assert sentiment(text)["cleanliness"] < 0


def test_negation_of_something_bad_is_good_but_less_so() -> None:
    assert sentiment("The staff was not rude.")["service"] > 0
    assert sentiment("The staff was not rude.")["service"] < -sentiment("Rude staff.")["service"]


def test_negation_ends_with_its_clause() -> None:
    assert sentiment("It was not cheap, the staff was helpful.")["service"] > 0
    assert sentiment("Not cheap but clean.")["cleanliness"] > 0


def test_nothing_but_is_no_negation() -> None:
    assert sentiment("The room was nothing but clean.")["cleanliness"] > 0
    assert sentiment("We have nothing but praise for the staff.")["service"] > 0


def test_phrases_with_a_negator_have_their_own_meaning() -> None:
    assert sentiment("Cannot fault the staff.")["service"] > 0
    assert sentiment("The location can't be beat.")["location"] > 0


def test_intensity_makes_an_opinion_stronger_or_weaker() -> None:
    plain = sentiment("The room was nice.")["rooms"]
    assert sentiment("The room was extremely nice.")["rooms"] > plain
    assert sentiment("The room was slightly nice.")["rooms"] < plain


def test_the_same_word_says_different_things_about_different_aspects() -> None:
    lexicon = Lexicon({
        "price": AspectWords(terms=("price",), faults=("high",)),
        "quality": AspectWords(terms=("quality",), favours=("high",)),
    })  # fmt: skip
    found = sentiment("High price. High quality.", lexicon)
    assert found["price"] < 0 < found["quality"]


def test_sentences_do_not_reach_into_each_other() -> None:
    found = sentiment("The staff. Terrible weather.")
    assert found["service"] == 0


def test_a_word_far_away_in_a_long_sentence_is_not_linked() -> None:
    filler = "and then we walked on and on along the old river until it was dark and late "
    assert "awful" not in said_about(f"The staff {filler * 2} awful")["service"]


def test_nothing_is_found_where_nothing_is_mentioned() -> None:
    assert said_about("We arrived on a Tuesday.") == {}
