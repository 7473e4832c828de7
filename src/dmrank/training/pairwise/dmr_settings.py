"""What decides how an iteration of DMR is made: settings, and the same for compiled code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from dmrank.directional.batches import family_constants
from dmrank.directional.families import Family, Gaussian
from dmrank.support.arrays import Floats
from dmrank.support.errors import ConfigError
from dmrank.training.pairwise.covariances import PriorWeights, RootUpdate
from dmrank.training.pairwise.criterion import IDENTITY, PERSONALIZED, SHARED, Criterion
from dmrank.training.pairwise.parameters import Covariance
from dmrank.training.pairwise.row_weights import expected_draws
from dmrank.training.pairwise.settings import FactorSettings, SamplerSettings

if TYPE_CHECKING:
    from dmrank.training.data import TrainingData

_KINDS: dict[Covariance, int] = {
    "personalized": PERSONALIZED,
    "shared": SHARED,
    "identity": IDENTITY,
}


@dataclass(frozen=True)
class StepSettings:
    """How an iteration is made.

    Parameters
    ----------
    batch_size
        Number of pairs B in each step.
    learning_rate, covariance_learning_rate
        Step sizes of AdaGrad for factors and offsets, and for the factors L of Σ.
    family
        `Gaussian` or `Student`, with its margin ξ.
    covariance
        ``"personalized"``: Σ_uij = 2λΣ_u + (1−λ)(Σ_i + Σ_j); ``"shared"``: twice one learned Σ;
        ``"identity"``: 2I, without a covariance step.
    user_weight
        λ.
    regularization
        Weights of −½‖·‖² per sampled pair for U, V, W and the item offsets.
    rated_share
        Probability that j is drawn from the items that u has rated.
    hard_negatives
        An unrated j is the one with the highest predicted mean of so many; 1 draws it blindly.
    nonnegative
        Whether U, V and W are kept ≥ 0.
    smallest_diagonal
        Lower limit of the diagonal of L, as a share of that of the mode of the prior. At the
        limit the gradient of the prior is of the order of its inverse cube.
    seed
        Seed of the sampler.
    """

    batch_size: int = 2000
    learning_rate: float = 0.03
    covariance_learning_rate: float = 0.03
    family: Family = field(default_factory=lambda: Gaussian(margin=0.2))
    covariance: Covariance = "personalized"
    user_weight: float = 0.5
    regularization: tuple[float, float, float, float] = (0.01, 0.01, 0.01, 0.0)
    rated_share: float = 0.0
    hard_negatives: int = 1
    nonnegative: bool = False
    smallest_diagonal: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class CovariancePrior:
    """The inverse-Wishart prior of every Σ.

    Parameters
    ----------
    scale
        Ψ, positive definite, K x K.
    degrees_of_freedom
        ν.
    """

    scale: Floats
    degrees_of_freedom: float

    @classmethod
    def around(cls, sigma: Floats, strength: float | None, at: Literal["mode", "paper"]) -> Self:
        """Return the prior of every Σ: by default with K + 10 degrees of freedom ν.

        Ψ is (ν+K+1) Σ_prior, which pulls to Σ_prior, or ν Σ_prior as in the paper.
        """
        size = len(sigma)
        nu = size + 10.0 if strength is None else strength
        if nu <= size - 1:
            raise ConfigError(
                f"prior_strength={nu:g}: with {size} aspects it must be above {size - 1}"
            )
        return cls((nu if at == "paper" else nu + size + 1) * sigma, nu)


def sampler_settings(settings: StepSettings) -> SamplerSettings:
    """Return the settings of the sampler with the types that compiled code expects."""
    return SamplerSettings(
        batch_size=int(settings.batch_size),
        rated_share=float(settings.rated_share),
        hard_negatives=int(settings.hard_negatives),
        seed=int(settings.seed),
    )


def factor_settings(settings: StepSettings) -> FactorSettings:
    """Return the settings of the factor step with the types that compiled code expects."""
    by_users, by_items, by_aspects, by_offsets = settings.regularization
    return FactorSettings(
        learning_rate=float(settings.learning_rate),
        scale=1.0 / settings.batch_size,
        user_regularization=float(by_users),
        item_regularization=float(by_items),
        aspect_regularization=float(by_aspects),
        offset_regularization=float(by_offsets),
        nonnegative=bool(settings.nonnegative),
    )


def root_update(settings: StepSettings, prior: CovariancePrior) -> RootUpdate:
    """Return the settings of the covariance step with the types that compiled code expects."""
    K = len(prior.scale)
    strength = prior.degrees_of_freedom + K + 1
    root = np.linalg.cholesky(prior.scale)
    smallest = settings.smallest_diagonal * np.diagonal(root) / np.sqrt(strength)
    return RootUpdate(
        learning_rate=float(settings.covariance_learning_rate),
        scale=1.0 / settings.batch_size,
        aspects=K,
        prior_root=root[np.tril_indices(K)].astype(np.float32),
        prior_strength=float(strength),
        smallest_diagonal=smallest.astype(np.float32),
    )


def criterion_of(settings: StepSettings, data: TrainingData) -> Criterion:
    """Return what is evaluated, with the types that compiled code expects."""
    return Criterion(
        family=family_constants(settings.family, data.values.shape[1]),
        kind=_KINDS[settings.covariance],
        # Shared: as if every pair had the same user, and users were all that counts.
        user_weight=1.0 if settings.covariance == "shared" else float(settings.user_weight),
        complete=bool(data.complete),
    )


def prior_weights(settings: StepSettings, data: TrainingData) -> PriorWeights:
    """Return 1/n_u and 1/(n_i + n/N): a prior counts once per pass over the data."""
    rows = len(data.items)
    draws = 1 + (1 - settings.rated_share) * (expected_draws(data) - 1)
    of_users = np.bincount(data.row_users, draws, minlength=len(data.user_ptr) - 1)
    of_items = np.bincount(data.items, draws, minlength=len(data.item_counts))
    if settings.covariance == "shared":
        of_users = np.array([rows])
    # A user with fewer draws than one has none, or rows that hardly count.
    by_users = 1.0 / np.maximum(of_users, 1)
    by_items = 1.0 / (of_items + rows / len(of_items))
    return PriorWeights(by_users.astype(np.float32), by_items.astype(np.float32))
