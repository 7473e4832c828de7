"""The models, behind one contract."""

from dmrank.answers.index import ApproximateIndex
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Vectors
from dmrank.models.base import Model, load
from dmrank.models.blend import Blend, BlendConfig
from dmrank.models.config import Config, Search, TrainingConfig
from dmrank.models.cooccurrence import Cooccurrence, CooccurrenceConfig
from dmrank.models.dmr import DMR, DMRConfig
from dmrank.models.ease import EASE, EASEConfig
from dmrank.models.efm import EFM, EFMConfig
from dmrank.models.exsae import ExSAE, ExSAEConfig
from dmrank.models.hurdle import Hurdle, HurdleConfig
from dmrank.models.ials import IALS, IALSConfig
from dmrank.models.itemmean import ItemMean, ItemMeanConfig
from dmrank.models.mbpr import MBPR, MBPRConfig
from dmrank.models.mixedeffects import MixedEffects, MixedEffectsConfig
from dmrank.models.mter import MTER, MTERConfig
from dmrank.models.neuraldmr import NeuralDMR, NeuralDMRConfig
from dmrank.models.popularity import Popularity, PopularityConfig
from dmrank.models.ptf import PTF, PTFConfig
from dmrank.models.spsmtl import SPSMTL, SPSMTLConfig
from dmrank.models.warm_up import warm_up
from dmrank.support.errors import ConfigError, did_you_mean

_KINDS: tuple[type[Model], ...] = (
    Blend, Cooccurrence, DMR, EASE, EFM, ExSAE, Hurdle, IALS, ItemMean, MBPR, MixedEffects, MTER,
    NeuralDMR, Popularity, PTF, SPSMTL,
)  # fmt: skip
#: Models by their name on the command line.
MODELS: dict[str, type[Model]] = {kind.__name__.lower(): kind for kind in _KINDS}


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
    "EASE",
    "EFM",
    "IALS",
    "MBPR",
    "MODELS",
    "MTER",
    "PTF",
    "SPSMTL",
    "ApproximateIndex",
    "Blend",
    "BlendConfig",
    "Config",
    "Cooccurrence",
    "CooccurrenceConfig",
    "DMRConfig",
    "EASEConfig",
    "EFMConfig",
    "ExSAE",
    "ExSAEConfig",
    "Fitting",
    "Hurdle",
    "HurdleConfig",
    "IALSConfig",
    "ItemMean",
    "ItemMeanConfig",
    "MBPRConfig",
    "MTERConfig",
    "MixedEffects",
    "MixedEffectsConfig",
    "Model",
    "NeuralDMR",
    "NeuralDMRConfig",
    "PTFConfig",
    "Popularity",
    "PopularityConfig",
    "SPSMTLConfig",
    "Search",
    "TrainingConfig",
    "Vectors",
    "find_model",
    "load",
    "warm_up",
]
