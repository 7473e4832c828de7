"""Ex-SAE: a stacked auto-encoder of multi-aspect ratings (Tallapally et al., RecSys 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import Field

from dmrank.fitted.fitting import Fitting
from dmrank.fitted.scorers import Vectors
from dmrank.fitted.sizes import Sizes
from dmrank.models.config import Count, NotNegative, Positive, Search
from dmrank.models.kinds.neural import (
    NeuralConfig,
    NeuralModel,
    Tensors,
    batch_of_users,
    dropout_mask,
    initial_layers,
    shared,
    torch_threads,
)
from dmrank.ranking import lists_of
from dmrank.support.arrays import Array, Codes, Float32s, Int32s, Int64s
from dmrank.support.layouts import Layout, floats
from dmrank.training.data import TrainingData
from dmrank.training.means import rating_means

if TYPE_CHECKING:
    from torch import Tensor

#: Users whose hidden units are computed at once when training is done.
_USERS_AT_ONCE = 4_096


class ExSAEConfig(NeuralConfig):
    """Parameters of Ex-SAE."""

    iterations: Count = 3_000
    """The most iterations."""
    evaluate_every: Count = 100
    """Iterations between two looks at the validation set."""
    batch_size: Count = 256
    """Users per iteration."""
    widths: tuple[Count, Count, Count, Count, Count] = (64, 64, 32, 32, 16)
    """Units of the hidden layers of the encoder; the decoder has them in reverse order."""
    learning_rate: Annotated[Positive, Search((3e-4, 1e-3, 3e-3), log=True)] = 0.001
    """Step size of Adam."""
    dropout: Annotated[float, Field(ge=0, lt=1), Search((0.3, 0.5, 0.7))] = 0.5
    """Share of a user's ratings that a step hides from the encoder, to learn to predict them."""
    regularization: Annotated[NotNegative, Search((1.0, 3.0, 10.0), log=True)] = 3.0
    """Weight decay: a step shrinks all parameters by learning_rate · regularization."""


class Residuals(NamedTuple):
    """Ratings of some users, less what `ItemMean` predicts.

    Attributes
    ----------
    pointer
        Rows of the n-th user are ``pointer[n]`` to ``pointer[n + 1]``.
    items
        Item code of each row.
    residuals
        One column per aspect, 0 where missing.
    observed
        1 where there is a rating, 0 where it is missing.
    """

    pointer: Int64s
    items: Int32s
    residuals: Float32s
    observed: Float32s

    def of(self, users: Codes) -> Residuals:
        """Return the ratings of some of the users."""
        pointer, rows = lists_of(self.pointer, np.arange(len(self.items), dtype=np.int32), users)
        return Residuals(pointer, self.items[rows], self.residuals[rows], self.observed[rows])


class ExSAE(NeuralModel):
    """Extended stacked auto-encoder.

    Minimises Σ (r_uik − r̂_uik)² over the observed ratings, where r̂_uik = r̄_uik + a_ik (q_i · h_u)
    and h_u = decoder(encoder(z_u)). The extra layer joins the criteria of an item into one node,
    z_ui = c_i + Σ_k w_ik (r_uik − r̄_uik), which is 0 if u has not rated i; its mirror image a_ik
    splits an output node into criteria again. Encoder and decoder have five hidden layers of tanh
    units each (Tallapally et al., RecSys 2018, with the depth of the DMR paper, 4.1).

    Ratings are centred by what `ItemMean` predicts, r̄_uik: aspect, item and user level. The sum
    over a user's nodes is divided by √n_u. A step hides a share of a user's ratings and learns from
    these only, because an auto-encoder that sees what it has to predict copies it. Layers are not
    trained one by one before. As ratings are all it learns from, it does not know who comes where.

    Parameters
    ----------
    **parameters
        See :class:`ExSAEConfig`.

    Examples
    --------
    >>> from dmrank import make_ratings
    >>> split = make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> model = ExSAE(iterations=20, evaluate_every=10, seed=1)
    >>> model = model.fit(split.train, validation=split.validation)
    >>> model.predict("u000003", ["h000001", "h000002"]).shape
    (2, 8)
    """

    Config = ExSAEConfig
    config: ExSAEConfig
    scores_are_ratings = True

    def learn(self, fitting: Fitting) -> None:
        config = self.config
        data = fitting.training_data(config.missing)
        means, levels = rating_means(data)
        ratings = centred(data, levels, means)
        parameters = initial_parameters(len(means), means.shape[1], config)

        def loss(tensors: Tensors, iteration: int) -> Tensor | None:
            users = batch_of_users(len(levels), config.batch_size, config.seed, iteration)
            rng = np.random.default_rng([config.seed, iteration, 1])  # not that of the users
            return masked_loss(tensors, ratings.of(users), config.dropout, rng)

        def learned() -> dict[str, Array]:
            with torch_threads(config.threads):
                hidden = hidden_of_all_users(parameters, ratings)
            outputs = {name: parameters[name] for name in ("outputs", "split")}
            return {"hidden": hidden, **outputs, "levels": levels, "means": means}

        self._descend(fitting, loss, parameters, decay=config.regularization, learned=learned)

    def layout(self, sizes: Sizes) -> Layout:
        users, items, width = sizes.users, sizes.items, self.config.widths[0]
        of_items = dict.fromkeys(("split", "means"), floats(items, sizes.aspects))
        of_users = {"hidden": floats(users, width), "levels": floats(users)}
        return of_items | of_users | {"outputs": floats(items, width)}

    def scoring_vectors(self, weights: Float32s) -> Vectors:
        """Return vectors whose dot product is Σ_k w_k r̂_uik."""
        arrays = self.arrays
        levels = arrays["levels"] * weights.sum()
        users = np.column_stack([arrays["hidden"], np.ones_like(levels), levels])
        nodes = arrays["outputs"] * (arrays["split"] @ weights)[:, None]
        means = arrays["means"] @ weights
        return Vectors(users, np.column_stack([nodes, means, np.ones_like(means)]))


