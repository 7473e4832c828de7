"""Reviews become Ratings, whatever is in them."""

import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import ConfigError, DataError, Ratings
from dmrank.data.reading.opening import open_table
from dmrank.text.extract import RatingStream
from dmrank.text.extractor import Extractor, Summary
from dmrank.text.polarity import lexicon_polarity
from dmrank.text.reviews import ReviewColumns
from tests.text.corpus import make_reviews


def _table(*texts: str | None, **columns: object) -> pl.DataFrame:
    rows = len(texts)
    ids = {"user": [f"u{row}" for row in range(rows)], "item": ["h"] * rows}
    return pl.DataFrame({**ids, "text": pl.Series(texts, dtype=pl.String), **columns})


def _extract(table: pl.DataFrame, **options: object) -> Ratings:
    return dmrank.extract_aspects(table, verbose=False, **options)


def _summary(table: pl.DataFrame) -> Summary:
    polarity = lexicon_polarity(dmrank.load_lexicon("hotels"))
    source = open_table(table)
    columns = ReviewColumns().resolve(source)
    stream = RatingStream(source, columns, Extractor(polarity))
    for _ in stream.frames():
        pass
    return stream.summary


def _of(ratings: Ratings, user: str, aspect: str) -> float:
    return float(ratings.of_user(user).values[0, ratings.aspect(aspect)])


def test_not_mentioned_is_missing() -> None:
    ratings = _extract(_table("Friendly staff.", "Awful location."))
    assert np.isnan(_of(ratings, "u0", "location"))
    assert _of(ratings, "u0", "service") > 3 > _of(ratings, "u1", "location")


def test_the_overall_rating_is_kept_and_leaned_on() -> None:
    table = _table("The room.", "The room.", stars=[5, 1])
    ratings = _extract(table, overall="stars")
    assert ratings.aspects[0] == "overall"
    assert _of(ratings, "u0", "overall") == 5
    assert _of(ratings, "u0", "rooms") > 4
    assert _of(ratings, "u1", "rooms") < 2
    alone = _extract(table, overall="stars", use_overall=False)
    assert _of(alone, "u0", "rooms") == _of(alone, "u1", "rooms")


def test_every_rating_is_within_the_scale() -> None:
    reviews = make_reviews(300).with_columns(pl.col("stars") * 2)
    ratings = _extract(reviews, overall="stars", scale=(2, 10))
    found = ratings.values[np.isfinite(ratings.values)]
    assert found.min() >= 2
    assert found.max() <= 10
    assert found.max() > 5
    assert ratings.scale.tolist() == [[2, 10]] * len(ratings.aspects)


def test_the_scale_does_not_change_the_order() -> None:
    reviews = make_reviews(200)
    stars = _extract(reviews, overall="stars")
    points = _extract(reviews.with_columns(pl.col("stars") * 2), overall="stars", scale=(2, 10))
    assert np.allclose(stars.values * 2, points.values, atol=1e-4, equal_nan=True)


def test_titles_count_more_than_text() -> None:
    praise, blame = "Wonderful room", "The room was awful."
    titled = _extract(_table(blame, title=[praise]))
    untitled = _extract(_table(f"{blame} {praise}."))
    assert _of(titled, "u0", "rooms") > _of(untitled, "u0", "rooms")


def test_timestamps_and_item_names_are_kept_if_there_are_any() -> None:
    times = pl.Series(["2012-05-31"]).str.to_date()
    ratings = _extract(_table("Nice room.", timestamp=times, item_name=["Ritz"]))
    assert ratings.timestamps is not None
    assert ratings.item_name(0) == "Ritz"


def test_timestamps_with_fractions_are_kept() -> None:
    ratings = _extract(_table("Nice room.", timestamp=[0.25]))
    assert ratings.timestamps is not None
    assert (ratings.timestamps.tolist(), ratings.time_unit) == ([250_000], "us")


