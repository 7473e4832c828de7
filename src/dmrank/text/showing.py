"""What was found in a review, for people: spans of its text with aspect and sentiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dmrank.support.arrays import Floats
from dmrank.text.extractor import Extractor
from dmrank.text.reading import Reading, read_texts
from dmrank.text.vocabulary import SENTENCE_BREAK

#: A word whose polarity is weaker than this is not marked as an opinion.
_LEAST: Final = 0.15


@dataclass(frozen=True)
class Span:
    """A piece of a review: plain text, or a word about an aspect.

    Attributes
    ----------
    text : str
        The piece as it was written.
    aspect : str or None
        What it is about; None for plain text.
    mention : bool
        Whether it names the aspect.
    polarity : float
        How good (above 0) or bad it is; of a word that only names the aspect, what its sentence
        says about the aspect.
    """

    text: str
    aspect: str | None = None
    mention: bool = False
    polarity: float = 0.0


@dataclass(frozen=True)
class Shown:
    """A review as it is shown: its spans, its overall rating and the ratings of its aspects."""

    spans: tuple[Span, ...]
    overall: float | None
    ratings: Mapping[str, float]
    note: str = ""


def show_reviews(texts: pl.Series, stars: Floats | None, extractor: Extractor) -> list[Shown]:
    r"""Return clean texts with what is said about which aspect.

    Examples
    --------
    >>> from dmrank.text import lexicon_polarity, load_lexicon
    >>> extractor = Extractor(lexicon_polarity(load_lexicon("hotels")))
    >>> shown = show_reviews(pl.Series(["\nThe room was not clean."]), None, extractor)[0]
    >>> [(span.text, span.aspect, span.polarity < 0) for span in shown.spans if span.aspect]
    [('room', 'rooms', False), ('clean', 'cleanliness', True)]
    """
    reading = read_texts(texts, extractor.polarity.roles)
    scores, _ = extractor.score(texts)
    ratings = extractor.rate(scores, stars)
    low, high = extractor.scale
    shown = []
    for row in range(len(reading)):
        found = {
            name: float(ratings[row, k])
            for k, name in enumerate(extractor.aspects)
            if not np.isnan(ratings[row, k])
        }
        overall = None
        if stars is not None and not np.isnan(stars[row]):
            overall = low + (high - low) * (float(stars[row]) - 1.0) / 4.0
        note = "empty" if reading.empty[row] else "not English" if reading.foreign[row] else ""
        shown.append(Shown(_spans(reading, row, extractor), overall, found, note))
    return shown


def _spans(reading: Reading, row: int, extractor: Extractor) -> tuple[Span, ...]:
    links, codes, roles = reading.links, reading.codes, extractor.polarity.roles
    text = reading.tokens.text.tobytes()
    at = int(codes.ends[codes.pointer[row] - 1]) if row else 0
    end = int(codes.ends[codes.pointer[row + 1] - 1])
    spans: list[Span] = []
    chosen = np.flatnonzero(links.row == row)
    for link, said in zip(chosen, _said(reading, chosen, extractor), strict=True):
        mention = bool(roles.aspect[links.feature[link] >> 1] >= 0)
        value = float(np.clip(said, -1.0, 1.0)) if abs(said) >= _LEAST else 0.0
        if not mention and not value:
            continue
        start, stop = int(codes.starts[links.token[link]]), int(codes.ends[links.token[link]])
        spans.append(Span(text[at:start].decode(errors="replace")))
        aspect = roles.aspects[links.aspect[link]]
        spans.append(Span(text[start:stop].decode(errors="replace"), aspect, mention, value))
        at = stop
    spans.append(Span(text[at:end].decode(errors="replace")))
    return tuple(span for span in spans if span.text)


def _said(reading: Reading, chosen: NDArray[np.intp], extractor: Extractor) -> Floats:
    """Return the polarity of linked words; of those that are no opinion, that of their sentence."""
    links, polarity = reading.links, extractor.polarity
    feature, aspect = links.feature[chosen], links.aspect[chosen]
    opinion = polarity.evidence[feature, aspect] >= 1.0
    said = polarity.weights[feature, aspect].astype(np.float64) * links.strength[chosen]
    said = np.where(opinion, said * links.intensity[chosen], 0.0)
    sentence = np.cumsum(reading.codes.words == SENTENCE_BREAK)[links.token[chosen]]
    names = polarity.roles.aspect[feature >> 1] >= 0
    for place in np.flatnonzero(names & ~opinion):
        beside = (sentence == sentence[place]) & (aspect == aspect[place]) & opinion
        said[place] = said[beside].sum()
    return said


_STYLE: Final = """
body { font: 16px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
h1 { font-size: 1.3rem; } article { border-top: 1px solid #ddd; padding: 1rem 0; }
p { white-space: pre-line; margin: 0 0 .5rem; }
mark { color: inherit; background: none; border-radius: .2rem; padding: 0 .1rem; }
mark.mention { border-bottom: 2px solid #888; } mark.good { background: #cdeac0; }
mark.bad { background: #f6c5c0; } mark sub { color: #666; font-size: .65em; margin-left: .15em; }
ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .3rem 1rem; }
li { font-size: .85rem; color: #444; } li b { font-variant-numeric: tabular-nums; }
"""


def html_page(reviews: Sequence[Shown], title: str) -> str:
    """Return a page with reviews in which mentions are underlined and opinions coloured."""
    articles = "\n".join(_article(shown) for shown in reviews)
    legend = (
        'Words that name an aspect are <mark class="mention">underlined<sub>aspect</sub></mark>; '
        'what is said is <mark class="good">good</mark> or <mark class="bad">bad</mark>.'
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n<p>{legend}</p>\n{articles}\n</body>\n</html>\n"
    )


def _article(shown: Shown) -> str:
    text = "".join(_mark(span) for span in shown.spans).strip()
    rated = [("overall (given)", shown.overall)] if shown.overall is not None else []
    items = [f"<li>{escape(n)} <b>{v:.1f}</b></li>" for n, v in [*rated, *shown.ratings.items()]]
    if not shown.ratings:
        items.append(f"<li>nothing to extract{': ' * bool(shown.note)}{shown.note}</li>")
    return f"<article>\n<p>{text}</p>\n<ul>{''.join(items)}</ul>\n</article>"


def _mark(span: Span) -> str:
    if span.aspect is None:
        return escape(span.text)
    tone = "good" if span.polarity > 0 else "bad" if span.polarity < 0 else ""
    classes = " ".join(filter(None, ("mention" * span.mention, tone)))
    about = f'title="{escape(span.aspect)} {span.polarity:+.2f}"'
    label = f"<sub>{escape(span.aspect)}</sub>" if span.mention else ""
    return f'<mark class="{classes}" {about}>{escape(span.text)}{label}</mark>'
