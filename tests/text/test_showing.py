"""What was found in a review can be seen."""

from html.parser import HTMLParser

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from dmrank.text import Extractor, lexicon_polarity, load_lexicon
from dmrank.text.reading import clean_texts
from dmrank.text.showing import Shown, html_page, show_reviews

EXTRACTOR = Extractor(lexicon_polarity(load_lexicon("hotels")))


def _show(*texts: str, stars: list[float] | None = None) -> list[Shown]:
    own = None if stars is None else np.array(stars)
    return show_reviews(clean_texts(pl.Series(list(texts))), own, EXTRACTOR)


def test_mentions_and_opinions_are_marked_with_what_is_said() -> None:
    shown = _show("The room was tiny.", "The staff: lovely!")
    marked = [[(s.text, s.aspect, s.mention) for s in review.spans if s.aspect] for review in shown]
    assert marked == [
        [("room", "rooms", True), ("tiny", "rooms", False)],
        [("staff", "service", True), ("lovely", "service", False)],
    ]
    assert all(span.polarity < 0 for span in shown[0].spans if span.aspect)
    assert all(span.polarity > 0 for span in shown[1].spans if span.aspect)


def test_what_is_neither_good_nor_bad_is_not_coloured() -> None:
    room = next(span for span in _show("The room on Monday.")[0].spans if span.aspect)
    assert room.mention
    assert room.polarity == 0


def test_ratings_and_the_given_one_are_shown() -> None:
    review = _show("Nice room.", stars=[4.0])[0]
    assert review.overall == 4
    assert set(review.ratings) == {"rooms"}
    assert _show("")[0].note == "empty"
    assert _show("Das Haus ist sehr schön und wir sind gern da.")[0].note == "not English"


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_the_spans_of_a_review_are_its_text(texts: list[str]) -> None:
    clean = clean_texts(pl.Series(texts, dtype=pl.String))
    for text, review in zip(clean, show_reviews(clean, None, EXTRACTOR), strict=True):
        assert "".join(span.text for span in review.spans) == text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_text_cannot_break_out_of_it() -> None:
    page = html_page(_show("The room <script>alert(1)</script> was & nice"), 'a "title" <b>')
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "b" in tags.seen  # the ratings
    assert 'class="mention good"' in page
    assert "a &quot;title&quot; &lt;b&gt;" in page
