"""SPS-MTL, Ex-SAE and NeuralDMR: what is particular to the models that PyTorch trains."""

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

import dmrank
from dmrank import (
    SPSMTL,
    ConfigError,
    ExSAE,
    MissingExtraError,
    NeuralDMR,
    Popularity,
    Ratings,
    make_ratings,
)
from dmrank.directional import Gaussian, Student, log_likelihood
from dmrank.models import exsae, neuraldmr, spsmtl
from dmrank.models.base import Fitting
from dmrank.models.exsae import ExSAEConfig
from dmrank.models.kinds import directional_networks, neural
from dmrank.models.neuraldmr import NeuralDMRConfig
from dmrank.models.spsmtl import SPSMTLConfig
from dmrank.training import checkpoints
from dmrank.training.pairwise.dmr_settings import StepSettings
from dmrank.training.pairwise.drawing import sample_candidates, sample_pairs
from tests.training.problems import drawn_pairs, random_data

QUICK = {"iterations": 40, "evaluate_every": 10, "batch_size": 64, "threads": 1}
ALL = pytest.mark.parametrize("kind", [SPSMTL, ExSAE, NeuralDMR])
USERS, ITEMS, ASPECTS = 30, 20, 3


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(60, 30, 900, missing=0.2, aspects=["overall", "a", "b"], seed=1).ratings


# PyTorch, only where it is needed.


