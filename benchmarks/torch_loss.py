"""The directional loss beside the same loss written plainly in PyTorch with autograd.

    python -m benchmarks.torch_loss [--pairs 2000] [--aspects 8] [--repeats 30]

Forward and backward, float32. The plain one is what one would write: a Cholesky factor, a solve,
and special functions that stay finite; Student's survival function, which PyTorch lacks, is left to
SciPy, and its derivative given. Turns alternate, and the ratio is that of their medians. With one
thread the time is that of the processor: on a busy machine the clock on the wall counts how often a
step is interrupted, which happens to the longer one, and doubles the ratio. With more threads it is
that clock, and means something on an idle machine only. Memory is what PyTorch allocates from the
first line to the gradients, at its peak.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from scipy import special
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from benchmarks.record import add_record_option, as_called, write_record
from dmrank.torch import directional_loss

MARGIN = 0.2
ETA = 4.0
Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def plain_ray(mean: Tensor, difference: Tensor, root: Tensor) -> tuple[Tensor, ...]:
    columns = torch.stack([difference, mean], dim=-1)
    s, t = torch.cholesky_solve(columns, root).unbind(-1)
    A = (difference * s).sum(-1)
    rho = (difference * t).sum(-1) / A
    E = ((mean - rho[..., None] * difference) * (t - rho[..., None] * s)).sum(-1)
    log_determinant = 2 * torch.log(torch.diagonal(root, dim1=-2, dim2=-1)).sum(-1)
    return A, rho, E, log_determinant


def plain_gaussian(mean: Tensor, difference: Tensor, root: Tensor) -> Tensor:
    A, rho, E, log_determinant = plain_ray(mean, difference, root)
    x = (MARGIN - rho) * torch.sqrt(A)
    constant = 0.5 * math.log(2 * math.pi) * (1 - mean.shape[-1])
    value = torch.special.log_ndtr(-x) - 0.5 * (E + torch.log(A) + log_determinant) + constant
    return -value.mean()


class PlainSurvival(torch.autograd.Function):
    """ln(1 − T_κ(x)) by SciPy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, kappa: float) -> Tensor:
        survival = torch.from_numpy(special.stdtr(kappa, -x.numpy()))
        norm = math.exp(-float(special.betaln(kappa / 2, 0.5))) / math.sqrt(kappa)
        density = norm * (1 + x * x / kappa) ** (-(kappa + 1) / 2)
        ctx.save_for_backward(density / survival)
        return torch.log(survival)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (hazard,) = ctx.saved_tensors
        return -gradient * hazard, None


def plain_student(mean: Tensor, difference: Tensor, root: Tensor) -> Tensor:
    A, rho, E, log_determinant = plain_ray(mean, difference, root)
    K = mean.shape[-1]
    kappa = ETA + K - 1
    x = (MARGIN - rho) * torch.sqrt(A * kappa / (ETA + E))
    constant = math.lgamma(kappa / 2) - math.lgamma(ETA / 2) - (K - 1) / 2 * math.log(math.pi * ETA)
    off_ray = -0.5 * kappa * torch.log1p(E / ETA)
    log_survival = PlainSurvival.apply(x, kappa)  # type: ignore[no-untyped-call]
    value = off_ray - 0.5 * (torch.log(A) + log_determinant) + log_survival + constant
    return -value.mean()


def losses(family: str, scale: str) -> tuple[Loss, Loss]:
    """Return the plain loss and ours."""
    plain = plain_gaussian if family == "gaussian" else plain_student

    def by_plain(mean: Tensor, difference: Tensor, given: Tensor) -> Tensor:
        root = given if scale == "scale_tril" else torch.linalg.cholesky(given)
        return plain(mean, difference, root)

    def by_ours(mean: Tensor, difference: Tensor, given: Tensor) -> Tensor:
        options = {"margin": MARGIN, "family": family, "degrees_of_freedom": ETA}
        return directional_loss(mean, difference, **{scale: given}, **options)  # type: ignore[arg-type]

    return by_plain, by_ours


def step(loss: Loss, mean: Tensor, difference: Tensor, scale: Tensor) -> Tensor:
    mean.grad = scale.grad = None
    value = loss(mean, difference, scale)
    value.backward()  # type: ignore[no-untyped-call]
    return value


def peak_memory(loss: Loss, *tensors: Tensor) -> int:
    """Return the most bytes that PyTorch holds at once during a step, its results included."""
    for tensor in tensors:
        tensor.grad = None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step(loss, *tensors)
    held = highest = 0
    for event in profiler.profiler.kineto_results.events():  # type: ignore[union-attr]
        if event.name() == "[memory]":
            held += event.nbytes()
            highest = max(highest, held)
    return highest


def compare(family: str, scale: str, pairs: int, aspects: int, repeats: int) -> dict[str, str]:
    """Print what both took, and return it as a row of a table."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(pairs, aspects, generator=generator).requires_grad_()
    difference = torch.randint(-4, 5, (pairs, aspects), generator=generator).float()
    factor = torch.randn(pairs, aspects, aspects, generator=generator)
    given = factor @ factor.mT + torch.eye(aspects)
    given = torch.linalg.cholesky(given) if scale == "scale_tril" else given
    given = given.contiguous().requires_grad_()
    tensors = (mean, difference, given)
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    times: dict[Loss, list[float]] = {loss: [] for loss in losses(family, scale)}
    results = []
    for _ in range(repeats):
        for loss, taken in times.items():
            start = clock()
            value = step(loss, *tensors)
            taken.append(clock() - start)
            # Of the gradient by a factor the upper triangle means nothing.
            sizes = (tensor.grad.tril().norm().item() for tensor in (mean, given))  # type: ignore[union-attr]
            results.append((value.item(), *sizes))
    torch.testing.assert_close(results[-1], results[-2], rtol=1e-3, atol=1e-3)
    plain, ours = (1e3 * statistics.median(taken) for taken in times.values())
    memory = [peak_memory(loss, *tensors) / 2**20 for loss in times]
    print(
        f"{family:9} {scale:11} plain {plain:6.2f} ms {memory[0]:5.2f} MB   "
        f"ours {ours:5.2f} ms {memory[1]:5.2f} MB   "
        f"{plain / ours:4.1f} times as fast, {memory[1] / memory[0]:.2f} of the memory"
    )
    return {
        "threads": str(torch.get_num_threads()),
        "Σ given as": f"`{scale}`",
        "family": family,
        "plain": f"{plain:.2f} ms",
        "ours": f"{ours:.2f} ms",
        "times as fast": f"{plain / ours:.1f}",
        "of the memory": f"{memory[1] / memory[0]:.2f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--aspects", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    add_record_option(parser)
    options = parser.parse_args()
    rows = []
    for threads in options.threads:
        torch.set_num_threads(threads)
        print(f"{options.pairs:,} pairs, K = {options.aspects}, threads: {threads}")
        for scale in ("covariance", "scale_tril"):
            for family in ("gaussian", "student"):
                row = compare(family, scale, options.pairs, options.aspects, options.repeats)
                rows.append(row)
    if options.record:
        write_record("torch-loss", as_called("torch_loss"), rows, ("torch",))


if __name__ == "__main__":
    main()
