"""dmrank: rank items by several aspects at once.

Names are loaded when they are first used, so that `import dmrank` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dmrank import datasets as datasets
    from dmrank.data.ratings import Ratings as Ratings
    from dmrank.data.ratings import Split as Split
    from dmrank.data.reading.read import read_ratings as read_ratings
    from dmrank.data.reading.read import read_split as read_split
    from dmrank.data.statistics import describe as describe
    from dmrank.data.synthetic import make_hotels as make_hotels
    from dmrank.data.synthetic import make_ratings as make_ratings
    from dmrank.evaluation import Report as Report
    from dmrank.evaluation import evaluate as evaluate
    from dmrank.experiments.tuning import tune as tune
    from dmrank.models import DMR as DMR
    from dmrank.models import EASE as EASE
    from dmrank.models import EFM as EFM
    from dmrank.models import IALS as IALS
    from dmrank.models import MBPR as MBPR
    from dmrank.models import MTER as MTER
    from dmrank.models import PTF as PTF
    from dmrank.models import SPSMTL as SPSMTL
    from dmrank.models import ApproximateIndex as ApproximateIndex
    from dmrank.models import Config as Config
    from dmrank.models import ExSAE as ExSAE
    from dmrank.models import Fitting as Fitting
    from dmrank.models import ItemMean as ItemMean
    from dmrank.models import MixedEffects as MixedEffects
    from dmrank.models import Model as Model
    from dmrank.models import Popularity as Popularity
    from dmrank.models import Vectors as Vectors
    from dmrank.models import load as load
    from dmrank.support.errors import ConfigError as ConfigError
    from dmrank.support.errors import DataError as DataError
    from dmrank.support.errors import DmrankError as DmrankError
    from dmrank.support.errors import DownloadError as DownloadError
    from dmrank.support.errors import ModelFileError as ModelFileError
    from dmrank.support.errors import NotFittedError as NotFittedError
    from dmrank.support.errors import UnknownAspectError as UnknownAspectError
    from dmrank.support.errors import UnknownItemError as UnknownItemError
    from dmrank.support.errors import UnknownUserError as UnknownUserError
    from dmrank.support.errors import UnsupportedError as UnsupportedError
    from dmrank.text import discover_aspects as discover_aspects
    from dmrank.text import extract_aspects as extract_aspects
    from dmrank.text import learn_polarity as learn_polarity
    from dmrank.text import load_lexicon as load_lexicon

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
    "ConfigError": "support.errors",
    "DataError": "support.errors",
    "DmrankError": "support.errors",
    "ExSAE": "models",
    "DownloadError": "support.errors",
    "ItemMean": "models",
    "Config": "models",
    "Fitting": "models",
    "MixedEffects": "models",
    "Model": "models",
    "Vectors": "models",
    "ModelFileError": "support.errors",
    "NotFittedError": "support.errors",
    "Popularity": "models",
    "SPSMTL": "models",
    "Ratings": "data.ratings",
    "Split": "data.ratings",
    "UnknownAspectError": "support.errors",
    "UnknownItemError": "support.errors",
    "UnknownUserError": "support.errors",
    "UnsupportedError": "support.errors",
    "Report": "evaluation",
    "describe": "data.statistics",
    "discover_aspects": "text",
    "evaluate": "evaluation",
    "extract_aspects": "text",
    "learn_polarity": "text",
    "load": "models",
    "load_lexicon": "text",
    "make_hotels": "data.synthetic",
    "make_ratings": "data.synthetic",
    "read_ratings": "data.reading.read",
    "read_split": "data.reading.read",
    "tune": "experiments.tuning",
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
