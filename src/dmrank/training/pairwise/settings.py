"""What decides how pairs are drawn and factors updated, whatever the model."""

from __future__ import annotations

from typing import NamedTuple


class SamplerSettings(NamedTuple):
    """How pairs are drawn.

    Attributes
    ----------
    batch_size
        Number of pairs B in each step.
    rated_share
        Probability that j is drawn from the items that u has rated.
    hard_negatives
        An unrated j is the one with the highest predicted mean of so many; 1 draws it blindly.
    seed
        Seed of the sampler.
    """

    batch_size: int
    rated_share: float
    hard_negatives: int
    seed: int


class FactorSettings(NamedTuple):
    """How factors and offsets are updated.

    Attributes
    ----------
    learning_rate
        Step size of AdaGrad.
    scale
        Factor of every gradient: 1/batch size.
    user_regularization, item_regularization, aspect_regularization, offset_regularization
        Weights of −½‖·‖² per sampled pair for U, V, W and the item offsets.
    nonnegative
        Whether U, V and W are kept ≥ 0.
    """

    learning_rate: float
    scale: float
    user_regularization: float
    item_regularization: float
    aspect_regularization: float
    offset_regularization: float
    nonnegative: bool
