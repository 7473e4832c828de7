"""The families of the criterion for tensors: f(E, A, ρ) with its constant, and its derivatives.

What `directional.families` states in NumPy, made of functions that can be differentiated again. A
density along the ray is all that a family is to the loss: another one is another `RayFamily`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from dmrank.directional.families import Family, Gaussian, Student
from dmrank.torch.survival import (
    normal_hazard,
    normal_log_survival,
    student_hazard,
    student_log_survival,
    student_log_survival_by_kappa,
)


class Derivatives(NamedTuple):
    """The partial derivatives of the log-likelihood by E, A, ρ and, if they are learned, η."""

    E: Tensor
    A: Tensor
    rho: Tensor
    eta: Tensor | None


class RayFamily(Protocol):
    """What the loss asks of a family; tensors have one entry per pair.

    ``aspects`` is K, the number of aspects that a pair keeps, and ``eta`` the degrees of freedom
    where they are a tensor.
    """

    @property
    def knows_eta(self) -> bool:
        """Whether `derivatives` has that by η, where it is a tensor."""

    @property
    def compiled(self) -> Family | None:
        """The same family for the compiled kernels, if they know it."""

    def value(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Tensor:
        """Return f(E, A, ρ) and its constant: all of the log-likelihood but −½ ln|Σ|."""

    def derivatives(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Derivatives:
        """Return f_E, f_A, f_ρ and f_η."""


@dataclass(frozen=True)
class GaussianRay:
    """The normal distribution, from the margin ξ on: x = (ξ − ρ)√A."""

    margin: float
    knows_eta: ClassVar[bool] = False

    @property
    def compiled(self) -> Family | None:
        """The same family for the compiled kernels."""
        return Gaussian(self.margin)

    def value(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Tensor:
        """Return −½E − ½ ln A + ln(1 − Φ(x)) + ((1 − K)/2) ln 2π."""
        del eta
        x = (self.margin - rho) * torch.sqrt(A)
        constant = 0.5 * math.log(2 * math.pi) * (1 - aspects)
        return normal_log_survival(x) - 0.5 * (E + torch.log(A)) + constant

    def derivatives(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Derivatives:
        """Return f_E = −½, f_A = −(1 + hx)/(2A), f_ρ = h√A."""
        del aspects, eta
        root = torch.sqrt(A)
        x = (self.margin - rho) * root
        h = normal_hazard(x)
        return Derivatives(torch.full_like(E, -0.5), -0.5 * (1 + h * x) / A, h * root, None)


@dataclass(frozen=True)
class StudentRay:
    """The t distribution with η degrees of freedom, fixed or (None) a tensor: κ = η + K − 1."""

    margin: float
    degrees_of_freedom: float | None
    knows_eta: ClassVar[bool] = True

    @property
    def compiled(self) -> Family | None:
        """The same family for the compiled kernels; their tables are good from κ = 1 on."""
        eta = self.degrees_of_freedom
        return Student(eta, self.margin) if eta is not None and eta >= 1 else None

    def value(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Tensor:
        """Return −(κ/2) ln(1+E/η) − ½ ln A + ln(1 − T_κ(x)) and the constant."""
        eta = self._eta(E, eta)
        kappa = eta + aspects - 1
        x = (self.margin - rho) * torch.sqrt(A * kappa / (eta + E))
        off_ray = -0.5 * kappa * torch.log1p(E / eta)
        constant = _student_constant(eta.double(), aspects).to(E.dtype)
        return off_ray - 0.5 * torch.log(A) + student_log_survival(x, kappa) + constant

    def derivatives(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Derivatives:
        """Return f_E = (hx − κ)/(2(η+E)), f_A = −(1 + hx)/(2A), f_ρ = h√(Aκ/(η+E)), and f_η."""
        learned, eta = eta is not None, self._eta(E, eta)
        kappa = eta + aspects - 1
        stretch = torch.sqrt(A * kappa / (eta + E))
        x = (self.margin - rho) * stretch
        h = student_hazard(x, kappa)
        by_E = 0.5 * (h * x - kappa) / (eta + E)
        by_eta = None
        if learned:
            of_constant = _student_constant_by_eta(eta.double(), aspects).to(E.dtype)
            off_ray = 0.5 * (kappa * E / (eta * (eta + E)) - torch.log1p(E / eta))
            along_ray = -0.5 * h * x * (1 / kappa - 1 / (eta + E))
            by_kappa = student_log_survival_by_kappa(x, kappa)
            by_eta = of_constant + off_ray + along_ray + by_kappa
        return Derivatives(by_E, -0.5 * (1 + h * x) / A, h * stretch, by_eta)

    def _eta(self, E: Tensor, eta: Tensor | None) -> Tensor:
        return torch.full_like(E, self.degrees_of_freedom or 0.0) if eta is None else eta


def _student_constant(eta: Tensor, aspects: Tensor) -> Tensor:
    """Return ln Γ(κ/2) − ln Γ(η/2) − ((K−1)/2) ln(ηπ)."""
    gammas = torch.lgamma(0.5 * (eta + aspects - 1)) - torch.lgamma(0.5 * eta)
    return gammas - 0.5 * (aspects - 1) * torch.log(math.pi * eta)


def _student_constant_by_eta(eta: Tensor, aspects: Tensor) -> Tensor:
    gammas = torch.digamma(0.5 * (eta + aspects - 1)) - torch.digamma(0.5 * eta)
    return 0.5 * (gammas - (aspects - 1) / eta)
