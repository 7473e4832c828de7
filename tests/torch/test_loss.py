"""The loss is the criterion, and its gradients are those of the reference and of quadrature."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the loss is for PyTorch, the extra neural")

from benchmarks.torch_exactness import KINDS, draw, largest_errors  # noqa: E402

from dmrank.directional import (  # noqa: E402
    Gaussian,
    ProjectedGaussian,
    ProjectedStudent,
    Student,
    gradients,
    log_likelihood,
)
from dmrank.torch import DirectionalLoss, directional_loss  # noqa: E402
from dmrank.torch.cones import GaussianCone, StudentCone  # noqa: E402
from dmrank.torch.families import GaussianRay, StudentRay  # noqa: E402
from tests.torch.cases import FAMILIES, SCALES, differentiated, random_case  # noqa: E402


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("size", [1.0, 300.0], ids=["middle", "far tail"])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_loss_and_gradients_are_those_of_the_reference(family, size, masked, kind) -> None:
    case = random_case(size=size, missing=0.3 if masked else 0.0)
    mask = case.mask if masked else None
    kept, Sigma = case.mask.numpy(), case.sigma(kind)
    d, mean = case.difference.numpy(), case.mean.numpy()
    loss, by_mean, *by_scale = differentiated(family, case, kind, mask)

    assert_near(loss, -log_likelihood(d, mean, Sigma, family, kept))
    exact = gradients(d, mean, Sigma, family, kept)
    assert_near(by_mean, -exact.mean)
    G = exact.covariance
    expected = {
        "covariance": G,
        "scale_tril": np.tril(2 * G @ case.scales["scale_tril"].numpy()),
        "diagonal": np.diagonal(G, axis1=1, axis2=2),
    }
    for gradient in by_scale:
        assert_near(gradient, -expected[kind])


def assert_near(ours, exact, tolerance: float = 1e-10, least: float = 1.0) -> None:
    """Compare pair by pair: what is small beside the largest number of a pair may cancel."""
    ours, exact = np.asarray(ours), np.asarray(exact)
    size = np.abs(exact).reshape(len(exact), -1).max(axis=1)
    error = np.abs(ours - exact).reshape(len(exact), -1).max(axis=1)
    assert (error <= tolerance * np.maximum(size, least)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["gaussian", "student"])
@pytest.mark.parametrize("density", ["ray", "direction"])
@pytest.mark.parametrize("aspects", [1, 3, 8])
def test_loss_and_gradients_agree_with_quadrature_into_the_far_tails(
    aspects, density, family, kind
) -> None:
    cases = draw(60, aspects, torch.Generator().manual_seed(aspects))
    assert max(largest_errors(cases, family, density, kind).values()) < 1e-8


def test_degrees_of_freedom_below_1_take_the_far_end_of_the_ray_into_account() -> None:
    cases = draw(60, 3, torch.Generator().manual_seed(0))
    cases = cases._replace(eta=torch.full_like(cases.eta, 0.5), margin=0.0)
    errors = largest_errors(cases, "student", "direction", "covariance")
    assert errors["loss"] < 1e-12
    assert errors["degrees of freedom"] < 1e-9


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("family", ["gaussian", "student"])
@pytest.mark.parametrize("density", ["ray", "direction"])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_and_their_gradients_are_right(family, density, masked, kind) -> None:
    case = random_case(pairs=4, aspects=2, missing=0.3 if masked else 0.0)

    def loss(mean, factor, diagonal, eta):
        scale = {
            "covariance": factor @ factor.mT + torch.eye(2),
            "scale_tril": factor.tril() + 3 * torch.eye(2),
            "diagonal": diagonal,
        }
        scale = {kind: scale[kind]} if kind in scale else {}
        options = {"family": family, "density": density, "reduction": "none"}
        options["degrees_of_freedom"] = eta if density == "ray" else 2.7
        mask = case.mask if masked else None
        return directional_loss(mean, case.difference, mask, **scale, **options)

    # The first pair has no direction, the second keeps nothing.
    factor = case.scales["scale_tril"]
    eta = torch.tensor(2.7, dtype=torch.float64)
    tensors = (case.mean, factor, case.scales["diagonal"], eta)
    tensors = tuple(tensor.clone().requires_grad_() for tensor in tensors)
    assert torch.autograd.gradcheck(loss, tensors)
    assert torch.autograd.gradgradcheck(loss, tensors, fast_mode=True)


@pytest.mark.parametrize("eta", [0.4, 2.0, 7.3, 60.0])
def test_the_gradient_by_the_degrees_of_freedom_is_exact(eta: float) -> None:
    case = random_case(pairs=12, aspects=3, missing=0.0, size=3.0)
    learned = torch.full((12,), eta, dtype=torch.float64, requires_grad=True)
    loss = directional_loss(
        case.mean, case.difference, family="student", degrees_of_freedom=learned, reduction="sum"
    )
    loss.backward()
    assert learned.grad[0] == 0
    for pair in range(1, 12):
        exact = mpmath.diff(lambda eta, pair=pair: student_loss(case, pair, eta), eta)
        assert float(learned.grad[pair]) == pytest.approx(float(exact), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("eta", [0.7, 2.0, 7.3])
def test_degrees_of_freedom_of_a_direction_can_be_learned(eta: float) -> None:
    case = random_case(pairs=8, aspects=3, size=2.0)
    learned = torch.full((8,), eta, dtype=torch.float64, requires_grad=True)

    def loss(mean, eta):
        return directional_loss(
            mean,
            case.difference,
            case.mask,
            family="student",
            degrees_of_freedom=eta,
            density="direction",
            reduction="none",
        )

    assert torch.autograd.gradcheck(loss, (case.mean.requires_grad_(), learned))
    loss(case.mean, learned).sum().backward()
    assert learned.grad[0] == 0, "a pair without a direction"


def student_loss(case, pair: int, eta) -> mpmath.mpf:
    """Return the loss of a pair with Σ = I and margin 0.2, in many digits."""
    d = [mpmath.mpf(float(v)) for v in case.difference[pair]]
    mean = [mpmath.mpf(float(v)) for v in case.mean[pair]]
    K = len(d)
    A = sum(v * v for v in d)
    rho = sum(v * m for v, m in zip(d, mean, strict=True)) / A
    E = sum((m - rho * v) ** 2 for v, m in zip(d, mean, strict=True))
    kappa = eta + K - 1
    x = (mpmath.mpf(0.2) - rho) * mpmath.sqrt(A * kappa / (eta + E))
    tail = mpmath.betainc(kappa / 2, 0.5, 0, kappa / (kappa + x * x), regularized=True) / 2
    tail = tail if x > 0 else 1 - tail
    constant = mpmath.loggamma(kappa / 2) - mpmath.loggamma(eta / 2)
    constant -= mpmath.mpf(K - 1) / 2 * mpmath.log(mpmath.pi * eta)
    return kappa / 2 * mpmath.log(1 + E / eta) + mpmath.log(A) / 2 - mpmath.log(tail) - constant


def test_the_module_learns_degrees_of_freedom() -> None:
    case = random_case(size=4.0)
    loss = DirectionalLoss(0.2, "student", 30.0, learn_degrees_of_freedom=True)
    assert [name for name, _ in loss.named_parameters()] == ["log_degrees_of_freedom"]
    optimizer = torch.optim.SGD(loss.parameters(), lr=0.5)
    values = []
    for _ in range(5):
        optimizer.zero_grad()
        value = loss(case.mean, case.difference, case.mask)
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values == sorted(values, reverse=True)
    # Means that are far off want heavy tails.
    assert 0 < loss.degrees_of_freedom.item() < 29


def test_degrees_of_freedom_may_be_somebody_elses_parameter() -> None:
    case = random_case()
    eta = torch.nn.Parameter(torch.tensor(5.0))
    loss = DirectionalLoss(0.2, "student", eta)
    loss(case.mean, case.difference, case.mask).backward()
    assert eta.grad != 0
    assert [parameter is eta for parameter in loss.parameters()] == [True]


FAMILY_OF = {
    Gaussian: GaussianRay,
    Student: StudentRay,
    ProjectedGaussian: GaussianCone,
    ProjectedStudent: StudentCone,
}
FAR = pytest.mark.parametrize("distance", [-1e4, -100.0, 0.0, 100.0, 1e4])


@FAR
@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("family", [Gaussian(10.0), Student(4.0, 10.0)], ids=str)
def test_float32_is_stable_in_the_far_tails(family, kind, distance) -> None:
    wide = random_case(pairs=8, missing=0.0)
    wide = wide._replace(mean=distance * wide.difference / wide.difference.norm(dim=1).max())
    narrow = wide._replace(
        mean=wide.mean.float(),
        difference=wide.difference.float(),
        scales={name: scale.float() for name, scale in wide.scales.items()},
    )
    for exact, ours in zip(
        differentiated(family, wide, kind, None),
        differentiated(family, narrow, kind, None),
        strict=True,
    ):
        # float32 knows a mean of 10,000 to a thousandth, and so much of it may be off the ray.
        assert_near(ours, exact, 2e-4, least=max(1, abs(distance) / 500))


def test_differences_near_0_keep_their_gradients_in_float32() -> None:
    case = random_case(pairs=8, missing=0.0, dtype=torch.float32)
    for size in (1e-3, 1e-9, 1e-15):
        tiny = case._replace(difference=size * case.difference)
        for family in FAMILIES:
            for kind in SCALES:
                for tensor in differentiated(family, tiny, kind, None):
                    assert torch.isfinite(tensor).all()
                    assert tensor[2:].abs().amax() > 0


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_a_covariance_that_is_nearly_singular_has_finite_gradients_in_float32(family) -> None:
    case = random_case(pairs=8, missing=0.0, dtype=torch.float32)
    direction = torch.ones(4) / 2
    singular = torch.outer(direction, direction).expand(8, 4, 4) + 1e-7 * torch.eye(4)
    case = case._replace(scales={"covariance": singular})
    assert all(torch.isfinite(t).all() for t in differentiated(family, case, "covariance", None))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", SCALES)
def test_what_is_masked_is_not_looked_at(kind, dtype) -> None:
    case = random_case(dtype=dtype)
    dropped = ~case.mask
    either = dropped[:, :, None] | dropped[:, None, :]
    scales = dict(case.scales)
    scales["covariance"] = scales["covariance"].masked_fill(either, torch.nan)
    scales["diagonal"] = scales["diagonal"].masked_fill(dropped, torch.nan)
    spoilt = case._replace(
        mean=case.mean.masked_fill(dropped, torch.nan),
        difference=case.difference.masked_fill(dropped, torch.nan),
        scales=scales,
    )
    for clean, ours in zip(
        differentiated(FAMILIES[0], case, kind, case.mask),
        differentiated(FAMILIES[0], spoilt, kind, case.mask),
        strict=True,
    ):
        assert torch.equal(clean, ours)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", SCALES)
def test_a_batch_without_any_direction_gives_0_and_gradients_of_0(kind, dtype) -> None:
    case = random_case(dtype=dtype)
    mean = case.mean.clone().requires_grad_()
    scale = {name: tensor.clone().requires_grad_() for name, tensor in case.scale(kind).items()}
    for mask in (None, torch.zeros_like(case.mask)):
        difference = torch.zeros_like(case.difference) if mask is None else case.difference
        loss = directional_loss(mean, difference, mask, **scale)
        assert loss == 0
        found = torch.autograd.grad(loss, [mean, *scale.values()])
        assert all((gradient == 0).all() for gradient in found)


def test_reductions_weigh_pairs_that_have_a_direction() -> None:
    case = random_case(missing=0.0)
    weight = torch.rand(40, generator=torch.Generator().manual_seed(0))
    each = directional_loss(case.mean, case.difference, weight=weight, reduction="none")
    assert each[0] == 0
    total = directional_loss(case.mean, case.difference, weight=weight, reduction="sum")
    mean = directional_loss(case.mean, case.difference, weight=weight)
    assert torch.allclose(total, each.sum())
    assert torch.allclose(mean, total / weight[1:].sum().double())
    plain = directional_loss(case.mean, case.difference)
    assert torch.allclose(plain, directional_loss(case.mean, case.difference, reduction="sum") / 39)


def test_one_aspect_is_enough() -> None:
    mean, d = torch.tensor([[1.5]]), torch.tensor([[2.0]])
    # p(2γ) from γ = 0.2 on is half of the normal tail from 0.4 on.
    tail = 0.5 * math.erfc((0.4 - 1.5) / math.sqrt(2))
    for scale in ({}, {"covariance": torch.eye(1)}, {"scale_tril": torch.eye(1)}):
        assert float(directional_loss(mean, d, **scale)) == pytest.approx(-math.log(tail / 2))


def test_leading_dimensions_are_those_of_the_mean_and_scales_are_shared() -> None:
    case = random_case(missing=0.0)
    each = {"margin": 0.2, "reduction": "none"}
    shared = case.scales["covariance"][5].clone().requires_grad_()
    folded = directional_loss(
        case.mean.view(5, 8, 4), case.difference.view(5, 8, 4), covariance=shared, **each
    )
    flat = directional_loss(
        case.mean, case.difference, covariance=shared.detach().expand(40, 4, 4), **each
    )
    assert torch.equal(folded.view(40), flat)
    folded.sum().backward()
    assert shared.grad.shape == (4, 4)


@pytest.mark.parametrize("kind", ["covariance", "scale_tril"])
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_float32_on_the_processor_takes_the_compiled_kernels(family, kind, monkeypatch) -> None:
    case = random_case(dtype=torch.float32)
    by_kernels = differentiated(family, case, kind, None)
    monkeypatch.setattr(FAMILY_OF[type(family)], "compiled", None)
    for ours, pure in zip(by_kernels, differentiated(family, case, kind, None), strict=True):
        assert not torch.equal(ours, pure)
        assert_near(ours, pure, 1e-4)