def test_pytorch_is_imported_by_its_models_only() -> None:
    script = (
        "import sys, dmrank\n"
        "ratings = dmrank.make_ratings(20, 10, 60, seed=0).ratings\n"
        "dmrank.Popularity().fit(ratings).recommend('u000001')\n"
        "dmrank.SPSMTL(), dmrank.ExSAE(), dmrank.NeuralDMR()\n"
        "assert 'torch' not in sys.modules\n"
        "dmrank.SPSMTL(iterations=1, threads=1).fit(ratings)\n"
        "assert 'torch' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@ALL
def test_without_pytorch_the_error_says_what_to_install(kind, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    said = rf"^{kind.__name__} needs PyTorch, .*dmrank\[neural\]'$"
    with pytest.raises(MissingExtraError, match=said):
        kind()


@ALL
def test_global_state_of_pytorch_is_left_alone(kind, ratings: Ratings) -> None:
    random_state, threads = torch.get_rng_state(), torch.get_num_threads()
    kind(**{**QUICK, "threads": threads + 1}).fit(ratings).recommend("u000001")
    assert torch.equal(torch.get_rng_state(), random_state)
    assert torch.get_num_threads() == threads


def test_threads_are_those_that_were_asked_for() -> None:
    before = torch.get_num_threads()
    with neural.torch_threads(before + 2):
        assert torch.get_num_threads() == before + 2
    with pytest.raises(ZeroDivisionError), neural.torch_threads(before + 2):
        _ = 1 / 0
    assert torch.get_num_threads() == before


# The training loop.


@ALL
def test_a_resumed_fit_ends_with_the_bits_of_an_uninterrupted_one(
    kind, ratings: Ratings, tmp_path: Path, monkeypatch, capsys
) -> None:
    class Killed(BaseException): ...

    def kill(history) -> None:
        if history.iterations[-1] == 20:
            raise Killed

    save = checkpoints.Checkpoint.save
    always = lambda self, state, *, last: save(self, state, last=True)  # noqa: E731
    monkeypatch.setattr(checkpoints.Checkpoint, "save", always)
    with pytest.raises(Killed):
        kind(**QUICK).fit(ratings, checkpoint=tmp_path, callback=kill)
    resumed = kind(**QUICK).fit(ratings, checkpoint=tmp_path)
    assert "resumed at iteration 20" in capsys.readouterr().err
    whole = kind(**QUICK).fit(ratings)
    assert whole.arrays.keys() == resumed.arrays.keys()
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)


def test_adam_keeps_its_state_in_the_arrays() -> None:
    values = np.array([1.0, -2.0], dtype=np.float32)
    tensors = {"x": neural.shared(values).requires_grad_()}
    optimizer, state = neural.adam(tensors, learning_rate=0.1, decay=0.5)
    tensors["x"].square().sum().backward()
    optimizer.step()
    # The first step of Adam is the sign of the gradient, after decay by 1 − 0.1 · 0.5.
    np.testing.assert_allclose(values, [0.95 - 0.1, -1.9 + 0.1], rtol=1e-5)
    assert state["step.x"].tolist() == [1]
    np.testing.assert_allclose(state["exp_avg.x"], [0.2, -0.4], rtol=1e-5)
    np.testing.assert_allclose(state["exp_avg_sq.x"], [0.004, 0.016], rtol=1e-5)


def test_a_mask_keeps_the_mean() -> None:
    mask = neural.dropout_mask(np.random.default_rng(0), (20_000,), 0.3)
    assert set(np.unique(mask)) == {0, np.float32(1 / 0.7)}
    assert mask.mean() == pytest.approx(1, abs=0.02)


@ALL
@pytest.mark.parametrize(
    "parameters",
    [
        {"dropout": 1},
        {"dropout": -0.1},
        {"widths": (4, 4)},
        {"learning_rate": 0},
        {"batch_size": 0},
    ],
    ids=str,
)
def test_impossible_parameters_are_refused(kind, parameters) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        kind(**parameters)


# SPS-MTL.


def test_pairs_are_those_that_compiled_steps_draw() -> None:
    data = random_data(missing=0.3)
    pairs = sample_pairs(data, 0.4, seed=3, iteration=7, batch_size=50)
    expected = drawn_pairs(data, StepSettings(batch_size=50, seed=3, rated_share=0.4), 7, 0)
    np.testing.assert_array_equal(pairs.users, expected.users)
    np.testing.assert_array_equal(pairs.items, expected.items)
    np.testing.assert_array_equal(pairs.second_rows, expected.second_rows)
    np.testing.assert_array_equal(pairs.differences, expected.differences[:, :ASPECTS])


TOWERS = SPSMTLConfig(
    factors=4, widths=(6, 5, 4, 3), dropout=0, regularization=0.3, sharing=0.2, seed=5
)


def random_towers(rng) -> dict[str, np.ndarray]:
    arrays = spsmtl.initial_parameters(USERS, ITEMS, ASPECTS, TOWERS)
    return {name: array + 0.3 * rng.normal(size=array.shape) for name, array in arrays.items()}


def one_tower(arrays, aspect: int, user: int, item: int) -> float:
    """One aspect's network on one pair, as its definition reads."""
    x = np.concatenate([arrays["users"][user], arrays["items"][item]])
    for layer in range(1, 6):
        x = x @ arrays[f"matrix{layer}"][aspect] + arrays[f"offset{layer}"][aspect]
        if layer < 5:
            x = np.maximum(x, 0)
    return x.item()


def plain_loss(arrays, pairs) -> float:
    """The loss of SPS-MTL, pair by pair and aspect by aspect."""
    total, count = 0.0, 0
    differences = pairs.differences.astype(np.float64)
    for u, (i, j), d in zip(pairs.users, pairs.items, differences, strict=True):
        if u < 0:
            continue
        count += 1
        for k in range(ASPECTS):
            if np.isfinite(d[k]) and d[k] != 0:
                margin = one_tower(arrays, k, u, i) - one_tower(arrays, k, u, j)
                total += np.log1p(np.exp(-np.sign(d[k]) * margin))
        rows = arrays["users"][u], arrays["items"][i], arrays["items"][j]
        total += TOWERS.regularization * sum((row**2).sum() for row in rows)
    shared = [arrays[f"{kind}{layer}"] for layer in (1, 2, 3) for kind in ("matrix", "offset")]
    distance = sum(
        ((theta[k] - theta[other]) ** 2).sum()
        for theta in shared
        for k, other in combinations(range(ASPECTS), 2)
    )
    return total / count + TOWERS.sharing * distance


@pytest.fixture
def towers_and_pairs():
    arrays = random_towers(np.random.default_rng(0))
    pairs = sample_pairs(random_data(missing=0.3), 0.5, seed=1, iteration=0, batch_size=40)
    pairs.users[3] = -1  # a skipped pair
    pairs.items[3] = -1
    return arrays, pairs


def test_the_batched_loss_is_that_of_separate_towers(towers_and_pairs) -> None:
    arrays, pairs = towers_and_pairs
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    loss = spsmtl.pair_loss(tensors, pairs, TOWERS, np.random.default_rng(0))
    assert float(loss) == pytest.approx(plain_loss(arrays, pairs), rel=1e-6)


def test_the_gradient_is_the_slope_of_the_plain_loss(towers_and_pairs) -> None:
    arrays, pairs = towers_and_pairs
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    spsmtl.pair_loss(tensors, pairs, TOWERS, np.random.default_rng(0)).backward()
    rng = np.random.default_rng(1)
    for name, array in arrays.items():
        direction = rng.normal(size=array.shape)
        ahead = plain_loss({**arrays, name: array + 1e-6 * direction}, pairs)
        behind = plain_loss({**arrays, name: array - 1e-6 * direction}, pairs)
        slope = (tensors[name].grad.numpy() * direction).sum()
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-7), name


