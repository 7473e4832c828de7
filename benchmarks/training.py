"""Training of DMR beside the same criterion written plainly in PyTorch with autograd.

    python -m benchmarks.training [--iterations 150] [--torch-iterations 10] [--small]
    python -m benchmarks.training --scaling        # draws docs/figures/training-*.png

Both do a factor step and a covariance step per iteration, with the inverse-Wishart prior and
AdaGrad, on data of the size of the paper's TripAdvisor. The gain of a second thread is shown
beside that of a Numba loop that shares nothing. On a busy machine no figure means much: look at
the column of the slowest turns.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange, set_num_threads

from benchmarks.record import add_record_option, as_called, write_record
from dmrank.directional import Gaussian
from dmrank.training.data import TrainingData, training_data
from dmrank.training.pairwise.dmr import run_iterations
from dmrank.training.pairwise.dmr_settings import CovariancePrior, StepSettings
from dmrank.training.pairwise.parameters import (
    Accumulators,
    Parameters,
    empty_accumulators,
    initial_parameters,
)

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
STRENGTH = 20.0
MARGIN = 0.2
REPEATS = 3
TURNS = 4


class Size(NamedTuple):
    """Size of a problem; the defaults are those of the paper's TripAdvisor."""

    users: int = 100_005
    items: int = 17_257
    ratings: int = 1_057_217
    aspects: int = 8
    factors: int = 10
    batch: int = 2_000


class Problem(NamedTuple):
    """The first arguments of `run_iterations`."""

    data: TrainingData
    parameters: Parameters
    accumulators: Accumulators
    prior: CovariancePrior
    settings: StepSettings


def make_problem(size: Size) -> Problem:
    """Draw random ratings; items are popular in the proportions of a power law."""
    rng = np.random.default_rng(0)
    popularity = 1 / np.arange(1, size.items + 1) ** 0.8
    items = rng.choice(size.items, size.ratings, p=popularity / popularity.sum()).astype(np.int64)
    cells = np.unique(rng.integers(0, size.users, size.ratings) * size.items + items)
    users, items = np.divmod(cells, size.items)
    user_ptr = np.searchsorted(users, np.arange(size.users + 1))
    values = rng.integers(1, 6, (len(cells), size.aspects)).astype(np.float32)
    data = training_data(user_ptr, items.astype(np.int32), values, size.items)
    covariance = 0.6 * np.eye(size.aspects) + 0.4
    parameters = initial_parameters(
        size.users,
        size.items,
        size.aspects,
        size.factors,
        covariance="personalized",
        prior=covariance,
        deviation=0.1,
        nonnegative=False,
        offsets=None,
        seed=0,
    )
    prior = CovariancePrior((STRENGTH + size.aspects + 1) * covariance, STRENGTH)
    settings = StepSettings(batch_size=size.batch, family=Gaussian(MARGIN))
    return Problem(data, parameters, empty_accumulators(parameters), prior, settings)


def seconds_per_iteration(problem: Problem, iterations: int, threads: int) -> float:
    """Return the median over some runs."""
    times = []
    for repeat in range(REPEATS):
        started = time.perf_counter()
        run_iterations(*problem, repeat * iterations, iterations, threads)
        times.append((time.perf_counter() - started) / iterations)
    return statistics.median(times)