def centred(data: TrainingData, levels: Float32s, means: Float32s) -> Residuals:
    """Return the training ratings less the levels of users (M) and the means of items (N × K)."""
    residuals = data.values - means[data.items] - levels[data.row_users][:, None]
    observed = ~np.isnan(residuals)
    return Residuals(
        data.user_ptr, data.items, np.nan_to_num(residuals), observed.astype(np.float32)
    )


def initial_parameters(items: int, aspects: int, config: ExSAEConfig) -> dict[str, Float32s]:
    """Draw the layers; outputs start at 0, so that the first prediction is the centre."""
    rng = np.random.default_rng(config.seed)
    width = config.widths[0]
    return {
        "join": np.full((items, aspects), 1 / np.sqrt(aspects), dtype=np.float32),
        "join_offset": np.zeros((items, 1), dtype=np.float32),
        "inputs": rng.standard_normal((items, width), dtype=np.float32),
        "inputs_offset": np.zeros(width, dtype=np.float32),
        **initial_layers(rng, (*config.widths, *config.widths[::-1]), gain=1),
        "outputs": np.zeros((items, width), dtype=np.float32),
        "split": np.ones((items, aspects), dtype=np.float32),
    }


def masked_loss(
    tensors: Tensors, ratings: Residuals, dropout: float, rng: np.random.Generator
) -> Tensor | None:
    """Return the mean squared error of what is hidden from the encoder; None if nothing is.

    Without dropout the encoder sees all, and all that is observed counts.
    """
    import torch
    from torch.nn.functional import embedding

    kept = dropout_mask(rng, (len(ratings.items),), dropout)
    asked = ratings.observed * (kept == 0)[:, None] if dropout else ratings.observed
    total = float(asked.sum())
    if total == 0:
        return None
    hidden = hidden_units(tensors, ratings, torch.from_numpy(kept))
    users = np.repeat(np.arange(len(hidden)), np.diff(ratings.pointer))
    of_rows = embedding(torch.from_numpy(users), hidden)
    predicted = outputs_of(tensors, of_rows, torch.from_numpy(ratings.items))
    errors = predicted - torch.from_numpy(ratings.residuals)
    return (errors.square() * torch.from_numpy(asked)).sum() / total


def hidden_units(tensors: Tensors, ratings: Residuals, kept: Tensor | None = None) -> Tensor:
    """Return the last hidden layer of the decoder, one row per user.

    Sums run over the items that a user rated; `kept` multiplies their nodes.
    """
    import torch
    from torch.nn.functional import embedding, embedding_bag

    items = torch.from_numpy(ratings.items)
    joined = torch.from_numpy(ratings.residuals) * embedding(items, tensors["join"])
    nodes = joined.sum(dim=1) + embedding(items, tensors["join_offset"])[:, 0]
    starts = torch.from_numpy(ratings.pointer[:-1].astype(ratings.items.dtype))
    nodes = nodes if kept is None else nodes * kept
    sums = embedding_bag(items, tensors["inputs"], starts, mode="sum", per_sample_weights=nodes)
    counts = torch.from_numpy(np.maximum(np.diff(ratings.pointer), 1).astype(np.float32))
    hidden = (sums / counts.sqrt()[:, None] + tensors["inputs_offset"]).tanh()
    for layer in range(1, 10):
        hidden = (hidden @ tensors[f"matrix{layer}"] + tensors[f"offset{layer}"]).tanh()
    return hidden


def outputs_of(tensors: Tensors, hidden: Tensor, items: Tensor) -> Tensor:
    """Return a_ik (q_i · h) of each row of hidden units and its item, one column per aspect."""
    from torch.nn.functional import embedding

    nodes = (embedding(items, tensors["outputs"]) * hidden).sum(dim=1)
    return nodes[:, None] * embedding(items, tensors["split"])


def hidden_of_all_users(parameters: dict[str, Float32s], ratings: Residuals) -> Float32s:
    """Return h_u of every user, all ratings seen."""
    import torch

    tensors = {name: shared(array) for name, array in parameters.items()}
    users = np.arange(len(ratings.pointer) - 1)
    with torch.inference_mode():
        parts = [
            hidden_units(tensors, ratings.of(users[start : start + _USERS_AT_ONCE])).numpy()
            for start in range(0, len(users), _USERS_AT_ONCE)
        ]
    return np.concatenate(parts)