def test_a_batch_without_a_pair_has_no_loss() -> None:
    values = np.ones((2, 1))  # one user who rated both items the same
    same = Ratings.from_arrays(["a", "a"], ["x", "y"], values, aspects=["r"], scale=(1, 5))
    pairs = sample_pairs(Fitting(same).training_data(), 0.0, seed=0, iteration=0, batch_size=9)
    assert spsmtl.pair_loss({}, pairs, TOWERS, np.random.default_rng(0)) is None


def test_towers_start_the_same() -> None:
    arrays = spsmtl.initial_parameters(USERS, ITEMS, ASPECTS, TOWERS)
    for layer in range(1, 6):
        towers = arrays[f"matrix{layer}"]
        assert (towers == towers[0]).all()
        assert towers.any()


def test_sharing_pulls_the_towers_together(ratings: Ratings) -> None:
    def distance(sharing: float) -> float:
        model = SPSMTL(**QUICK, sharing=sharing, learning_rate=0.01).fit(ratings)
        tensors = {name: torch.from_numpy(array) for name, array in model.arrays.items()}
        return float(spsmtl.distance_between_towers(tensors))

    assert distance(1.0) < 0.1 * distance(0.0)


def test_scores_of_blocks_are_scores_of_pairs(
    ratings: Ratings, tmp_path: Path, monkeypatch
) -> None:
    # Blocks cut in the middle of the items and of the users; arrays as a file gives them.
    monkeypatch.setattr(spsmtl, "_ITEMS_AT_ONCE", 7)
    monkeypatch.setattr(spsmtl, "_SCORES_AT_ONCE", 50)
    model = dmrank.load(SPSMTL(**QUICK).fit(ratings).save(tmp_path / "m.dmrank"))
    users, items = np.meshgrid(np.arange(60), np.arange(30), indexing="ij")
    by_pair = model.score_pairs(users.ravel(), items.ravel()).reshape(60, 30, 3)
    weights = np.array([0.5, 0, 2], dtype=np.float32)
    block = model.score_block(np.arange(60), weights)
    np.testing.assert_allclose(block, by_pair @ weights, rtol=1e-4, atol=1e-5)
    plain = one_tower(model.arrays, 2, 11, 22)
    assert by_pair[11, 22, 2] == pytest.approx(plain, rel=1e-4, abs=1e-5)


# Ex-SAE.

CODER = ExSAEConfig(widths=(6, 5, 4, 3, 2), seed=5)


@pytest.fixture
def network_and_ratings():
    rng = np.random.default_rng(0)
    data = random_data(missing=0.3)
    levels, means = rng.normal(size=USERS), rng.normal(size=(ITEMS, ASPECTS))
    ratings = exsae.centred(data, levels.astype(np.float32), means.astype(np.float32))
    arrays = exsae.initial_parameters(ITEMS, ASPECTS, CODER)
    arrays = {name: array + 0.3 * rng.normal(size=array.shape) for name, array in arrays.items()}
    return {name: array.astype(np.float32) for name, array in arrays.items()}, ratings


def dense_predictions(arrays, ratings, kept) -> np.ndarray:
    """Users × items × aspects, from the dense input that the model never builds."""
    rows = np.repeat(np.arange(USERS), np.diff(ratings.pointer)), ratings.items
    inputs, rated = np.zeros((USERS, ITEMS, ASPECTS)), np.zeros((USERS, ITEMS))
    inputs[rows], rated[rows] = ratings.residuals, kept
    nodes = rated * ((inputs * arrays["join"]).sum(axis=2) + arrays["join_offset"][:, 0])
    n = np.maximum(np.diff(ratings.pointer), 1)
    hidden = np.tanh(nodes @ arrays["inputs"] / np.sqrt(n)[:, None] + arrays["inputs_offset"])
    for layer in range(1, 10):
        hidden = np.tanh(hidden @ arrays[f"matrix{layer}"] + arrays[f"offset{layer}"])
    return (hidden @ arrays["outputs"].T)[:, :, None] * arrays["split"]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_sparse_loss_is_that_of_dense_layers(network_and_ratings, dropout: float) -> None:
    arrays, ratings = network_and_ratings
    kept = neural.dropout_mask(np.random.default_rng(1), ratings.items.shape, dropout)
    predicted = dense_predictions(arrays, ratings, kept)
    rows = np.repeat(np.arange(USERS), np.diff(ratings.pointer)), ratings.items
    asked = ratings.observed.astype(bool) & ((kept == 0) | (dropout == 0))[:, None]
    expected = ((predicted[rows] - ratings.residuals)[asked] ** 2).mean()
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    loss = exsae.masked_loss(tensors, ratings, dropout, np.random.default_rng(1))
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_the_loss_does_not_see_what_is_missing(network_and_ratings) -> None:
    arrays, ratings = network_and_ratings
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    only_one = ratings._replace(observed=np.zeros_like(ratings.observed))
    only_one.observed[5, 1] = 1
    user = np.searchsorted(ratings.pointer, 5, side="right") - 1
    predicted = dense_predictions(arrays, ratings, np.ones(len(ratings.items)))
    error = predicted[user, ratings.items[5], 1] - ratings.residuals[5, 1]
    loss = exsae.masked_loss(tensors, only_one, 0.0, np.random.default_rng(0))
    assert float(loss) == pytest.approx(error**2, rel=1e-4)


