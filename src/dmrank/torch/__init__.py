"""The criterion as a PyTorch loss, and pairs as a data set: for models of one's own.

PyTorch, which the extra ``neural`` brings, is imported when one of the names is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dmrank.support.extras import require

if TYPE_CHECKING:
    from dmrank.torch.dataset import PairBatch, PairDataset, pairs
    from dmrank.torch.loss import DirectionalLoss, directional_loss

__all__ = ["DirectionalLoss", "PairBatch", "PairDataset", "directional_loss", "pairs"]

_HOMES = {
    "DirectionalLoss": "loss",
    "PairBatch": "dataset",
    "PairDataset": "dataset",
    "directional_loss": "loss",
    "pairs": "dataset",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dmrank.torch' has no attribute {name!r}")
    require("torch", f"dmrank.torch.{name}")
    return getattr(import_module(f"dmrank.torch.{_HOMES[name]}"), name)
