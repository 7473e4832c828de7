"""Public corpora of multi-aspect ratings by name: download, check, convert, cache."""

from __future__ import annotations

from dmrank.datasets.loading import load, load_reviews
from dmrank.datasets.registry import names

__all__ = ["load", "load_reviews", "names"]