class PlainTorch:
    """The criterion and both steps in PyTorch: batched, autograd, AdaGrad on the touched rows.

    It is meant to be as fast as plain PyTorch gets: only the rows of a batch are leaves, and
    neither step differentiates what the other one learns.
    """

    def __init__(self, problem: Problem, size: Size) -> None:
        import torch

        self.torch, self.problem, self.size = torch, problem, size
        K = size.aspects
        mode = problem.prior.scale / (STRENGTH + K + 1)
        root = torch.tensor(np.linalg.cholesky(mode), dtype=torch.float32)
        self.U = torch.tensor(problem.parameters.users[:, : size.factors])
        self.V = torch.tensor(problem.parameters.items[:, : size.factors])
        self.W = torch.tensor(problem.parameters.aspects[:, : size.factors])
        self.L_u = root.repeat(size.users, 1, 1)
        self.L_i = root.repeat(size.items, 1, 1)
        self.Psi = torch.tensor(problem.prior.scale, dtype=torch.float32)
        tables = (self.U, self.V, self.W, self.L_u, self.L_i)
        self.squares = {id(table): torch.zeros_like(table) for table in tables}
        rows = len(problem.data.items)
        counts = torch.tensor(np.maximum(np.diff(problem.data.user_ptr), 1))
        self.user_weight = 1 / counts.float()
        self.item_weight = 1 / (torch.tensor(problem.data.item_counts) + rows / size.items)
        self.generator = np.random.default_rng(0)

    def draw(self) -> tuple[Any, ...]:
        """Return u, i, j as rows of the touched users and items, those, their counts, and d.

        Every j counts as rated 0: at this size 1 in 2,000 is not, and finding it would cost.
        """
        torch, data, size = self.torch, self.problem.data, self.size
        rows = self.generator.integers(0, len(data.items), size.batch)
        j = torch.as_tensor(self.generator.integers(0, size.items, size.batch))
        i = torch.as_tensor(data.items[rows].astype(np.int64))
        u = torch.as_tensor(data.row_users[rows].astype(np.int64))
        users, u, user_counts = u.unique(return_inverse=True, return_counts=True)
        items, both, item_counts = torch.cat([i, j]).unique(return_inverse=True, return_counts=True)
        d = torch.as_tensor(data.values[rows])
        return u, both[: size.batch], both[size.batch :], users, items, user_counts, item_counts, d

    def log_likelihood(self, mu: Any, Sigma: Any, d: Any) -> Any:
        """Return the log-likelihood of a batch (gaussian family)."""
        torch = self.torch
        C = torch.linalg.cholesky(Sigma)
        s, t = torch.cholesky_solve(torch.stack([d, mu], dim=2), C).unbind(dim=2)
        A = (d * s).sum(1)
        rho = (d * t).sum(1) / A
        E = ((mu - rho[:, None] * d) * (t - rho[:, None] * s)).sum(1)
        log_survival = torch.special.log_ndtr(-A.sqrt() * (MARGIN - rho))
        log_determinant = 2 * C.diagonal(dim1=1, dim2=2).log().sum(1)
        return (-(log_determinant + E + A.log()) / 2 + log_survival).sum()

    def log_prior(self, Sigma: Any, weight: Any) -> Any:
        """Return the weighted inverse-Wishart log-prior of some covariances."""
        torch, K = self.torch, self.size.aspects
        C = torch.linalg.cholesky(Sigma)
        log_determinant = 2 * C.diagonal(dim1=1, dim2=2).log().sum(1)
        trace = torch.cholesky_solve(self.Psi.expand(len(Sigma), K, K), C)
        trace = trace.diagonal(dim1=1, dim2=2).sum(1)
        return (-weight * ((STRENGTH + K + 1) * log_determinant + trace) / 2).sum()

    def mean(self, U: Any, V: Any, W: Any, u: Any, i: Any, j: Any) -> Any:
        """Return μ of a batch."""
        return (U[u] * (V[i] - V[j])) @ W.T

    def covariances(self, L_u: Any, L_i: Any) -> tuple[Any, Any]:
        """Return Σ = L Lᵀ of the touched users and items."""
        L_u, L_i = L_u.tril(), L_i.tril()
        return L_u @ L_u.transpose(1, 2), L_i @ L_i.transpose(1, 2)

    def iterate(self) -> None:
        """Do a factor step and a covariance step."""
        torch = self.torch
        u, i, j, users, items, n_u, n_i, d = self.draw()
        U, V, W = (x.requires_grad_() for x in (self.U[users], self.V[items], self.W.clone()))
        with torch.no_grad():
            of_users, of_items = self.covariances(self.L_u[users], self.L_i[items])
            Sigma = of_users[u] + 0.5 * (of_items[i] + of_items[j])
        by_users, by_items, by_aspects, _ = self.problem.settings.regularization
        norms = by_users * (n_u[:, None] * U.square()).sum()
        norms = norms + by_items * (n_i[:, None] * V.square()).sum()
        norms = norms + by_aspects * len(u) * W.square().sum()
        objective = self.log_likelihood(self.mean(U, V, W, u, i, j), Sigma, d) - norms / 2
        whole = slice(None)
        self.ascend(objective, [(self.U, users, U), (self.V, items, V), (self.W, whole, W)])

        u, i, j, users, items, n_u, n_i, d = self.draw()
        L_u, L_i = self.L_u[users].requires_grad_(), self.L_i[items].requires_grad_()
        of_users, of_items = self.covariances(L_u, L_i)
        Sigma = of_users[u] + 0.5 * (of_items[i] + of_items[j])
        mu = self.mean(self.U[users], self.V[items], self.W, u, i, j)
        objective = self.log_likelihood(mu, Sigma, d)
        objective = objective + self.log_prior(of_users, n_u * self.user_weight[users])
        objective = objective + self.log_prior(of_items, n_i * self.item_weight[items])
        self.ascend(objective, [(self.L_u, users, L_u), (self.L_i, items, L_i)])

    def ascend(self, objective: Any, touched: list[tuple[Any, Any, Any]]) -> None:
        """Move the touched rows of each table by AdaGrad."""
        (objective / self.size.batch).backward()
        rate = self.problem.settings.learning_rate
        for table, rows, leaf in touched:
            squares = self.squares[id(table)]
            squares[rows] += leaf.grad.square()
            table[rows] += rate * leaf.grad / (squares[rows].sqrt() + 1e-10)

    def seconds_per_iteration(self, iterations: int, threads: int) -> float:
        """Return the median time of an iteration."""
        self.torch.set_num_threads(threads)
        self.iterate()
        times = []
        for _ in range(iterations):
            started = time.perf_counter()
            self.iterate()
            times.append(time.perf_counter() - started)
        return statistics.median(times)


