"""The families' f for a search: value, slope and curvature from one look at the special functions.

`families` states f so that it stays exact where the likelihood underflows, which a search does not
need: the exact survival function of Student's t takes thirteen times as long (1,287 µs for 512
values against 98 µs).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from dmrank.directional.families import Family, Student
from dmrank.directional.projected import ProjectedGaussian, ProjectedStudent
from dmrank.support.arrays import Codes, Floats


class RayTerms(NamedTuple):
    """f of a family, f_E, f_ρ and f_ρρ; f but for what does not depend on E and ρ."""

    value: Floats
    E: Floats
    rho: Floats
    rho_rho: Floats


def ray_terms(family: Family, E: Floats, A: Floats, rho: Floats, aspects: Codes) -> RayTerms:
    """Return what Newton's method needs of a family; see `families` for the equations."""
    if isinstance(family, ProjectedGaussian | ProjectedStudent):
        return _projected_terms(family, E, A, rho, aspects)
    if isinstance(family, Student):
        eta = family.degrees_of_freedom
        kappa = eta + aspects - 1
        stretch = np.sqrt(A * kappa / (eta + E))
        x = (family.margin - rho) * stretch
        survival = np.maximum(special.stdtr(kappa, -x), 1e-280)
        log_norm = -special.betaln(kappa / 2, 0.5) - np.log(kappa) / 2
        density = np.exp(log_norm - (kappa + 1) / 2 * np.log1p(x**2 / kappa))
        h = density / survival
        value = -(kappa + 1) / 2 * np.log1p(E / eta) + np.log(eta + E) / 2 + np.log(survival)
        slope = h * (h - (kappa + 1) * x / (kappa + x**2))
        by_E = (h * x - kappa) / (2 * (eta + E))
        return RayTerms(value, by_E, h * stretch, -slope * stretch**2)
    q = np.sqrt(2 * A)
    Z = q / 2 * (family.margin - rho)
    g = 2 / np.sqrt(np.pi) / special.erfcx(Z)
    value = -E / 2 + special.log_ndtr(-np.sqrt(2) * Z)
    return RayTerms(value, np.full(len(E), -0.5), g * q / 2, -(q**2) / 4 * g * (g - 2 * Z))


def _projected_terms(
    family: ProjectedGaussian | ProjectedStudent, E: Floats, A: Floats, rho: Floats, aspects: Codes
) -> RayTerms:
    f = family.derivatives(E, A, rho, aspects)
    moments, stretch = family.moments(E, A, rho, aspects.astype(np.float64))
    value = family.value(E, A, rho, aspects)
    return RayTerms(value, f.E, f.rho, stretch**2 * moments.curvature)
