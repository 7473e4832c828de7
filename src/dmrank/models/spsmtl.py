"""SPS-MTL: one deep network per aspect, tied by soft parameter sharing (DMR paper, 4.1)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, NotNegative, Positive, Search, Share
from dmrank.models.kinds.neural import (
    NeuralConfig,
    NeuralModel,
    Tensors,
    dropout_mask,
    initial_layers,
    torch_threads,
)
from dmrank.support.arrays import Codes, Float32s
from dmrank.support.layouts import Layout, floats
from dmrank.training.pairwise.drawing import sample_pairs
from dmrank.training.pairwise.sampling import Pairs

if TYPE_CHECKING:
    from torch import Tensor

#: Layers of a tower: four hidden ones and the output; the first three are shared softly.
_LAYERS = (1, 2, 3, 4, 5)
_SHARED_LAYERS = (1, 2, 3)
#: Scores of (user, item, aspect) that are computed at once: tens of megabytes of hidden units.
_SCORES_AT_ONCE = 1 << 16
_ITEMS_AT_ONCE = 1 << 12


class SPSMTLConfig(NeuralConfig):
    """Parameters of SPS-MTL."""

    iterations: Count = 8_000
    """The most iterations."""
    batch_size: Count = 1_000
    """Pairs per iteration."""
    factors: Annotated[Count, Search((16, 32, 64), log=True)] = 32
    """Dimension of the embeddings of users and items."""
    widths: tuple[Count, Count, Count, Count] = (32, 32, 16, 8)
    """Units of the hidden layers of each tower."""
    learning_rate: Annotated[Positive, Search((0.002, 0.006, 0.02), log=True)] = 0.006
    """Step size of Adam."""
    dropout: Annotated[float, Field(ge=0, lt=1), Search((0.3, 0.5, 0.7))] = 0.5
    """Share of the coordinates of the embeddings that a step leaves out."""
    regularization: Annotated[NotNegative, Search((1e-4, 1e-3, 1e-2), log=True)] = 1e-4
    """Weight of the squared norm of the embeddings per sampled pair."""
    sharing: Annotated[NotNegative, Search((1e-4, 1e-3, 1e-2, 1e-1), log=True)] = 0.01
    """Weight of the squared distance between the towers of two aspects."""
    rated_share: Share = 0.0
    """Share of training pairs whose second item is rated, too."""
    initial_deviation: Positive = 0.1
    """Standard deviation of the embeddings before training."""


class SPSMTL(NeuralModel):
    """Soft parameter sharing for multi-task learning.

    Minimises the mean over sampled pairs (u, i, j) of
    Σ_k −ln σ(sign(r_uik − r_ujk)(s_uik − s_ujk)) + λ(‖p_u‖² + ‖q_i‖² + ‖q_j‖²), over the aspects k
    that differ in the pair, plus sharing · Σ_{k<l} ‖θ_k − θ_l‖². A score s_uik = MLP_k([p_u, q_i])
    has five layers, and θ_k is what its first three hidden ones have learned (DMR paper, 4.1, after
    Ruder, 2017). An unrated item counts as rated 0 on every aspect.

    The paper leaves open what the towers look like: embeddings are common to all aspects, units are
    rectifiers, and all towers start the same. Without dropout on the embeddings it memorises.

    Parameters
    ----------
    **parameters
        See :class:`SPSMTLConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = SPSMTL(iterations=20, evaluate_every=10, seed=1)
    >>> model = model.fit(split.train, validation=split.validation)
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    """

    Config = SPSMTLConfig
    config: SPSMTLConfig

    def learn(self, fitting: Fitting) -> None:
        config, ratings = self.config, fitting.ratings
        data = fitting.training_data(config.missing)

        def loss(tensors: Tensors, iteration: int) -> Tensor | None:
            pairs = sample_pairs(
                data, config.rated_share, config.seed, iteration, config.batch_size
            )
            rng = np.random.default_rng([config.seed, iteration])
            return pair_loss(tensors, pairs, config, rng)

        self._descend(
            fitting,
            loss,
            initial_parameters(
                len(ratings.users), len(ratings.items), len(ratings.aspects), config
            ),
            samples_per_iteration=config.batch_size,
        )

    def layout(self, sizes: Sizes) -> Layout:
        factors, aspects = self.config.factors, sizes.aspects
        layout = {"users": floats(sizes.users, factors), "items": floats(sizes.items, factors)}
        widths = pairwise((2 * factors, *self.config.widths, 1))
        for layer, (inputs, outputs) in zip(_LAYERS, widths, strict=True):
            layout[f"matrix{layer}"] = floats(aspects, inputs, outputs)
            layout[f"offset{layer}"] = floats(aspects, outputs)
        return layout

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        import torch

        aspects = np.flatnonzero(weights)
        tensors = self._towers(aspects)
        items = self.arrays["items"]
        scores = np.empty((len(users), len(items)), dtype=np.float32)
        with torch_threads(self.config.threads), torch.inference_mode():
            of_users = user_part(tensors, torch.tensor(self.arrays["users"][users]))
            of_aspects = torch.tensor(weights[aspects])
            for start in range(0, len(items), _ITEMS_AT_ONCE):
                columns = slice(start, start + _ITEMS_AT_ONCE)
                of_items = item_part(tensors, torch.tensor(items[columns]))
                step = max(_SCORES_AT_ONCE // (len(aspects) * of_items.shape[1]), 1)
                for first in range(0, len(users), step):
                    rows = slice(first, first + step)
                    # Every user with every item: aspects × users × items × units.
                    hidden = of_users[:, rows, None] + of_items[:, None]
                    by_aspect = towers(tensors, hidden.flatten(1, 2)).view(hidden.shape[:3])
                    scores[rows, columns] = torch.tensordot(of_aspects, by_aspect, 1).numpy()
        return scores

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        import torch

        arrays, aspects = self.arrays, np.arange(len(self.catalogue.aspects))
        tensors = self._towers(aspects)
        scores = np.empty((len(users), len(aspects)), dtype=np.float32)
        step = max(_SCORES_AT_ONCE // len(aspects), 1)
        with torch_threads(self.config.threads), torch.inference_mode():
            for start in range(0, len(users), step):
                rows = slice(start, start + step)
                hidden = user_part(tensors, torch.tensor(arrays["users"][users[rows]]))
                hidden += item_part(tensors, torch.tensor(arrays["items"][items[rows]]))
                scores[rows] = towers(tensors, hidden).T.numpy()
        return scores

    def _towers(self, aspects: Codes) -> dict[str, Tensor]:
        """Return the towers of some aspects; copied, because arrays of a file are read-only."""
        import torch

        names = [f"{kind}{layer}" for layer in _LAYERS for kind in ("matrix", "offset")]
        return {name: torch.tensor(self.arrays[name][aspects]) for name in names}


def initial_parameters(
    users: int, items: int, aspects: int, config: SPSMTLConfig
) -> dict[str, Float32s]:
    """Draw embeddings and one tower, which all aspects start with."""
    rng = np.random.default_rng(config.seed)
    tower = initial_layers(rng, (2 * config.factors, *config.widths, 1), gain=2)

    def embeddings(count: int) -> Float32s:
        drawn = rng.standard_normal((count, config.factors), dtype=np.float32)
        return np.float32(config.initial_deviation) * drawn

    return {
        "users": embeddings(users),
        "items": embeddings(items),
        **{name: np.repeat(array[None], aspects, axis=0) for name, array in tower.items()},
    }


def pair_loss(
    tensors: Tensors, pairs: Pairs, config: SPSMTLConfig, rng: np.random.Generator
) -> Tensor | None:
    """Return the loss of a batch, see `SPSMTL`; None if every pair was skipped."""
    import torch
    from torch.nn.functional import embedding, softplus

    drawn = pairs.users >= 0
    count = int(drawn.sum())
    if count == 0:
        return None
    users = embedding(torch.tensor(pairs.users[drawn]), tensors["users"])
    # All i, then all j.
    items = embedding(torch.tensor(pairs.items[drawn].T.ravel()), tensors["items"])
    hidden = item_part(tensors, _dropped(items, config.dropout, rng)).view(
        -1, 2, count, config.widths[0]
    )
    hidden = hidden + user_part(tensors, _dropped(users, config.dropout, rng))[:, None]
    scores = towers(tensors, hidden.flatten(1, 2)).view(-1, 2, count)
    # An aspect that does not differ or is not known has the sign 0.
    signs = torch.from_numpy(np.sign(np.nan_to_num(pairs.differences[drawn].T)))
    losses = softplus(-signs * (scores[:, 0] - scores[:, 1])) * signs.abs()
    penalty = config.regularization * (users.square().sum() + items.square().sum())
    return (losses.sum() + penalty) / count + config.sharing * distance_between_towers(tensors)


def _dropped(rows: Tensor, dropout: float, rng: np.random.Generator) -> Tensor:
    import torch

    return rows * torch.from_numpy(dropout_mask(rng, tuple(rows.shape), dropout))


def user_part(tensors: Tensors, users: Tensor) -> Tensor:
    """Return what users (n × factors) add to the first layer of every tower: K × n × units."""
    matrix, offset = tensors["matrix1"], tensors["offset1"]
    each = users.expand(len(matrix), -1, -1)
    return offset[:, None].baddbmm(each, matrix[:, : users.shape[1]])


def item_part(tensors: Tensors, items: Tensor) -> Tensor:
    """Return what items (n × factors) add to the first layer of every tower: K × n × units."""
    matrix = tensors["matrix1"]
    return items.expand(len(matrix), -1, -1).bmm(matrix[:, -items.shape[1] :])


def towers(tensors: Tensors, hidden: Tensor) -> Tensor:
    """Return the scores (K × n) of the first layer's inputs to its units (K × n × units)."""
    for layer in _LAYERS[1:]:
        matrix, offset = tensors[f"matrix{layer}"], tensors[f"offset{layer}"]
        hidden = offset[:, None].baddbmm(hidden.relu(), matrix)
    return hidden[:, :, 0]


def distance_between_towers(tensors: Tensors) -> Tensor:
    """Return Σ_{k<l} ‖θ_k − θ_l‖², which is K Σ_k ‖θ_k − θ̄‖², of the layers that are shared."""
    import torch

    shared = [tensors[f"{kind}{n}"] for n in _SHARED_LAYERS for kind in ("matrix", "offset")]
    distances = [(theta - theta.mean(dim=0)).square().sum() for theta in shared]
    return len(shared[0]) * torch.stack(distances).sum()
