"""NeuralDMR: networks for mean and covariance, trained with the directional criterion."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from pydantic import Field

from dmrank.answers.correlation import correlations
from dmrank.directional.families import Family
from dmrank.directional.projected import FamilyName, make_family
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, NotNegative, Positive, Search, Share, takes
from dmrank.models.kinds.directional_networks import (
    Shape,
    block_scores,
    covariance_matrices,
    covariance_outputs,
    highest_scored,
    initial_parameters,
    predicted_means,
    prior_outputs,
)
from dmrank.models.kinds.neural import (
    NeuralConfig,
    NeuralModel,
    Tensors,
    dropout_mask,
    torch_threads,
)
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.support.errors import ConfigError
from dmrank.support.layouts import Layout, floats
from dmrank.training.data import TrainingData
from dmrank.training.pairwise.drawing import sample_candidates, sample_pairs
from dmrank.training.pairwise.prior import prior_covariance
from dmrank.training.pairwise.sampling import Pairs

if TYPE_CHECKING:
    from torch import Tensor

#: What a network says of users and items.
Output: TypeAlias = "Callable[[Tensors, Tensor, Tensor], Tensor]"
#: Pairs whose embeddings are gathered at once.
_PAIRS_AT_ONCE = 1 << 15


class NeuralDMRConfig(NeuralConfig):
    """Parameters of NeuralDMR, with the names of the DMR paper in brackets."""

    iterations: Count = 6_000
    """The most iterations."""
    evaluate_every: Count = 250
    """Iterations between two looks at the validation set."""
    batch_size: Count = 1_000
    """Pairs per iteration."""
    factors: Annotated[Count, Search((16, 32, 64), log=True)] = 32
    """Dimension of the embeddings of users and items."""
    width: Annotated[Count, Search((16, 32, 64), log=True)] = 32
    """Hidden units of each of the two networks."""
    rank: Count = 2
    """Columns of B in Σ_ui = D + B Bᵀ, at most one per aspect."""
    learning_rate: Annotated[Positive, Search((0.002, 0.004, 0.008), log=True)] = 0.006
    """Step size of Adam."""
    dropout: Annotated[float, Field(ge=0, lt=1), Search((0.5, 0.7, 0.8))] = 0.7
    """Share of the coordinates of users' embeddings that a step leaves out of the mean."""
    regularization: Annotated[NotNegative, Search((0.0003, 0.001, 0.003), log=True)] = 0.001
    """Weight of the squared norm of embeddings and item offsets per sampled pair."""
    covariance_regularization: NotNegative = 0.1
    """Weight of the squared outputs of the network of Σ per sampled pair: 0 stands for Σ_prior."""
    margin: Annotated[NotNegative, Search((0.0, 0.2, 0.5))] = 0.2
    """Lower limit of the line integral [ξ]."""
    family: Annotated[FamilyName, Search(("gaussian", "student"))] = "student"
    """Density of the difference vector: the paper's, or one with heavy tails."""
    degrees_of_freedom: Positive = 5.0
    """Degrees of freedom of the student family [η]."""
    rated_share: Share = 0.0
    """Share of training pairs whose second item is rated, too."""
    hard_negatives: Annotated[Count, Search((1, 5))] = 5
    """An unrated second item is the best-scored of so many."""
    initial_deviation: Positive = 0.1
    """Standard deviation of the embeddings before training."""