def test_a_batch_without_a_rating_has_no_loss(network_and_ratings) -> None:
    arrays, ratings = network_and_ratings
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    nothing = ratings._replace(observed=np.zeros_like(ratings.observed))
    assert exsae.masked_loss(tensors, nothing, 0.0, np.random.default_rng(0)) is None


def test_users_are_encoded_alike_alone_and_among_others(network_and_ratings, monkeypatch) -> None:
    arrays, ratings = network_and_ratings
    together = exsae.hidden_of_all_users(arrays, ratings)
    monkeypatch.setattr(exsae, "_USERS_AT_ONCE", 7)
    np.testing.assert_allclose(exsae.hidden_of_all_users(arrays, ratings), together, rtol=1e-5)
    predicted = together @ arrays["outputs"].T
    expected = dense_predictions(arrays, ratings, np.ones(len(ratings.items)))
    np.testing.assert_allclose(predicted[:, :, None] * arrays["split"], expected, atol=1e-5)


def test_predictions_are_centre_plus_network(ratings: Ratings) -> None:
    model = ExSAE(**QUICK, learning_rate=0.01).fit(ratings)
    arrays = model.arrays
    node = arrays["hidden"][4] @ arrays["outputs"][7]
    expected = arrays["levels"][4] + arrays["means"][7] + arrays["split"][7] * node
    users, items = [ratings.users[4]], [ratings.items[7]]
    np.testing.assert_allclose(model.predict(users, items, raw=True)[0], expected, rtol=1e-5)
    assert abs(node) > 1e-3


def test_it_predicts_better_than_item_means_where_tastes_differ() -> None:
    split = make_ratings(400, 60, 12_000, seed=4, signal=1.0, taste=0.0).ratings.split()
    test = split.test
    users, items = test.users.names(test.user_codes), test.items.names(test.item_codes)

    def error(model) -> float:
        return float(np.nanmean((model.fit(split.train).predict(users, items) - test.values) ** 2))

    network = ExSAE(iterations=300, learning_rate=0.003, regularization=1.0, threads=1)
    assert error(network) < error(dmrank.ItemMean())


# NeuralDMR.

NETWORKS = {
    "factors": 4,
    "width": 5,
    "dropout": 0.3,
    "regularization": 0.3,
    "covariance_regularization": 0.2,
}


def random_networks(rng, rank: int = 2) -> tuple[dict[str, np.ndarray], np.ndarray]:
    shape = directional_networks.Shape(USERS, ITEMS, ASPECTS, 4, 5, rank)
    arrays = directional_networks.initial_parameters(shape, deviation=0.5, seed=5)
    arrays = {name: array + 0.3 * rng.normal(size=array.shape) for name, array in arrays.items()}
    return arrays, rng.normal(size=shape.outputs)


def one_output(arrays, network: str, user: np.ndarray, item: int) -> np.ndarray:
    """One network on one pair, as its definition reads."""
    inputs = np.concatenate([user, arrays["items"][item]])
    units = inputs @ arrays[f"{network}.matrix1"] + arrays[f"{network}.offset1"]
    return np.maximum(units, 0) @ arrays[f"{network}.matrix2"]


def one_mean(arrays, user: np.ndarray, item: int) -> np.ndarray:
    product = arrays["aspects"] @ (user * arrays["items"][item])
    return product + arrays["item_offsets"][item] + one_output(arrays, "mean", user, item)


