"""The models, behind one contract."""

from dmrank.models.base import Fitting, Model, load
from dmrank.models.dmr import DMR, DMRConfig
from dmrank.models.itemmean import ItemMean, ItemMeanConfig
from dmrank.models.popularity import Popularity, PopularityConfig
from dmrank.models.scores import Vectors

#: Models by their name on the command line.
MODELS: dict[str, type[Model]] = {
    kind.__name__.lower(): kind for kind in (DMR, ItemMean, Popularity)
}

__all__ = [
    "DMR",
    "MODELS",
    "DMRConfig",
    "Fitting",
    "ItemMean",
    "ItemMeanConfig",
    "Model",
    "Popularity",
    "PopularityConfig",
    "Vectors",
    "load",
]
