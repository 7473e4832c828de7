"""Bad input is refused as PyTorch would, in a line that names the argument and both shapes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="the loss is for PyTorch, the extra neural")

import dmrank  # noqa: E402
from dmrank.torch import DirectionalLoss, directional_loss  # noqa: E402

MEAN = torch.zeros(3, 2)
DIFFERENCE = torch.ones(3, 2)
EYE = torch.eye(2).expand(3, 2, 2)
NOT_A_NUMBER = torch.tensor([[1.0, 1.0], [1.0, float("nan")], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (
            {"difference": torch.ones(3, 4)},
            ValueError,
            "mean has shape (3, 2) and difference (3, 4)",
        ),
        (
            {"difference": torch.ones(4, 2)},
            ValueError,
            "mean has shape (3, 2) and difference (4, 2)",
        ),
        (
            {"covariance": torch.eye(3)},
            ValueError,
            "(3, 2) and covariance (3, 3): give covariance as",
        ),
        ({"scale_tril": torch.ones(2)}, ValueError, "(3, 2) and scale_tril (2,)"),
        ({"diagonal": torch.ones(5, 2)}, ValueError, "(3, 2) and diagonal (5, 2)"),
        ({"weight": torch.ones(2)}, ValueError, "(3, 2) and weight (2,)"),
        ({"mask": torch.ones(3, 3, dtype=torch.bool)}, ValueError, "(3, 2) and mask (3, 3)"),
        ({"mask": torch.ones(3, 2)}, TypeError, "mask is torch.float32: give torch.bool"),
        ({"mean": torch.zeros(3, 2, dtype=int)}, TypeError, "mean is torch.int64"),
        ({"mean": [[0.0, 0.0]]}, TypeError, "mean is list: give a tensor"),
        ({"mean": torch.zeros(3, 0)}, ValueError, "mean has shape (3, 0)"),
        ({"covariance": EYE.long()}, TypeError, "covariance is torch.int64"),
        ({"covariance": EYE, "diagonal": MEAN}, ValueError, "covariance and diagonal are given"),
        ({"covariance": EYE.to("meta")}, RuntimeError, "mean is on cpu and covariance on meta"),
        ({"difference": NOT_A_NUMBER}, ValueError, "difference of pair 1 is not finite"),
        ({"mean": NOT_A_NUMBER}, ValueError, "mean of pair 1 is not finite"),
        ({"diagonal": NOT_A_NUMBER - 1}, ValueError, "diagonal of pair 0 (and of 2 more) is not"),
        ({"difference": DIFFERENCE.clone().requires_grad_()}, ValueError, "difference requires a"),
        ({"margin": -0.1}, ValueError, "margin=-0.1"),
        ({"margin": float("nan")}, ValueError, "margin=nan"),
        ({"family": "cauchy"}, ValueError, "family='cauchy': give 'gaussian' or 'student'"),
        ({"reduction": "max"}, ValueError, "reduction='max'"),
        ({"degrees_of_freedom": 0.0, "family": "student"}, ValueError, "degrees_of_freedom=0.0"),
        (
            {"degrees_of_freedom": torch.tensor([1.0, 2.0, -1.0]), "family": "student"},
            ValueError,
            "degrees_of_freedom of pair 2 are not above 0",
        ),
        (
            {"degrees_of_freedom": torch.ones(4), "family": "student"},
            ValueError,
            "(3, 2) and degrees_of_freedom (4,)",
        ),
    ],
)
def test_an_error_names_what_is_wrong(arguments, error, said) -> None:
    with pytest.raises(error, match=re.escape(said)) as caught:
        directional_loss(**{"mean": MEAN, "difference": DIFFERENCE} | arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "wrong", [-torch.eye(2), torch.zeros(2, 2), torch.tensor([[1.0, 2.0], [2.0, 1.0]])]
)
def test_a_covariance_that_is_not_positive_definite_is_named(wrong, dtype) -> None:
    covariance = torch.eye(2, dtype=dtype).repeat(3, 1, 1)
    covariance[2] = wrong
    for broken in (covariance, covariance.masked_fill(covariance == 2, torch.nan)):
        with pytest.raises(ValueError, match="covariance of pair 2 is not positive definite"):
            directional_loss(MEAN.to(dtype), DIFFERENCE.to(dtype), covariance=broken)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_factor_with_0_on_its_diagonal_is_named(dtype) -> None:
    root = torch.eye(2, dtype=dtype).repeat(3, 1, 1)
    root[1, 0, 0] = 0
    with pytest.raises(ValueError, match="scale_tril of pair 1"):
        directional_loss(MEAN.to(dtype), DIFFERENCE.to(dtype), scale_tril=root)


def test_whole_numbers_are_differences_too() -> None:
    whole = directional_loss(MEAN, DIFFERENCE.long())
    assert whole == directional_loss(MEAN, DIFFERENCE)


def test_the_module_refuses_at_once() -> None:
    with pytest.raises(ValueError, match="margin=-1"):
        DirectionalLoss(margin=-1)
    with pytest.raises(ValueError, match="learn_degrees_of_freedom=True: give family='student'"):
        DirectionalLoss(learn_degrees_of_freedom=True)
    assert "family='student', degrees_of_freedom=4.0" in str(DirectionalLoss(family="student"))


def test_pytorch_is_imported_when_a_name_is_used_and_not_before() -> None:
    code = (
        "import sys, dmrank; dmrank.torch\n"
        "assert 'torch' not in sys.modules\n"
        "dmrank.torch.DirectionalLoss\n"
        "assert 'torch' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_pytorch_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(dmrank.MissingExtraError, match=r"dmrank\[neural\]"):
        dmrank.torch.DirectionalLoss  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'Loss'"):
        dmrank.torch.Loss  # noqa: B018


def test_a_density_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="density='cone': give 'ray' or 'direction'"):
        DirectionalLoss(density="cone")