def one_covariance(arrays, prior, user: np.ndarray, item: int) -> np.ndarray:
    outputs = prior + one_output(arrays, "covariance", user, item)
    factors = outputs[ASPECTS:].reshape(ASPECTS, -1)
    return np.diag(np.log1p(np.exp(outputs[:ASPECTS])) + 0.01) + factors @ factors.T


def plain_directional_loss(arrays, prior, pairs, family) -> float:
    """The loss of NeuralDMR, pair by pair; some of a user's embedding is left out of the mean."""
    drawn, losses = np.flatnonzero(pairs.users >= 0), []
    masks = neural.dropout_mask(np.random.default_rng(0), (len(drawn), 4), 0.3)
    for pair, mask in zip(drawn, masks, strict=True):
        user, (i, j) = arrays["users"][pairs.users[pair]], pairs.items[pair]
        mean = one_mean(arrays, user * mask, i) - one_mean(arrays, user * mask, j)
        sigma = sum(one_covariance(arrays, prior, user, item) for item in (i, j))
        d = pairs.differences[pair]
        known = np.isfinite(d)
        likelihood = log_likelihood(d[known], mean[known], sigma[np.ix_(known, known)], family)
        rows = [user]
        rows += [arrays[name][item] for item in (i, j) for name in ("items", "item_offsets")]
        outputs = [one_output(arrays, "covariance", user, item) for item in (i, j)]
        penalty = 0.3 * sum((row**2).sum() for row in rows)
        penalty += 0.2 * sum((output**2).sum() for output in outputs)
        losses.append(penalty - likelihood)
    return float(np.mean(losses))


@pytest.fixture
def networks_and_pairs():
    arrays, prior = random_networks(np.random.default_rng(0))
    pairs = sample_pairs(random_data(missing=0.3), 0.5, seed=1, iteration=0, batch_size=40)
    pairs.users[3] = -1  # a skipped pair
    pairs.items[3] = -1
    return arrays, prior, pairs


@pytest.mark.parametrize("family", [Gaussian(0.3), Student(4.0, 0.3)], ids=["gaussian", "student"])
def test_the_loss_is_the_criterion_of_the_two_networks(networks_and_pairs, family) -> None:
    arrays, prior, pairs = networks_and_pairs
    config = NeuralDMRConfig(
        **NETWORKS, margin=0.3, family=type(family).__name__.lower(), degrees_of_freedom=4.0
    )
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in arrays.items()}
    loss = neuraldmr.pair_loss(tensors, pairs, prior, config, np.random.default_rng(0))
    expected = plain_directional_loss(arrays, prior, pairs, family)
    assert float(loss.detach()) == pytest.approx(expected)
    loss.backward()
    rng = np.random.default_rng(1)
    for name, array in arrays.items():
        direction = rng.normal(size=array.shape)
        ahead, behind = (
            plain_directional_loss({**arrays, name: array + step}, prior, pairs, family)
            for step in (1e-6 * direction, -1e-6 * direction)
        )
        slope = (tensors[name].grad.numpy() * direction).sum()
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-6), name


def test_a_batch_without_a_direction_has_no_loss(networks_and_pairs) -> None:
    _, prior, pairs = networks_and_pairs
    pairs.users[:] = -1
    config = NeuralDMRConfig(**NETWORKS)
    assert neuraldmr.pair_loss({}, pairs, prior, config, np.random.default_rng(0)) is None


def test_hard_negatives_are_the_best_scored_candidates(networks_and_pairs) -> None:
    arrays = networks_and_pairs[0]
    data = random_data()
    config = NeuralDMRConfig(**NETWORKS, batch_size=60, rated_share=0.3, hard_negatives=4, seed=2)
    tensors = {name: torch.tensor(array) for name, array in arrays.items()}
    pairs = neuraldmr.draw_pairs(tensors, data, config, iteration=3)
    plain = sample_pairs(data, 0.3, 2, 3, 60)
    candidates = sample_candidates(data, plain, 4, False, 2, 3)
    np.testing.assert_array_equal(pairs.users, plain.users)
    for user, second, asked in zip(pairs.users, pairs.items[:, 1], candidates, strict=True):
        scores = [one_mean(arrays, arrays["users"][user], item).sum() for item in asked]
        assert second == asked[np.argmax(scores)]
    changed = pairs.items[:, 1] != plain.items[:, 1]
    assert changed.any()
    assert (plain.second_rows[changed] < 0).all()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_covariances_start_near_the_prior(rank: int) -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(ASPECTS, ASPECTS))
    prior = root @ root.T + 0.3 * np.eye(ASPECTS)
    outputs = torch.from_numpy(directional_networks.prior_outputs(prior, rank))
    found = directional_networks.covariance_matrices(outputs, ASPECTS).numpy()
    np.testing.assert_allclose(np.diagonal(found), np.diagonal(prior), rtol=1e-5)
    if rank >= ASPECTS - 1:  # the rest is a multiple of the identity
        np.testing.assert_allclose(found, prior, rtol=1e-4, atol=1e-4)


