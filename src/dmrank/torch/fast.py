"""The compiled kernels for tensors: float32 on the processor, Σ or its root, a family they know."""

from __future__ import annotations

import torch
from torch import Tensor

from dmrank.compiled.ranges import for_ranges
from dmrank.directional.batches import Evaluation, evaluate_rows, family_constants
from dmrank.directional.families import Family
from dmrank.torch.criterion import Pairs

# Half a millisecond of work: less is not worth a thread.
_PAIRS_PER_THREAD = 4096


def evaluate(pairs: Pairs, family: Family, are_roots: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return the log-likelihood of pairs and its gradients by the mean and by the scale.

    A log-likelihood is NaN where Σ is not positive definite.
    """
    assert pairs.scale is not None
    K = pairs.mean.shape[-1]
    difference = pairs.difference
    if not pairs.masks_nothing():
        difference = torch.where(pairs.kept, difference, torch.nan)
    difference = difference.reshape(-1, K).contiguous()
    mean = pairs.mean.reshape(-1, K).contiguous()
    scale = pairs.scale.reshape(-1, K, K).contiguous()
    value, by_mean, by_scale = (torch.empty_like(like) for like in (mean[:, 0], mean, scale))
    found = Evaluation(value.numpy(), by_mean.numpy(), by_scale.numpy())
    d, mu, Sigma = (tensor.detach().numpy() for tensor in (difference, mean, scale))
    constants = family_constants(family, K)

    def work(start: int, stop: int) -> None:
        evaluate_rows(d, mu, Sigma, are_roots, constants, found, start, stop)

    for_ranges(work, len(mean), _PAIRS_PER_THREAD, torch.get_num_threads())
    shape = pairs.mean.shape
    return value.view(shape[:-1]), by_mean.view(shape), by_scale.view(*shape, K)
