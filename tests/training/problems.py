"""Small training problems, and one iteration of training written plainly in NumPy."""

from __future__ import annotations

import numpy as np

from dmrank.compiled.transpose import padded
from dmrank.directional import cholesky_gradient, gradients, inverse_wishart_gradient
from dmrank.training.data import TrainingData, training_data
from dmrank.training.pairwise.dmr_settings import CovariancePrior, StepSettings
from dmrank.training.pairwise.parameters import Accumulators, Parameters, empty_accumulators
from dmrank.training.pairwise.sampling import Pairs, draw_pairs, random_stream

USERS, ITEMS, ASPECTS, FACTORS = 30, 20, 3, 5
LOWER = np.tril_indices(ASPECTS)


def random_data(missing: float = 0.0, seed: int = 0) -> TrainingData:
    rng = np.random.default_rng(seed)
    rated = rng.random((USERS, ITEMS)) < 0.3
    rated[0] = False
    rated[0, 3] = True  # a user with one rating
    users, items = np.nonzero(rated)
    values = rng.integers(1, 6, (len(users), ASPECTS)).astype(np.float32)
    values[rng.random(values.shape) < missing] = np.nan
    user_ptr = np.searchsorted(users, np.arange(USERS + 1))
    return training_data(user_ptr, items.astype(np.int32), values, ITEMS)


def random_prior() -> CovariancePrior:
    covariance = 0.6 * np.eye(ASPECTS) + 0.4
    return CovariancePrior(scale=12.0 * covariance, degrees_of_freedom=8.0)


def padded_rows(values: np.ndarray) -> np.ndarray:
    table = np.zeros((len(values), padded(values.shape[1])), dtype=np.float32)
    table[:, : values.shape[1]] = values
    return table


def random_parameters(
    covariance: str = "personalized", offsets: bool = False, seed: int = 0
) -> Parameters:
    rng = np.random.default_rng(seed)
    n_users, n_items = {"personalized": (USERS, ITEMS), "shared": (1, 0), "identity": (0, 0)}[
        covariance
    ]

    def roots(n: int) -> np.ndarray:
        matrices = np.eye(ASPECTS) + 0.2 * rng.normal(size=(n, ASPECTS, ASPECTS))
        return padded_rows(matrices[:, *LOWER])

    user_roots, item_roots = roots(n_users), roots(n_items)
    return Parameters(
        users=padded_rows(rng.normal(size=(USERS, FACTORS))),
        items=padded_rows(rng.normal(size=(ITEMS, FACTORS))),
        aspects=padded_rows(rng.normal(size=(ASPECTS, FACTORS))),
        offsets=padded_rows(rng.normal(size=(ITEMS if offsets else 0, ASPECTS))),
        user_roots=user_roots,
        item_roots=item_roots,
        user_covariances=covariances_of(user_roots),
        item_covariances=covariances_of(item_roots),
    )


def unpack(rows: np.ndarray) -> np.ndarray:
    """Return lower-triangular matrices, float64, of packed rows."""
    matrices = np.zeros((len(rows), ASPECTS, ASPECTS))
    matrices[:, *LOWER] = rows[:, : len(LOWER[0])]
    return matrices


def covariances_of(roots: np.ndarray) -> np.ndarray:
    L = unpack(roots)
    return padded_rows((L @ L.transpose(0, 2, 1))[:, *LOWER])


def started(parameters: Parameters, square: float = 1e-4) -> Accumulators:
    """Return sums of squares that keep the size of a first step visible."""
    accumulators = empty_accumulators(parameters)
    for array in accumulators:
        array[:] = square
    return accumulators


def copied(parameters: Parameters) -> Parameters:
    return Parameters(*(array.copy() for array in parameters))


def drawn_pairs(data: TrainingData, settings: StepSettings, iteration: int, step: int) -> Pairs:
    B = settings.batch_size
    pairs = Pairs(
        np.full(B, -1, dtype=np.int32),
        np.full((B, 2), -1, dtype=np.int32),
        np.zeros((B, padded(ASPECTS)), dtype=np.float32),
        np.full(B, -1, dtype=np.int64),
    )
    stream = random_stream(settings.seed, iteration, step)
    draw_pairs(data, settings.rated_share, np.uint64(stream), pairs, 0, B)
    return pairs


def smallest_diagonal(prior: CovariancePrior, settings: StepSettings) -> np.ndarray:
    mode = prior.scale / (prior.degrees_of_freedom + ASPECTS + 1)
    return settings.smallest_diagonal * np.diagonal(np.linalg.cholesky(mode))


