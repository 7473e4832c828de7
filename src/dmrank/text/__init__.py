"""From the text of reviews to ratings: words, mentions, opinions and their polarity."""

from dmrank.text.discover import discover_aspects
from dmrank.text.discovery import Discovered
from dmrank.text.extract import extract_aspects, learn_polarity
from dmrank.text.extractor import Extractor, Summary
from dmrank.text.lexicon import AspectWords, Lexicon
from dmrank.text.lexicon_files import load_lexicon
from dmrank.text.polarity import Polarity, lexicon_polarity, load_polarity

__all__ = [
    "AspectWords",
    "Discovered",
    "Extractor",
    "Lexicon",
    "Polarity",
    "Summary",
    "discover_aspects",
    "extract_aspects",
    "learn_polarity",
    "lexicon_polarity",
    "load_lexicon",
    "load_polarity",
]