@njit(parallel=True)
def _shares_nothing(results: np.ndarray, steps: int) -> None:
    for task in prange(len(results)):
        value = results[task]
        for _ in range(steps):
            value = 0.999 * value + 0.1
        results[task] = value


def parallel_loop(threads: int) -> float:
    """Return the seconds of a loop whose tasks share no memory."""
    set_num_threads(threads)
    _shares_nothing(np.zeros(32), 1)
    started = time.perf_counter()
    _shares_nothing(np.zeros(32), 1_000_000)
    return time.perf_counter() - started


def peak_memory() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(size: Size, iterations: int, torch_iterations: int) -> list[dict[str, str]]:
    """Print times and ratios of one run, and return them as rows of a table.

    The versions take turns, and each is judged by its best turn: other work on the machine
    would otherwise decide the ratio. PyTorch is given the better of one and two threads.
    """
    problem = make_problem(size)
    started = time.perf_counter()
    run_iterations(*problem, 0, 1)
    first = time.perf_counter() - started
    seconds_per_iteration(problem, iterations, threads=2)
    memory = peak_memory()
    torch = PlainTorch(problem, size)
    times: dict[str, list[float]] = {}
    for _ in range(TURNS):
        for threads in (1, 2):
            plain = torch.seconds_per_iteration(torch_iterations, threads)
            ours = seconds_per_iteration(problem, iterations, threads)
            times.setdefault(f"plain PyTorch, {threads} threads", []).append(plain)
            times.setdefault(f"dmrank, {threads} threads", []).append(ours)
            times.setdefault(f"loop, {threads}", []).append(parallel_loop(threads))
    best = {name: min(turns) for name, turns in times.items()}
    plain = min(best["plain PyTorch, 1 threads"], best["plain PyTorch, 2 threads"])
    rows = []
    print(f"{size.users:,} users, {size.items:,} items, {len(problem.data.items):,} ratings,")
    print(f"K = {size.aspects}, {size.factors} factors, two batches of {size.batch:,} pairs\n")
    print(f"{'':<28}{'ms / iteration':>16}{'slowest turn':>14}{'M pairs / s':>13}{'ratio':>8}")
    for name in sorted(name for name in times if "loop" not in name):
        seconds = best[name]
        print(
            f"{name:<28}{1e3 * seconds:>16.2f}{1e3 * max(times[name]):>14.2f}"
            f"{2e-6 * size.batch / seconds:>13.2f}{plain / seconds:>8.1f}"
        )
        rows.append(
            {
                "version": name,
                "ms an iteration": f"{1e3 * seconds:.2f}",
                "slowest turn": f"{1e3 * max(times[name]):.2f}",
                "million pairs a second": f"{2e-6 * size.batch / seconds:.2f}",
                "beside PyTorch's best": f"{plain / seconds:.1f}×",
            }
        )
    gain = best["dmrank, 1 threads"] / best["dmrank, 2 threads"]
    ideal = best["loop, 1"] / best["loop, 2"]
    print(
        f"\nsecond thread: {gain:.2f} times faster, a loop that shares nothing {ideal:.2f}", end=""
    )
    print(f" ({gain / ideal:.0%})")
    print(f"first call, compiled or from the cache: {first:.1f} s")
    print(f"peak memory before PyTorch: {memory:.0f} MB")
    told = {
        "gain of the second thread": f"{gain:.2f} times",
        "gain of a loop that shares nothing": f"{ideal:.2f} times",
        "peak memory before PyTorch": f"{memory:.0f} MB",
    }
    named, measured, *_ = rows[0]
    empty = dict.fromkeys(rows[0], "")
    return rows + [{**empty, named: what, measured: much} for what, much in told.items()]