class PlainTraining:
    """One iteration as the paper describes it: float64, a loop over pairs, no tricks."""

    def __init__(
        self,
        data: TrainingData,
        parameters: Parameters,
        accumulators: Accumulators,
        prior: CovariancePrior,
        settings: StepSettings,
    ) -> None:
        self.data, self.prior, self.settings = data, prior, settings
        self.U, self.V = (p[:, :FACTORS].astype(float) for p in parameters[:2])
        self.W = parameters.aspects[:, :FACTORS].astype(float)
        self.b = parameters.offsets[:, :ASPECTS].astype(float)
        self.L_u, self.L_i = unpack(parameters.user_roots), unpack(parameters.item_roots)
        self.square = float(accumulators.users[0, 0])

    def pair(self, pairs: Pairs, p: int) -> tuple[np.ndarray, ...]:
        u, (i, j) = pairs.users[p], pairs.items[p]
        d = pairs.differences[p, :ASPECTS].astype(float)
        mu = self.W @ (self.U[u] * (self.V[i] - self.V[j]))
        if len(self.b):
            mu = mu + self.b[i] - self.b[j]
        kept = ~np.isnan(d)
        return d, mu, self.covariance(u, i, j), kept

    def covariance(self, u: int, i: int, j: int) -> np.ndarray:
        if self.settings.covariance == "identity":
            return 2 * np.eye(ASPECTS)
        if self.settings.covariance == "shared":
            return 2 * self.L_u[0] @ self.L_u[0].T
        weight = self.settings.user_weight
        of_items = self.L_i[i] @ self.L_i[i].T + self.L_i[j] @ self.L_i[j].T
        return 2 * weight * self.L_u[u] @ self.L_u[u].T + (1 - weight) * of_items

    def ascend(self, values: np.ndarray, gradient: np.ndarray, rate: float) -> None:
        values += rate * gradient / np.sqrt(self.square + gradient**2)

    def factor_step(self, pairs: Pairs) -> None:
        by_U, by_V, by_W, by_b = (np.zeros_like(x) for x in (self.U, self.V, self.W, self.b))
        reg_U, reg_V, reg_W, reg_b = self.settings.regularization
        for p in np.flatnonzero(pairs.users >= 0):
            u, (i, j) = pairs.users[p], pairs.items[p]
            d, mu, Sigma, kept = self.pair(pairs, p)
            by_mu = gradients(d, mu, Sigma, self.settings.family, kept).mean
            back = self.W.T @ by_mu
            by_U[u] += back * (self.V[i] - self.V[j]) - reg_U * self.U[u]
            by_V[i] += back * self.U[u] - reg_V * self.V[i]
            by_V[j] += -back * self.U[u] - reg_V * self.V[j]
            by_W += np.outer(by_mu, self.U[u] * (self.V[i] - self.V[j])) - reg_W * self.W
            if len(self.b):
                by_b[i] += by_mu - reg_b * self.b[i]
                by_b[j] += -by_mu - reg_b * self.b[j]
        rate = self.settings.learning_rate
        for values, gradient in ((self.U, by_U), (self.V, by_V), (self.W, by_W), (self.b, by_b)):
            self.ascend(values, gradient / self.settings.batch_size, rate)

    def covariance_step(self, pairs: Pairs) -> None:
        by_u, by_i = np.zeros_like(self.L_u), np.zeros_like(self.L_i)
        n = len(self.data.items)
        n_u = np.diff(self.data.user_ptr)
        n_i = self.data.item_counts + n / ITEMS
        shared = self.settings.covariance == "shared"
        weight = 1.0 if shared else self.settings.user_weight
        for p in np.flatnonzero(pairs.users >= 0):
            d, mu, Sigma, kept = self.pair(pairs, p)
            G = gradients(d, mu, Sigma, self.settings.family, kept).covariance
            row = 0 if shared else pairs.users[p]
            by_u[row] += cholesky_gradient(2 * weight * G, self.L_u[row])
            by_u[row] += self.prior_gradient(self.L_u[row]) / (n if shared else n_u[row])
            for item in () if shared else pairs.items[p]:
                by_i[item] += cholesky_gradient((1 - weight) * G, self.L_i[item])
                by_i[item] += self.prior_gradient(self.L_i[item]) / n_i[item]
        rate = self.settings.covariance_learning_rate
        for L, gradient in ((self.L_u, by_u), (self.L_i, by_i)):
            self.ascend(L, gradient / self.settings.batch_size, rate)
            for k, smallest in enumerate(smallest_diagonal(self.prior, self.settings)):
                L[:, k, k] = np.maximum(L[:, k, k], smallest)

    def prior_gradient(self, L: np.ndarray) -> np.ndarray:
        nu = self.prior.degrees_of_freedom
        return cholesky_gradient(inverse_wishart_gradient(L @ L.T, self.prior.scale, nu), L)