@pytest.fixture(scope="module")
def networks(ratings: Ratings) -> NeuralDMR:
    return NeuralDMR(**QUICK, learning_rate=0.02, factors=8, width=8).fit(ratings)


def test_covariances_are_definite_and_know_no_order_of_items(networks: NeuralDMR) -> None:
    rng = np.random.default_rng(0)
    users, first, second = rng.integers(0, [[60], [30], [30]], (3, 200))
    sigma = networks.pair_covariances(users, first, second)
    np.testing.assert_array_equal(sigma, sigma.transpose(0, 2, 1))
    np.testing.assert_array_equal(sigma, networks.pair_covariances(users, second, first))
    assert np.linalg.eigvalsh(sigma).min() > 0.01
    assert np.ptp(sigma, axis=0).max() > 0.01  # they are personal
    user = networks.arrays["users"][users[7]]
    expected = one_covariance(networks.arrays, networks.arrays["prior"], user, first[7])
    np.testing.assert_allclose(
        networks.covariances(users, first)[7], expected, rtol=1e-4, atol=1e-5
    )


def test_scores_of_networks_in_blocks_are_those_of_pairs(
    networks: NeuralDMR, tmp_path: Path, monkeypatch
) -> None:
    # Blocks cut in the middle of the users and of the pairs; arrays as a file gives them.
    monkeypatch.setattr(directional_networks, "_UNITS_AT_ONCE", 30 * 8 * 7)
    monkeypatch.setattr(neuraldmr, "_PAIRS_AT_ONCE", 50)
    model = dmrank.load(networks.save(tmp_path / "m.dmrank"))
    users, items = np.meshgrid(np.arange(60), np.arange(30), indexing="ij")
    by_pair = model.score_pairs(users.ravel(), items.ravel()).reshape(60, 30, 3)
    weights = np.array([0.5, 0, 2], dtype=np.float32)
    block = model.score_block(np.arange(60), weights)
    np.testing.assert_allclose(block, by_pair @ weights, rtol=1e-4, atol=1e-5)
    plain = one_mean(model.arrays, model.arrays["users"][11], 22)
    np.testing.assert_allclose(by_pair[11, 22], plain, rtol=1e-4, atol=1e-5)


def test_it_says_how_sure_it_is(networks: NeuralDMR, ratings: Ratings) -> None:
    user, first, second = ratings.users[4], ratings.items[3], ratings.items[8]
    chance = networks.compare(user, first, second).table["probability"]
    assert chance.is_between(0, 1).all()
    assert len(networks.explain(user, first).table) > 0
    low, high = (
        networks.complete([{"user": user, "item": first, "overall": value}])["a"][0]
        for value in (1.0, 5.0)
    )
    assert np.isfinite([low, high]).all()
    assert low != high


def test_networks_that_diverge_say_so_in_a_line(ratings: Ratings) -> None:
    with pytest.raises(ConfigError, match="NeuralDMR has diverged.*lower learning_rate") as raised:
        NeuralDMR(**QUICK | {"learning_rate": 1e30}).fit(ratings)
    assert "\n" not in str(raised.value)


def test_networks_learn_what_is_to_whose_taste() -> None:
    drawn = make_ratings(300, 80, 6_000, seed=2, missing=0.2, taste=3.0, signal=1.0)
    split = drawn.ratings.split(seed=0)
    popular = Popularity().fit(split.train, validation=split.validation)
    # Among 80 items, a hard negative is often one that the user has not met yet.
    suited = {"hard_negatives": 1, "dropout": 0.5, "regularization": 0.01}
    model = NeuralDMR(iterations=100, evaluate_every=25, threads=1, **suited)
    model.fit(split.train, validation=split.validation)
    report = dmrank.evaluate({"networks": model, "popular": popular}, split, metrics=["ndcg@10"])
    assert report.mean("networks", "ndcg@10") > 1.1 * report.mean("popular", "ndcg@10")
