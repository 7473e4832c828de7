"""What the PyTorch models share: arrays that tensors and the training loop both see, and Adam.

PyTorch is imported when one of its models is used, not before. Its global random state is never
touched: what is random is drawn by NumPy, from a seed and the number of the iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dmrank.compiled.ranges import count_threads
from dmrank.fitted.fitting import Fitting
from dmrank.models.config import Positive, TrainingConfig
from dmrank.models.kinds.trained import TrainedModel
from dmrank.support.arrays import Array, Arrays, Float32s, Floats, Int64s
from dmrank.support.extras import is_installed, require

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import AdamW

Tensors: TypeAlias = "Mapping[str, Tensor]"
#: The loss of one iteration, given the parameters and its number; None if it has no sample.
Loss: TypeAlias = "Callable[[Tensors, int], Tensor | None]"


def has_torch() -> bool:
    """Return whether PyTorch is installed, without loading it."""
    return is_installed("torch")


class NeuralConfig(TrainingConfig):
    """Parameters of models that are trained with PyTorch."""

    learning_rate: Positive = 0.003
    """Step size of Adam."""


class NeuralModel(TrainedModel):
    """A model whose `learn` ends with `_descend`."""

    config: NeuralConfig

    def __init__(self, **parameters: Any) -> None:
        require("torch", type(self).__name__)
        super().__init__(**parameters)

    def _descend(
        self,
        fitting: Fitting,
        loss: Loss,
        parameters: Arrays,
        *,
        decay: float = 0.0,
        learned: Callable[[], dict[str, Array]] | None = None,
        samples_per_iteration: int = 0,
    ) -> None:
        """Minimise a loss by Adam, one step per iteration.

        Each step first shrinks all parameters by learning_rate · decay. For the rest, see
        `TrainedModel._train`.
        """
        config = self.config
        tensors = {name: shared(array).requires_grad_() for name, array in parameters.items()}
        optimizer, state = adam(tensors, config.learning_rate, decay)

        def run(first: int, count: int) -> Floats:
            with torch_threads(config.threads):
                steps = [_step(optimizer, loss(tensors, first + n)) for n in range(count)]
            return -np.array(steps)

        self._train(
            fitting,
            run,
            parameters,
            state,
            learned=learned,
            samples_per_iteration=samples_per_iteration,
        )


def shared(array: Array) -> Tensor:
    """Return a tensor in the memory of an array: who changes one changes the other."""
    import torch

    return torch.from_numpy(array)


def adam(tensors: Tensors, learning_rate: float, decay: float) -> tuple[AdamW, dict[str, Float32s]]:
    """Return Adam, and the arrays in which it keeps its state, by name.

    Decay is decoupled from the gradient (Loshchilov and Hutter, ICLR 2019).
    """
    import torch

    optimizer = torch.optim.AdamW(list(tensors.values()), lr=learning_rate, weight_decay=decay)
    arrays: dict[str, Float32s] = {}
    for name, tensor in tensors.items():
        shapes = {"step": (1,), "exp_avg": tensor.shape, "exp_avg_sq": tensor.shape}
        of_tensor = {key: np.zeros(shape, dtype=np.float32) for key, shape in shapes.items()}
        optimizer.state[tensor] = {key: shared(array) for key, array in of_tensor.items()}
        arrays |= {f"{key}.{name}": array for key, array in of_tensor.items()}
    return optimizer, arrays


def _step(optimizer: AdamW, loss: Tensor | None) -> float:
    """Take one step and return the loss before it."""
    if loss is None:
        return float("nan")
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return float(loss.detach())


@contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Let PyTorch use so many threads, and after that as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count_threads(threads))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def initial_layers(
    rng: np.random.Generator, widths: tuple[int, ...], gain: float
) -> dict[str, Float32s]:
    """Return matrices and offsets of the layers between the given widths, by name and number.

    A matrix (inputs × outputs) has the variance gain/inputs. What passes through it and a unit
    keeps its size if the gain is 2 for rectifiers (He et al., ICCV 2015), 1 for tanh.

    Examples
    --------
    >>> layers = initial_layers(np.random.default_rng(0), (4, 3, 1), gain=2)
    >>> {name: array.shape for name, array in layers.items()}
    {'matrix1': (4, 3), 'offset1': (3,), 'matrix2': (3, 1), 'offset2': (1,)}
    """
    arrays = {}
    for layer, (inputs, outputs) in enumerate(pairwise(widths), start=1):
        matrix = rng.standard_normal((inputs, outputs)) * np.sqrt(gain / inputs)
        arrays[f"matrix{layer}"] = matrix.astype(np.float32)
        arrays[f"offset{layer}"] = np.zeros(outputs, dtype=np.float32)
    return arrays


def batch_of_users(users: int, batch_size: int, seed: int, iteration: int) -> Int64s:
    """Return the users of an iteration: each is in one batch of a pass over them.

    Examples
    --------
    >>> one_pass = [batch_of_users(5, 2, seed=0, iteration=n).tolist() for n in range(3)]
    >>> [len(batch) for batch in one_pass], sorted(sum(one_pass, []))
    ([2, 2, 1], [0, 1, 2, 3, 4])
    """
    passes, part = divmod(iteration, -(-users // batch_size))
    order = np.random.default_rng([seed, passes]).permutation(users)
    return np.sort(order[part * batch_size : (part + 1) * batch_size])


def dropout_mask(rng: np.random.Generator, shape: tuple[int, ...], dropout: float) -> Float32s:
    """Return 0 with probability `dropout`, else what keeps the mean at 1."""
    kept = rng.random(shape, dtype=np.float32) >= dropout
    return np.where(kept, np.float32(1 / (1 - dropout)), np.float32(0))
