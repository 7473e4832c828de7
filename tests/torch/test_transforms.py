"""The loss inside of what PyTorch does with functions: compile, vmap, autocast."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the loss is for PyTorch, the extra neural")

from dmrank.torch import DirectionalLoss, directional_loss  # noqa: E402
from tests.torch.cases import FAMILIES, SCALES, differentiated, loss_of, random_case  # noqa: E402


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_vmap_and_func_grad_agree_with_a_batch(family, kind, dtype) -> None:
    case = random_case(dtype=dtype)
    scale = case.scale(kind)

    def of_pair(mean, difference, mask, *scales):
        return loss_of(family, mean, difference, mask, **dict(zip(scale, scales, strict=True)))

    pairs = (case.mean, case.difference, case.mask, *scale.values())
    loss, by_mean, *_ = differentiated(family, case, kind, case.mask)
    near = {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(torch.vmap(of_pair)(*pairs), loss, **near)
    mapped = torch.vmap(torch.func.grad(of_pair))(*pairs)
    torch.testing.assert_close(mapped, by_mean, **near)


def test_vmap_shares_what_is_not_mapped() -> None:
    case = random_case(missing=0.0)
    sigma = case.scales["covariance"][3]
    mapped = torch.vmap(lambda mean: directional_loss(mean, case.difference[3], covariance=sigma))(
        case.mean
    )
    each = directional_loss(
        case.mean, case.difference[3].expand(40, 4), covariance=sigma, reduction="none"
    )
    torch.testing.assert_close(mapped, each)


# Inductor agrees as well (docs/torch.md); it takes a minute to compile these on a slow machine.
@pytest.mark.filterwarnings("ignore:.*autograd.function.Function.*should not be instantiated")
@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_a_compiled_step_is_one_graph_and_agrees(family) -> None:
    case = random_case(pairs=6, aspects=2, dtype=torch.float32)
    loss = DirectionalLoss(family=family)
    results = []
    for function in (loss, torch.compile(loss, backend="aot_eager", fullgraph=True)):
        mean = case.mean.clone().requires_grad_()
        sigma = case.scales["covariance"].clone().requires_grad_()
        value = function(mean, case.difference, case.mask, covariance=sigma)
        value.backward()
        results.append((value.detach(), mean.grad, sigma.grad))
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32(half) -> None:
    case = random_case(dtype=torch.float32)
    mean = case.mean.to(half).requires_grad_()
    root = case.scales["scale_tril"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = directional_loss(mean, case.difference.to(half), case.mask, scale_tril=root)
        loss.backward()
    exact = directional_loss(
        case.mean.to(half).float(), case.difference, case.mask, scale_tril=root
    )
    assert loss.dtype == torch.float32
    assert loss == exact
    assert mean.grad.dtype == half