def test_no_name_of_a_column_is_a_pattern() -> None:
    table = _table("Nice room.", title=["Nice"])
    odd = table.rename({"text": "^x$", "title": "^y$"})
    named = _extract(odd, text="^x$", title="^y$")
    assert named == _extract(table)


def test_the_number_of_threads_does_not_change_the_ratings() -> None:
    reviews = make_reviews(1_500)
    one, three = (_extract(reviews, overall="stars", threads=threads) for threads in (1, 3))
    assert one == three


def test_files_and_tables_give_the_same(tmp_path: Path) -> None:
    reviews = make_reviews(300)
    reviews.write_csv(tmp_path / "r.csv")
    reviews.write_ndjson(tmp_path / "r.jsonl")
    from_table = _extract(reviews, overall="stars")
    for name in ("r.csv", "r.jsonl"):
        assert _extract(tmp_path / name, overall="stars") == from_table


def test_own_aspects_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[aspects]\nfish = ["trout", "pike"]\n')
    ratings = _extract(_table("Awful trout!"), aspects=tmp_path / "mine.toml")
    assert ratings.aspects == ("fish",)
    assert _of(ratings, "u0", "fish") < 3


def test_efm_gives_its_formula_on_the_scale() -> None:
    ratings = _extract(_table("Nice room."), mapping="efm", scale=(1, 5))
    assert 3 < _of(ratings, "u0", "rooms") < 5


def test_filled_ratings_have_no_gaps() -> None:
    ratings = _extract(_table("Nice room.", ""), fill=True)
    assert np.isfinite(ratings.values).all()


def test_ratings_can_be_trained_on() -> None:
    ratings = _extract(make_reviews(400), overall="stars", aspects="hotels")
    kept = [k for k in range(len(ratings.aspects)) if np.isfinite(ratings.values[:, k]).any()]
    assert len(kept) > 3
    model = dmrank.ItemMean().fit(ratings)
    assert len(model.recommend("u000001", n=3, by="rooms")) == 3


# Bad input


def test_empty_and_null_texts_are_counted_and_left_out() -> None:
    table = _table("", None, "  \n ", "!!! ...", "Nice room.")
    assert _summary(table).empty == 4
    assert len(_extract(table)) == 1
    assert len(_extract(table.with_columns(stars=3.0), overall="stars")) == 5


@pytest.mark.parametrize(
    "text",
    [
        "Das Hotel war sehr schön gelegen und das Personal war immer freundlich zu uns.",
        "L'hôtel est bien situé, les chambres sont propres et le personnel est très accueillant.",
        "El hotel está muy bien situado y el personal es muy amable con todos los clientes.",
        "Отличный отель в центре города, очень чистые номера.",
        "駅から近くて便利なホテルです。部屋もきれいでした。",
    ],
)
def test_text_that_is_not_english_is_counted_and_not_read(text: str) -> None:
    table = _table(text, "The hotel was nice and the staff was friendly.")
    assert _summary(table).foreign == 1
    assert list(_extract(table).users) == ["u1"]


def test_short_and_telegraphic_english_is_english() -> None:
    table = _table("Great location", "Clean room, friendly staff, good breakfast", "ok")
    assert _summary(table).foreign == 0


def test_html_is_read_as_text() -> None:
    marked = "<p>The&nbsp;room wasn&#39;t <b>clean</b>.<br/>Friendly &amp; helpful staff</p>"
    plain = "The room wasn't clean . \nFriendly & helpful staff"
    first, second = _extract(_table(marked)), _extract(_table(plain))
    assert np.allclose(first.values, second.values, equal_nan=True)


def test_emoji_are_opinions_and_do_no_harm() -> None:
    happy, sad = _extract(_table("The room 😍", "The room 😡")).values[:, 1]
    assert happy > sad
    assert len(_extract(_table("👩‍👩‍👧‍👦🏳️‍🌈 room ✨"))) == 1