def vary(name: str, values: Iterable[int], base: Size) -> Iterator[tuple[int, Size]]:
    for value in values:
        yield value, base._replace(**{name: value})


def draw_scaling(base: Size, iterations: int) -> None:
    """Draw how the cost of an iteration grows, one figure for each quantity."""
    from dmrank.support.plots import figure, save

    ranges = {
        "users": (base.users // 16, base.users // 4, base.users, 4 * base.users),
        "items": (base.items // 16, base.items // 4, base.items, 4 * base.items),
        "aspects": (1, 2, 4, 6, 8, 10, 12, 14, 16),
        "factors": (5, 10, 20, 40, 64, 96, 128),
        "batch": (250, 500, 1_000, 2_000, 4_000, 8_000),
    }
    for name, values in ranges.items():
        sizes, milliseconds = [], []
        for value, size in vary(name, values, base):
            problem = make_problem(size)
            run_iterations(*problem, 0, 2)
            sizes.append(value)
            # The best of several: what disturbs a run only ever makes it slower.
            runs = [seconds_per_iteration(problem, iterations, threads=2) for _ in range(3)]
            milliseconds.append(1e3 * min(runs))
            print(f"{name} {value:>9,}: {milliseconds[-1]:8.2f} ms per iteration", flush=True)
        with figure(5, 3.2) as drawn:
            axes = drawn.subplots()
            axes.plot(sizes, milliseconds, marker="o")
            axes.set_xscale("log" if name in ("users", "items") else "linear")
            axes.set_ylim(bottom=0)
            axes.set_xlabel(name)
            axes.set_ylabel("ms per iteration")
            axes.set_title(f"An iteration by {name}")
            print(save(drawn, FIGURES / f"training-{name}.png"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=150, help="per timed run")
    parser.add_argument("--torch-iterations", type=int, default=10)
    parser.add_argument("--small", action="store_true", help="a tenth of the users and items")
    add_record_option(parser)
    parser.add_argument("--scaling", action="store_true", help="draw how the cost grows")
    options = parser.parse_args()
    size = Size(users=10_000, items=1_700, ratings=100_000) if options.small else Size()
    if options.scaling:
        draw_scaling(size, options.iterations)
        return
    rows = compare(size, options.iterations, options.torch_iterations)
    if options.record:
        write_record("training", as_called("training"), rows, ("torch",))


if __name__ == "__main__":
    main()
