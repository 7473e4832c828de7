"""The families of the density of a direction, for tensors: what `directional.projected` states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from dmrank.directional.families import Family
from dmrank.directional.projected import ProjectedGaussian, ProjectedStudent
from dmrank.torch.families import Derivatives
from dmrank.torch.moments import Moments, log_first, moments

# The tables of the kernels are good for so many aspects.
_MOST_COMPILED = 16


@dataclass(frozen=True)
class GaussianCone:
    """The normal distribution in the cone of a direction, from the margin ξ on.

    ``most`` is the largest number of aspects.
    """

    margin: float
    most: int
    knows_eta: ClassVar[bool] = False

    @property
    def compiled(self) -> Family | None:
        """The same family for the compiled kernels."""
        return ProjectedGaussian(self.margin) if self.most <= _MOST_COMPILED else None

    def value(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Tensor:
        """Return −½E − (K/2) ln 2πA + ln J_{K−1}."""
        del eta
        root = torch.sqrt(A)
        log_integral = self._moments(root, rho, aspects).log_share
        log_integral = log_integral + log_first((rho - self.margin) * root, None)
        return log_integral - 0.5 * (E + aspects * torch.log(2 * math.pi * A))

    def derivatives(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Derivatives:
        """Return f_E = −½, f_A = −(K − D)/(2A), f_ρ = √A J_m/J, with D = mJ_m/J + aJ_a/J."""
        del eta
        root = torch.sqrt(A)
        found = self._moments(root, rho, aspects)
        D = root * (rho * found.slope - self.margin * found.edge)
        by_A = 0.5 * (D - aspects) / A
        return Derivatives(torch.full_like(E, -0.5), by_A, root * found.slope, None)

    def _moments(self, stretch: Tensor, rho: Tensor, aspects: Tensor) -> Moments:
        x, a = (rho - self.margin) * stretch, self.margin * stretch
        return moments(x, a, aspects - 1, None, self.most - 1)


@dataclass(frozen=True)
class StudentCone:
    """The t distribution with η degrees of freedom, fixed or (None) a tensor, in a cone.

    Lengths are in units of √κ, κ = η + K − 1. ``most`` is the largest number of aspects.
    """

    margin: float
    degrees_of_freedom: float | None
    most: int
    knows_eta: ClassVar[bool] = False

    @property
    def compiled(self) -> Family | None:
        """The same family for the compiled kernels; their tables are good from κ = 1 on."""
        eta = self.degrees_of_freedom
        is_known = eta is not None and eta >= 1 and self.most <= _MOST_COMPILED
        return ProjectedStudent(eta, self.margin) if is_known and eta is not None else None

    def value(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Tensor:
        """Return −((η+K)/2) ln(1+E/η) − (K/2) ln(Aκ/(η+E)) + ln J_{K−1} and the constant."""
        eta, kappa, stretch = self._units(E, A, aspects, eta)
        log_integral = self._moments(stretch, rho, aspects, kappa).log_share
        log_integral = log_integral + log_first((rho - self.margin) * stretch, kappa)
        off_ray = -0.5 * (kappa + 1) * torch.log1p(E / eta)
        constant = torch.lgamma(0.5 * (kappa + 1)) - torch.lgamma(0.5 * eta)
        constant = constant - 0.5 * aspects * torch.log(math.pi * eta)
        return off_ray - aspects * torch.log(stretch) + log_integral + constant

    def derivatives(
        self, E: Tensor, A: Tensor, rho: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> Derivatives:
        """Return f_E = −(η + D)/(2(η+E)), f_A = −(K − D)/(2A), f_ρ = J_m/(Jβ)."""
        eta, kappa, stretch = self._units(E, A, aspects, eta)
        found = self._moments(stretch, rho, aspects, kappa)
        D = stretch * (rho * found.slope - self.margin * found.edge)
        by_E = -0.5 * (eta + D) / (eta + E)
        return Derivatives(by_E, 0.5 * (D - aspects) / A, stretch * found.slope, None)

    def _units(
        self, E: Tensor, A: Tensor, aspects: Tensor, eta: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return η, κ and √κ/β."""
        eta = torch.full_like(E, self.degrees_of_freedom or 0.0) if eta is None else eta
        kappa = eta + aspects - 1
        return eta, kappa, torch.sqrt(A * kappa / (eta + E))

    def _moments(self, stretch: Tensor, rho: Tensor, aspects: Tensor, kappa: Tensor) -> Moments:
        x, a = (rho - self.margin) * stretch, self.margin * stretch
        return moments(x, a, aspects - 1, kappa, self.most - 1)
