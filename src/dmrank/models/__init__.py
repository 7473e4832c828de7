"""The models, behind one contract."""

from dmrank.models.base import Fitting, Model, load
from dmrank.models.dmr import DMR, DMRConfig
from dmrank.models.itemmean import ItemMean, ItemMeanConfig
from dmrank.models.mbpr import MBPR, MBPRConfig
from dmrank.models.mter import MTER, MTERConfig
from dmrank.models.popularity import Popularity, PopularityConfig
from dmrank.models.scores import Vectors

#: Models by their name on the command line.
MODELS: dict[str, type[Model]] = {
    kind.__name__.lower(): kind for kind in (DMR, ItemMean, MBPR, MTER, Popularity)
}

__all__ = [
    "DMR",
    "MBPR",
    "MODELS",
    "MTER",
    "DMRConfig",
    "Fitting",
    "ItemMean",
    "ItemMeanConfig",
    "MBPRConfig",
    "MTERConfig",
    "Model",
    "Popularity",
    "PopularityConfig",
    "Vectors",
    "load",
]