class NeuralDMR(NeuralModel):
    """Directional multivariate ranking with networks.

    Minimises the mean over sampled pairs (u, i, j) of −ln ∫_ξ^∞ p(γd) dγ, d = r_ui − r_uj (DMR
    paper, Eq. 4), where p has the mean r̂_ui − r̂_uj and the scale Σ_ui + Σ_uj; plus
    λ(‖p_u‖² + ‖q_i‖² + ‖q_j‖² + ‖b_i‖² + ‖b_j‖²). The mean is that of a factorization and of a
    network with one hidden layer of rectifiers beside it (He et al., WWW 2017),
    r̂_ui = (p_u * q_i) Wᵀ + b_i + network([p_u, q_i]). Another such network says
    Σ_ui = D + B Bᵀ with a diagonal D > 0 and few columns of B, positive definite whatever it says;
    it starts at what is nearest to Σ_prior, and pays for going away from it.

    An unrated item counts as rated 0 on every aspect; missing aspects are marginalised.

    Its parameters are those of :class:`NeuralDMRConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = NeuralDMR(iterations=20, evaluate_every=10, seed=1)
    >>> model = model.fit(split.train, validation=split.validation)
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    """

    Config = NeuralDMRConfig
    config: NeuralDMRConfig

    @takes(NeuralDMRConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        data = fitting.training_data(config.missing)
        shape = self._shape(len(ratings.users), len(ratings.items), len(ratings.aspects))
        parameters = initial_parameters(shape, config.initial_deviation, config.seed)
        prior = prior_outputs(prior_covariance(data.values), config.rank)

        def loss(tensors: Tensors, iteration: int) -> Tensor | None:
            pairs = draw_pairs(tensors, data, config, iteration)
            rng = np.random.default_rng([config.seed, iteration])
            return pair_loss(tensors, pairs, prior, config, rng)

        self._descend(
            fitting,
            loss,
            parameters,
            learned=lambda: {**parameters, "prior": prior},
            samples_per_iteration=config.batch_size,
        )

    def layout(self, sizes: Sizes) -> Layout:
        shape = self._shape(sizes.users, sizes.items, sizes.aspects)
        layout = {name: floats(*size) for name, size in shape.parameters().items()}
        return layout | {"prior": floats(shape.outputs)}

    def _shape(self, users: int, items: int, aspects: int) -> Shape:
        config = self.config
        return Shape(users, items, aspects, config.factors, config.width, config.rank)

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        import torch

        tensors = self._networks("items", "item_offsets")
        of_users = torch.tensor(self.arrays["users"][users])
        with torch_threads(self.config.threads), torch.inference_mode():
            return block_scores(tensors, of_users, torch.tensor(weights)).numpy()

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        return self._of_pairs(predicted_means, users, items) + self.arrays["item_offsets"][items]

    def covariances(self, users: Codes, items: Codes) -> Floats:
        """Return Σ_ui of (user, item) pairs, not calibrated."""
        import torch

        outputs = self._of_pairs(covariance_outputs, users, items) + self.arrays["prior"]
        in_doubles = torch.from_numpy(outputs.astype(np.float64))
        return covariance_matrices(in_doubles, len(self.catalogue.aspects)).numpy()

    def family(self) -> Family:
        at = self.config
        return make_family(at.family, "ray", at.margin, at.degrees_of_freedom)

    def aspect_relevance(self, users: Codes, items: Codes, aspect: int) -> Floats:
        """Return the correlation of each aspect with the one that ranks (DMR paper, 4.5)."""
        return correlations(self.covariances(users, items))[:, aspect]

    def _networks(self, *more: str) -> dict[str, Tensor]:
        """Return W, the networks and more; copied, because arrays of a file are read-only."""
        import torch

        names = [name for name in self.arrays if "." in name]
        return {name: torch.tensor(self.arrays[name]) for name in ("aspects", *names, *more)}

    def _of_pairs(self, output: Output, users: Codes, items: Codes) -> Float32s:
        """Return what a network says of (user, item) pairs, in rows."""
        import torch

        tensors, parts = self._networks(), []
        with torch_threads(self.config.threads), torch.inference_mode():
            for start in range(0, max(len(users), 1), _PAIRS_AT_ONCE):
                rows = slice(start, start + _PAIRS_AT_ONCE)
                of_users = torch.tensor(self.arrays["users"][users[rows]])
                of_items = torch.tensor(self.arrays["items"][items[rows]])
                parts.append(output(tensors, of_users, of_items).numpy())
        return np.concatenate(parts)


def draw_pairs(
    tensors: Tensors, data: TrainingData, config: NeuralDMRConfig, iteration: int
) -> Pairs:
    """Return the pairs of an iteration, an unrated j the best-scored of `hard_negatives` items."""
    pairs = sample_pairs(data, config.rated_share, config.seed, iteration, config.batch_size)
    drawn, count = pairs.users >= 0, config.hard_negatives
    if count > 1 and drawn.any():
        candidates = sample_candidates(data, pairs, count, False, config.seed, iteration)
        pairs.items[drawn, 1] = highest_scored(tensors, pairs.users[drawn], candidates[drawn])
    return pairs


def pair_loss(
    tensors: Tensors,
    pairs: Pairs,
    prior: Float32s,
    config: NeuralDMRConfig,
    rng: np.random.Generator,
) -> Tensor | None:
    """Return the loss of a batch, see `NeuralDMR`; None if every pair was skipped."""
    import torch
    from torch.nn.functional import embedding

    from dmrank.torch.loss import directional_loss

    drawn = pairs.users >= 0
    if not drawn.any():
        return None
    # All i, then all j.
    codes = torch.from_numpy(np.ascontiguousarray(pairs.items[drawn].T))
    users = embedding(torch.from_numpy(pairs.users[drawn]), tensors["users"])
    items = embedding(codes, tensors["items"])
    offsets = embedding(codes, tensors["item_offsets"])
    kept = torch.from_numpy(dropout_mask(rng, tuple(users.shape), config.dropout))
    means = predicted_means(tensors, users * kept, items) + offsets
    outputs = covariance_outputs(tensors, users, items)
    matrices = covariance_matrices(outputs + torch.from_numpy(prior), means.shape[-1])
    differences = pairs.differences[drawn]
    try:
        loss = directional_loss(
            means[0] - means[1],
            torch.from_numpy(np.nan_to_num(differences)),
            torch.from_numpy(~np.isnan(differences)),
            covariance=matrices.sum(dim=0),
            margin=config.margin,
            family=config.family,
            degrees_of_freedom=config.degrees_of_freedom,
        )
    except ValueError as error:
        said = f"NeuralDMR has diverged ({error}): try a lower learning_rate"
        raise ConfigError(said) from None
    squares = users.square().sum() + items.square().sum() + offsets.square().sum()
    away = config.covariance_regularization * outputs.square().sum()
    return loss + (config.regularization * squares + away) / len(users)
