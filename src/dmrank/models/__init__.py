"""The models, behind one contract."""

from dmrank.models.base import Model, Vectors, load
from dmrank.models.dmr import DMR, DMRConfig

#: Models by their name on the command line.
MODELS: dict[str, type[Model]] = {"dmr": DMR}

__all__ = ["DMR", "MODELS", "DMRConfig", "Model", "Vectors", "load"]