def test_a_huge_review_takes_a_moment_not_minutes() -> None:
    sentence = "The room was nice and clean with a lovely bed, the staff friendly "
    huge = sentence * (1_000_000 // len(sentence))
    _extract(_table("The room."))
    started = time.perf_counter()
    ratings = _extract(_table(huge, "Awful staff."))
    # About 0.05 s; quadratic work would take minutes.
    assert time.perf_counter() - started < 10
    assert _of(ratings, "u0", "rooms") > 4


def test_an_aspect_that_is_never_mentioned_stays_and_is_named() -> None:
    table = _table("Nice room.")
    ratings = _extract(table)
    assert "business" in ratings.aspects
    assert np.isnan(ratings.values[:, ratings.aspect("business")]).all()
    assert "never mentioned: value" in str(_summary(table))


def test_the_summary_adds_up() -> None:
    found = _summary(_table("Nice room.", "", "We came on Monday.", "Das ist ein sehr altes Haus"))
    assert (found.reviews, found.empty, found.foreign, found.nothing) == (4, 1, 1, 1)
    assert "4 reviews, 3 with nothing to extract (1 empty, 1 not English, 1 mention none)" in str(
        found
    )


def test_nothing_at_all_is_an_error() -> None:
    with pytest.raises(DataError, match="nothing to extract in any of 2 reviews"):
        _extract(_table("", "We came on Monday."))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"text": "review"}, DataError, "no column 'review' for the text"),
        ({"text": "number"}, DataError, "column 'number' is Int64, not text"),
        ({"overall": "star"}, DataError, "no column 'star' for the overall"),
        ({"overall": "number"}, DataError, "row 1: 7 is outside the scale 1 to 5"),
        ({"aspects": "hotel"}, ConfigError, "did you mean 'hotels'"),
        ({"scale": (5, 1)}, ConfigError, "low must be below high"),
        ({"mapping": "emf"}, ConfigError, "did you mean 'efm'"),
        ({"learn_from": -1, "overall": "number"}, ConfigError, "0 or more"),
        ({"threads": 0}, ConfigError, "1 or more"),
    ],
)
def test_mistakes_are_one_line(options: dict, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        _extract(_table("Nice room.", number=[7]), **options)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_review_without_a_user_or_item_is_named() -> None:
    for column in ("user", "item"):
        table = _table("Nice room.", "Nice staff.").with_columns(pl.Series(column, ["x", None]))
        with pytest.raises(DataError, match=f"row 2: the {column} is empty"):
            _extract(table)


def test_verbose_says_what_was_found(capsys) -> None:
    dmrank.extract_aspects(_table("Nice room.", ""))
    said = capsys.readouterr().err
    assert "2 reviews, 1 with nothing to extract (1 empty" in said
    assert "rooms 50 %" in said


def test_real_hotel_reviews_agree_with_their_given_ratings(shared_data: Path) -> None:
    reviews = pl.read_parquet(shared_data / "tripadvisor-reviews.parquet").head(1_200)
    learned = dmrank.learn_polarity(reviews[600:], overall="overall")
    table = reviews[:600].with_columns(user=pl.int_range(600).cast(pl.String).str.zfill(4))
    ratings = _extract(table, overall="overall", polarity=learned, use_overall=False)
    given = reviews[:600]["service"].to_numpy()
    found = ratings.values[:, ratings.aspect("service")]
    both = np.isfinite(given) & np.isfinite(found)
    assert np.corrcoef(given[both], found[both])[0, 1] > 0.45


def test_a_word_among_the_stars_is_named_with_its_row(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("dmrank.text.reviews._WINDOW", 2)
    stars = ["5", "4", "NA", "3", "many"]
    path = tmp_path / "reviews.parquet"
    _table(*["Clean rooms."] * 5, stars=stars).write_parquet(path)
    with pytest.raises(DataError, match="column 'stars', row 5: 'many' is not a number"):
        dmrank.extract_aspects(path, overall="stars", verbose=False)
