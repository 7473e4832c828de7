"""Polarity is learned from overall ratings, starting at the lexicon's."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import ModelFileError
from dmrank.text import AspectWords, Lexicon, learn_polarity, lexicon_polarity, load_polarity
from tests.text.corpus import make_reviews

LEXICON = Lexicon({
    "price": AspectWords(terms=("price",)),
    "ceiling": AspectWords(terms=("ceiling",)),
})  # fmt: skip


def _reviews_in_which_high_depends_on_what_is_high() -> pl.DataFrame:
    """Return reviews: a high price comes with complaints about it, a high ceiling with praise."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(1_500):
        happy = random.random() < 0.5
        price = "The price was fair and good." if happy else "The price was high and bad."
        other = random.random() < 0.5
        ceiling = "The ceiling was high and good." if other else "The ceiling was low and bad."
        rows.append((f"{price} {ceiling}", 5 if happy and other else 1 if not happy else 3))
    return pl.DataFrame(rows, schema=["text", "stars"], orient="row")


@pytest.fixture(scope="module")
def learned():
    reviews = _reviews_in_which_high_depends_on_what_is_high()
    return learn_polarity(reviews, overall="stars", aspects=LEXICON)


def test_a_word_gets_the_polarity_of_its_company_for_each_aspect(learned) -> None:
    assert learned.of("price", "high") < 0 < learned.of("ceiling", "high")
    assert lexicon_polarity(LEXICON).of("price", "high") == 0


def test_a_new_word_gets_the_tone_of_the_reviews_it_is_in() -> None:
    texts = ["The zwieback was here with us.", "The kobold was here with us."] * 300
    reviews = pl.DataFrame({"text": texts, "stars": [5, 1] * 300})
    polarity = learn_polarity(reviews, overall="stars")
    stars = {
        word: polarity.tone[2 * polarity.roles.vocabulary.code(word)]
        for word in ("zwieback", "kobold", "here")
    }
    assert stars["zwieback"] > 0.5 > stars["here"] > -0.5 > stars["kobold"]


def test_known_opinions_keep_their_sign() -> None:
    polarity = learn_polarity(make_reviews(800), overall="stars")
    assert polarity.of("rooms", "wonderful") > 0 > polarity.of("rooms", "awful")


def test_a_rare_word_stays_at_the_lexicon() -> None:
    reviews = make_reviews(300)
    rare = reviews.with_columns(pl.col("text").str.replace("great", "snazzy", n=1))
    once = pl.concat([rare.filter(pl.col("text").str.contains("snazzy")).head(1), reviews])
    assert learn_polarity(once, overall="stars").roles.vocabulary.code("snazzy") == -1


def test_the_same_reviews_teach_the_same() -> None:
    first, second = (learn_polarity(make_reviews(300), overall="stars") for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.tone, second.tone)


def test_few_ratings_teach_nothing() -> None:
    assert learn_polarity(make_reviews(50), overall="stars").reviews == 0


def test_at_most_so_many_reviews_are_learned_from_and_they_are_spread() -> None:
    reviews = make_reviews(1_000)
    assert learn_polarity(reviews, overall="stars", learn_from=150).reviews == 150
    # Early reviews without the word, late ones with it: a prefix would not know it.
    text = pl.when(pl.int_range(pl.len()) > 700).then(pl.col("text") + " Yodel yodel.")
    late = reviews.with_columns(text.otherwise("text").alias("text"))
    learned = learn_polarity(late, overall="stars", learn_from=300)
    assert learned.roles.vocabulary.code("yodel") >= 0


def test_reviews_without_a_rating_are_not_learned_from() -> None:
    stars = pl.when(pl.int_range(pl.len()) % 2 == 0).then("stars")
    half = make_reviews(400).with_columns(stars)
    assert learn_polarity(half, overall="stars").reviews == 200


def test_a_saved_polarity_extracts_the_same_ratings(tmp_path: Path) -> None:
    reviews = make_reviews(300)
    learned = learn_polarity(reviews, overall="stars")
    read = load_polarity(learned.save(tmp_path / "polarity"))
    assert repr(read) == repr(learned)
    for polarity in (learned, read):
        ratings = dmrank.extract_aspects(reviews, polarity=polarity, verbose=False)
        assert np.isfinite(ratings.values).any()
    first, second = (
        dmrank.extract_aspects(reviews, polarity=p, verbose=False) for p in (learned, read)
    )
    assert first == second


def test_a_model_file_is_not_a_polarity(tmp_path: Path, hotels) -> None:
    model = dmrank.Popularity().fit(hotels)
    model.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="not a learned polarity"):
        load_polarity(tmp_path / "model")
