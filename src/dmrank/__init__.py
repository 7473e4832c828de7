"""dmrank: rank items by several aspects at once.

Names are loaded when they are first used, so that `import dmrank` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dmrank import datasets as datasets
    from dmrank.errors import ConfigError as ConfigError
    from dmrank.errors import DataError as DataError
    from dmrank.errors import DmrankError as DmrankError
    from dmrank.errors import DownloadError as DownloadError
    from dmrank.errors import ModelFileError as ModelFileError
    from dmrank.errors import NotFittedError as NotFittedError
    from dmrank.errors import UnknownAspectError as UnknownAspectError
    from dmrank.errors import UnknownItemError as UnknownItemError
    from dmrank.errors import UnknownUserError as UnknownUserError
    from dmrank.errors import UnsupportedError as UnsupportedError
    from dmrank.evaluation import Report as Report
    from dmrank.evaluation import evaluate as evaluate
    from dmrank.models import DMR as DMR
    from dmrank.models import EASE as EASE
    from dmrank.models import EFM as EFM
    from dmrank.models import IALS as IALS
    from dmrank.models import MBPR as MBPR
    from dmrank.models import MTER as MTER
    from dmrank.models import PTF as PTF
    from dmrank.models import SPSMTL as SPSMTL
    from dmrank.models import ApproximateIndex as ApproximateIndex
    from dmrank.models import ExSAE as ExSAE
    from dmrank.models import ItemMean as ItemMean
    from dmrank.models import Model as Model
    from dmrank.models import Popularity as Popularity
    from dmrank.models import load as load
    from dmrank.ratings import Ratings as Ratings
    from dmrank.ratings import Split as Split
    from dmrank.read import read_ratings as read_ratings
    from dmrank.read import read_split as read_split
    from dmrank.statistics import describe as describe
    from dmrank.synthetic import make_hotels as make_hotels
    from dmrank.synthetic import make_ratings as make_ratings
    from dmrank.text import discover_aspects as discover_aspects
    from dmrank.text import extract_aspects as extract_aspects
    from dmrank.text import learn_polarity as learn_polarity
    from dmrank.text import load_lexicon as load_lexicon
    from dmrank.tuning import tune as tune

__version__ = "0.1.0"

_HOME = {
    "DMR": "models",
    "EASE": "models",
    "EFM": "models",
    "IALS": "models",
    "MBPR": "models",
    "MTER": "models",
    "PTF": "models",
    "ApproximateIndex": "models",
    "ConfigError": "errors",
    "DataError": "errors",
    "DmrankError": "errors",
    "ExSAE": "models",
    "DownloadError": "errors",
    "ItemMean": "models",
    "Model": "models",
    "ModelFileError": "errors",
    "NotFittedError": "errors",
    "Popularity": "models",
    "SPSMTL": "models",
    "Ratings": "ratings",
    "Split": "ratings",
    "UnknownAspectError": "errors",
    "UnknownItemError": "errors",
    "UnknownUserError": "errors",
    "UnsupportedError": "errors",
    "Report": "evaluation",
    "describe": "statistics",
    "discover_aspects": "text",
    "evaluate": "evaluation",
    "extract_aspects": "text",
    "learn_polarity": "text",
    "load": "models",
    "load_lexicon": "text",
    "make_hotels": "synthetic",
    "make_ratings": "synthetic",
    "read_ratings": "read",
    "read_split": "read",
    "tune": "tuning",
}

__all__ = ["__version__", "datasets", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dmrank.{_HOME[name]}"), name)
    if name == "datasets":
        return import_module("dmrank.datasets")
    raise AttributeError(f"module 'dmrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
