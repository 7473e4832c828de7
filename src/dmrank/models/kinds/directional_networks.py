"""Networks of embeddings for the mean of a rating vector and for its covariance, D + B Bᵀ."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dmrank.models.kinds.neural import Tensors, initial_layers
from dmrank.support.arrays import Float32s, Floats, Int32s

if TYPE_CHECKING:
    from torch import Tensor

#: The least variance of an aspect, whatever the network says: Σ keeps an inverse in float32.
_LEAST_VARIANCE = 0.01
#: Hidden units of (user, item) pairs that are computed at once: some megabytes.
_UNITS_AT_ONCE = 1 << 21


class Shape(NamedTuple):
    """How large the networks are.

    Attributes
    ----------
    users, items, aspects
        How many there are.
    factors
        Dimension of the embeddings.
    width
        Hidden units of each network.
    rank
        Columns of B, of which there is at most one per aspect.
    """

    users: int
    items: int
    aspects: int
    factors: int
    width: int
    rank: int

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each parameter by name."""
        shapes: dict[str, tuple[int, ...]] = {
            "users": (self.users, self.factors),
            "items": (self.items, self.factors),
            "item_offsets": (self.items, self.aspects),
            "aspects": (self.aspects, self.factors),
        }
        for network, outputs in (("mean", self.aspects), ("covariance", self.outputs)):
            shapes[f"{network}.matrix1"] = (2 * self.factors, self.width)
            shapes[f"{network}.offset1"] = (self.width,)
            shapes[f"{network}.matrix2"] = (self.width, outputs)
        return shapes

    @property
    def outputs(self) -> int:
        """Of the network of Σ: D, and the rows of B."""
        return self.aspects * (1 + min(self.rank, self.aspects))


def initial_parameters(shape: Shape, deviation: float, seed: int) -> dict[str, Float32s]:
    """Draw embeddings and first layers; what follows these starts at 0, and all aspects alike."""
    rng = np.random.default_rng(seed)
    parameters = {
        name: np.zeros(size, dtype=np.float32) for name, size in shape.parameters().items()
    }
    parameters["aspects"] += 1
    for name in ("users", "items"):
        parameters[name] += np.float32(deviation) * rng.standard_normal(
            parameters[name].shape, dtype=np.float32
        )
    for network in ("mean", "covariance"):
        layer = initial_layers(rng, (2 * shape.factors, shape.width), gain=2)
        parameters |= {f"{network}.{name}": array for name, array in layer.items()}
    return parameters


def prior_outputs(prior: Floats, rank: int) -> Float32s:
    """Return what a network has to say for D + B Bᵀ to be near Σ_prior, with its variances.

    Examples
    --------
    >>> import torch
    >>> outputs = prior_outputs(np.array([[2.0, 0.5], [0.5, 1.0]]), rank=1)
    >>> covariance_matrices(torch.from_numpy(outputs), aspects=2)
    tensor([[2.0000, 0.5000],
            [0.5000, 1.0000]])
    """
    values, vectors = np.linalg.eigh(prior)
    # Less the least eigenvalue, so that something is left for D on every aspect.
    factors = vectors[:, ::-1][:, :rank] * np.sqrt(values[::-1][:rank] - values[0])
    left = np.diagonal(prior) - np.square(factors).sum(axis=1) - _LEAST_VARIANCE
    softplus_inverse = np.log(np.expm1(np.maximum(left, _LEAST_VARIANCE)))
    return np.concatenate([softplus_inverse, factors.ravel()]).astype(np.float32)


def first_layer(
    tensors: Tensors, network: str, users: Tensor, items: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what users and items (… × factors) add to the hidden units of a network."""
    matrix, offset = tensors[f"{network}.matrix1"], tensors[f"{network}.offset1"]
    factors = users.shape[-1]
    return users @ matrix[:factors] + offset, items @ matrix[factors:]


def predicted_means(tensors: Tensors, users: Tensor, items: Tensor) -> Tensor:
    """Return r̂_ui − b_i of users and items (… × factors), … × K."""
    user_part, item_part = first_layer(tensors, "mean", users, items)
    hidden = (user_part + item_part).relu()
    return (users * items) @ tensors["aspects"].T + hidden @ tensors["mean.matrix2"]


def block_scores(tensors: Tensors, users: Tensor, mix: Tensor) -> Tensor:
    """Return Σ_k w_k r̂_uik of some users (n × factors) and all items, n × N."""
    items = tensors["items"]
    scores = (users * (mix @ tensors["aspects"])) @ items.T + tensors["item_offsets"] @ mix
    user_part, item_part = first_layer(tensors, "mean", users, items)
    outputs = tensors["mean.matrix2"] @ mix
    step = max(_UNITS_AT_ONCE // item_part.numel(), 1)
    for start in range(0, len(users), step):
        rows = slice(start, start + step)
        # Every user with every item: users × items × units.
        scores[rows] += (user_part[rows, None] + item_part).relu() @ outputs
    return scores


def highest_scored(tensors: Tensors, users: Int32s, candidates: Int32s) -> Int32s:
    """Return of each user's candidates (n × any) the item with the highest mean over aspects."""
    import torch
    from torch.nn.functional import embedding

    items = torch.from_numpy(candidates)
    with torch.inference_mode():
        of_users = embedding(torch.from_numpy(users), tensors["users"])[:, None]
        scores = predicted_means(tensors, of_users, embedding(items, tensors["items"]))
        scores += embedding(items, tensors["item_offsets"])
        best = scores.sum(dim=2).argmax(dim=1, keepdim=True).numpy()
    return np.take_along_axis(candidates, best, axis=1)[:, 0]


def covariance_outputs(tensors: Tensors, users: Tensor, items: Tensor) -> Tensor:
    """Return how far the outputs for Σ_ui are from those of the prior, … × K(1 + rank)."""
    user_part, item_part = first_layer(tensors, "covariance", users, items)
    return (user_part + item_part).relu() @ tensors["covariance.matrix2"]


def covariance_matrices(outputs: Tensor, aspects: int) -> Tensor:
    """Return Σ = D + B Bᵀ of outputs: K for D, then the rows of B."""
    from torch.nn.functional import softplus

    variances = softplus(outputs[..., :aspects]) + _LEAST_VARIANCE
    factors = outputs[..., aspects:].reshape(*outputs.shape[:-1], aspects, -1)
    return factors @ factors.mT + variances.diag_embed()
