"""How exact the loss and its gradients are, beside quadrature of the density along the ray.

    python -m benchmarks.torch_exactness [--cases 10000] [--record]

Random pairs of 1 to 8 aspects, some of them missing, margins to 10, 0.5 to 60 degrees of freedom,
and means that are off by up to 10,000 standard deviations; every way to give Σ. Quadrature knows
nothing of ray statistics: it adds up the density at 720 points of the ray (a double exponential
rule), and autograd differentiates that sum. An error is relative to the largest number of a pair's
gradient, or to 1.
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.record import add_record_option, as_called, write_record
from dmrank.torch import directional_loss

BATCH = 500
# The rule: t in equal steps; the integrand is below the last digit at the ends.
STEP = 0.025
T = torch.arange(-4, 5, STEP, dtype=torch.float64)
KINDS = ("covariance", "scale_tril", "diagonal", "identity")


class Cases(NamedTuple):
    """Pairs of one number of aspects and one margin, all in float64."""

    mean: Tensor
    difference: Tensor
    mask: Tensor
    root: Tensor
    eta: Tensor
    margin: float

    def scale(self, kind: str, root: Tensor) -> dict[str, Tensor]:
        """Return the scale as an argument of the loss."""
        root = root.tril()
        sigma = root @ root.mT
        given = {
            "covariance": sigma,
            "scale_tril": root,
            "diagonal": torch.diagonal(sigma, dim1=-2, dim2=-1),
        }
        return {kind: given[kind]} if kind in given else {}

    def covariance(self, kind: str, root: Tensor) -> Tensor:
        """Return Σ as a matrix."""
        root = root.tril()
        if kind == "identity":
            return torch.eye(root.shape[-1], dtype=root.dtype).expand(root.shape)
        sigma = root @ root.mT
        return (
            torch.diag_embed(torch.diagonal(sigma, dim1=-2, dim2=-1))
            if kind == "diagonal"
            else sigma
        )


def draw(pairs: int, aspects: int, generator: torch.Generator) -> Cases:
    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    distance = 10 ** (5 * uniform(pairs, 1) - 1)
    difference = torch.randint(-4, 5, (pairs, aspects), generator=generator).double()
    # Half of the means lie along the ray, before or behind the margin: the far tails.
    along = uniform(pairs, 1) < 0.5
    mean = distance * torch.where(along, normal(pairs, 1) * difference, normal(pairs, aspects))
    root = 0.5 * torch.tril(normal(pairs, aspects, aspects), -1)
    root = root + torch.diag_embed(10 ** (uniform(pairs, aspects) - 0.5))
    margin = float(uniform(1)) * float(torch.randint(0, 2, (1,), generator=generator)) * 10
    eta = 0.5 * 120 ** uniform(pairs)
    return Cases(mean, difference, uniform(pairs, aspects) < 0.8, root, eta, margin)


def quadrature(
    cases: Cases, family: str, density: str, mean: Tensor, sigma: Tensor, eta: Tensor
) -> Tensor:
    """Return −ln ∫ p(γd) dγ from the margin on, 0 without a direction.

    Of a direction among all directions the integrand has the factor γ^(K−1).
    """
    kept = cases.mask
    both = kept[:, :, None] & kept[:, None, :]
    sigma = torch.where(both, sigma, torch.eye(kept.shape[1], dtype=sigma.dtype))
    columns = torch.stack([torch.where(kept, v, 0.0) for v in (cases.difference, mean)], dim=-1)
    root = torch.linalg.cholesky(sigma)
    y, z = torch.linalg.solve_triangular(root, columns, upper=False).unbind(-1)
    K = kept.sum(-1).clamp(min=1).double()
    has_direction = (columns[..., 0] != 0).any(-1)
    start, steps, gamma, log_weights = _rule(y.detach(), z.detach(), cases, family)
    # |γy − z|² at the start, and how much more it is further on: squares of far tails are large.
    off = start[:, None] * y - z
    first = off.square().sum(-1)
    more = steps * (steps * y.square().sum(-1)[:, None] + 2 * (y * off).sum(-1)[:, None])
    if family == "gaussian":
        at_start = -0.5 * first - 0.5 * K * math.log(2 * math.pi)
        log_p = -0.5 * more
    else:
        norm = (
            torch.lgamma((eta + K) / 2) - torch.lgamma(eta / 2) - K / 2 * torch.log(math.pi * eta)
        )
        at_start = norm - 0.5 * (eta + K) * torch.log1p(first / eta)
        log_p = -0.5 * (eta + K)[:, None] * torch.log1p(more / (eta + first)[:, None])
    if density == "direction":
        log_p = log_p + torch.special.xlogy(K[:, None] - 1, gamma)
    log_determinant = torch.log(torch.diagonal(root, dim1=-2, dim2=-1)).sum(-1)
    value = at_start + torch.logsumexp(log_p + log_weights, dim=-1) - log_determinant
    return torch.where(has_direction, -value, 0.0)


def _rule(y: Tensor, z: Tensor, cases: Cases, family: str) -> tuple[Tensor, ...]:
    """Return where to start, the peak or ξ; steps from there, up and down to ξ; γ; log weights."""
    A = y.square().sum(-1)
    A = torch.where(A > 0, A, 1.0)
    peak = (y * z).sum(-1) / A
    start = peak.clamp(min=cases.margin)
    width = 1 / (torch.sqrt(A) * (1 + torch.sqrt(A) * (start - peak)))
    if family == "student":
        width = torch.sqrt((cases.eta + (start[:, None] * y - z).square().sum(-1)) / A)
    up = width[:, None] * torch.exp(math.pi / 2 * torch.sinh(T))
    weights = up * math.pi / 2 * torch.cosh(T) * STEP
    depth = (start - cases.margin)[:, None]
    share = depth / (depth + up)
    steps = torch.cat([up, -up * share], dim=-1)
    # Not by subtraction: near ξ = 0 there would be nothing left.
    gamma = torch.cat([start[:, None] + up, cases.margin + depth * share], dim=-1)
    return start, steps, gamma, torch.log(torch.cat([weights, weights * share**2], dim=-1))


def largest_errors(cases: Cases, family: str, density: str, kind: str) -> dict[str, float]:
    """Return the largest relative errors of the loss and of its gradients."""
    found = []
    for is_ours in (True, False):
        mean, root, eta = (t.clone().requires_grad_() for t in (cases.mean, cases.root, cases.eta))
        if is_ours:
            loss = directional_loss(
                mean,
                cases.difference,
                cases.mask,
                **cases.scale(kind, root),  # type: ignore[arg-type]
                margin=cases.margin,
                family=family,  # type: ignore[arg-type]
                degrees_of_freedom=eta,
                reduction="none",
                density=density,  # type: ignore[arg-type]
            )
        else:
            sigma = cases.covariance(kind, root)
            loss = quadrature(cases, family, density, mean, sigma, eta)
        loss.sum().backward()  # type: ignore[no-untyped-call]
        gradients = [t.grad for t in (mean, root, eta)]
        found.append([loss.detach(), *(0 * loss.detach() if g is None else g for g in gradients)])
    names = ("loss", "mean", "scale", "degrees of freedom")
    return {
        name: _largest_error(ours, exact) for name, ours, exact in zip(names, *found, strict=True)
    }


def _largest_error(ours: Tensor, exact: Tensor) -> float:
    ours, exact = (tensor.reshape(len(tensor), -1) for tensor in (ours, exact))
    size = exact.abs().amax(-1).clamp(min=1)
    largest = float(((ours - exact).abs().amax(-1) / size).max())
    return math.inf if math.isnan(largest) else largest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=10_000)
    add_record_option(parser)
    options = parser.parse_args()
    generator = torch.Generator().manual_seed(0)
    largest: dict[tuple[str, str, str], float] = {}
    batches = -(-options.cases // BATCH)
    for number in range(batches):
        cases = draw(BATCH, 1 + number % 8, generator)
        kind = KINDS[(number + number // 4) % 4]
        for density, family in product(("ray", "direction"), ("gaussian", "student")):
            for name, error in largest_errors(cases, family, density, kind).items():
                key = density, family, name
                largest[key] = max(error, largest.get(key, 0.0))
    print(f"{batches * BATCH:,} cases of each, largest relative error:")
    for (density, family, name), error in largest.items():
        if (family, name) != ("gaussian", "degrees of freedom"):
            print(f"  {density:9} {family:9} {name:19} {error:.1e}")
    if options.record:
        rows = rows_of(largest)
        write_record("torch-exactness", as_called("torch_exactness"), rows, ("torch",))


def rows_of(largest: dict[tuple[str, str, str], float]) -> list[dict[str, str]]:
    """Return a row for the loss and each gradient, a column for each family and density."""
    rows: dict[str, dict[str, str]] = {}
    for (density, family, name), error in largest.items():
        title = name if name == "loss" else f"gradient by the {name}"
        row = rows.setdefault(name, {"what": title})
        column = family if density == "ray" else f"{family}, direction"
        fixed = (family, name) == ("gaussian", "degrees of freedom")
        row[column] = "–" if fixed else f"{error:.0e}"
    return list(rows.values())


if __name__ == "__main__":
    main()
