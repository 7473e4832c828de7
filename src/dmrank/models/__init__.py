"""The models, behind one contract."""

from dmrank.errors import ConfigError, did_you_mean
from dmrank.models.base import Fitting, Model, load
from dmrank.models.dmr import DMR, DMRConfig
from dmrank.models.efm import EFM, EFMConfig
from dmrank.models.itemmean import ItemMean, ItemMeanConfig
from dmrank.models.mbpr import MBPR, MBPRConfig
from dmrank.models.mter import MTER, MTERConfig
from dmrank.models.popularity import Popularity, PopularityConfig
from dmrank.models.scores import Vectors

#: Models by their name on the command line.
MODELS: dict[str, type[Model]] = {
    kind.__name__.lower(): kind for kind in (DMR, EFM, ItemMean, MBPR, MTER, Popularity)
}



def find_model(name: str) -> type[Model]:
    """Return a model by its name, however it is written.

    Examples
    --------
    >>> find_model("M-BPR")
    <class 'dmrank.models.mbpr.MBPR'>
    """
    plain = name.lower().replace("-", "").replace("_", "")
    if plain not in MODELS:
        raise ConfigError(f"there is no model {name!r}; {did_you_mean(plain, MODELS)}")
    return MODELS[plain]


__all__ = [
    "DMR",
    "EFM",
    "MBPR",
    "MODELS",
    "MTER",
    "DMRConfig",
    "EFMConfig",
    "Fitting",
    "ItemMean",
    "ItemMeanConfig",
    "MBPRConfig",
    "MTERConfig",
    "Model",
    "Popularity",
    "PopularityConfig",
    "Vectors",
    "find_model",
    "load",
]
