"""The survival functions of both families, in SIMD lanes.

The survival function S of the standard normal and of Student's t with κ degrees of freedom have
one form. With w = (1 + x²/κ)^{−½}, P = w^κ and x̃ = x w (normal, κ = ∞: w = 1, P = e^{−x²/2},
x̃ = x), the density is c w P and, for x ≥ 0,

    S(x) = c P m(x̃)        with m = w/h, h the hazard density/S: Mills' ratio, scaled by w

where m neither underflows nor cancels. (√(2/π) + x̃) m(x̃) is a polynomial of degree 10 in
(x̃ − 3)/(x̃ + 3) to a relative 1e-7 for every κ ≥ 1, the resolution of float32. A row of the
`family_table` holds it, and the constants of the family, for each number of kept aspects.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy import special

from dmrank.compiled.compiling import inlined
from dmrank.compiled.elementary import exp, log, log1p
from dmrank.compiled.lanes import Lanes, load, spread, sqrt, where_less
from dmrank.compiled.transpose import padded
from dmrank.directional.families import Family, Student, erfc_hazard, student_hazard
from dmrank.support.arrays import Float32s, Floats

# Columns of the family table; the coefficients of the polynomial follow, the highest first.
KAPPA, LOG_DENSITY, CONSTANT, COEFFICIENTS = range(4)
_DEGREE = 10
_LAST_COEFFICIENT = COEFFICIENTS + _DEGREE
TABLE_COLUMNS = padded(_LAST_COEFFICIENT + 1)

_CENTRE = 3.0
_SHIFT = math.sqrt(2 / math.pi)


@inlined
def hazard_and_log_survival(x: Lanes, is_gaussian: bool, table: Float32s) -> tuple[Lanes, Lanes]:
    """Return h(x) = density/S(x) and ln S(x) of the family whose constants ``table`` holds.

    Parameters
    ----------
    x
        Where to evaluate, |x| < 1e18.
    is_gaussian
        Whether κ is infinite.
    table
        Rows of the `family_table`, one per lane, transposed: (`TABLE_COLUMNS`, `LANES`).
    """
    square = x * x
    if is_gaussian:
        w = spread(1.0)
        log_P = -0.5 * square
    else:
        kappa = load(table, KAPPA)
        ratio = square / kappa
        w = 1.0 / sqrt(1.0 + ratio)
        log_P = -0.5 * kappa * log1p(ratio)
    right = where_less(x, 0.0, -x, x) * w
    v = (right - _CENTRE) / (right + _CENTRE)
    p = load(table, COEFFICIENTS)
    for power in range(COEFFICIENTS + 1, _LAST_COEFFICIENT + 1):
        p = p * v + load(table, power)
    m = p / (right + _SHIFT)
    log_scale = load(table, LOG_DENSITY) + log_P
    scale = exp(log_scale)
    # 1 − S(−x), which is S(x) where x < 0 and at least ½ there.
    mirrored = 1.0 - scale * m
    hazard = where_less(x, 0.0, scale * w / mirrored, w / m)
    log_survival = where_less(x, 0.0, 0.0, log_scale) + log(where_less(x, 0.0, mirrored, m))
    return hazard, log_survival


def family_table(family: Family, aspects: int) -> Float32s:
    """Return the constants of a family, row k those of a pair that keeps k aspects.

    Parameters
    ----------
    family
        `Gaussian` or `Student`; its margin has no part in the table.
    aspects
        K, the number of aspects.

    Returns
    -------
    array of shape (K + 1, `TABLE_COLUMNS`)
        Row 0 (nothing kept) repeats row 1: it is never used but must be finite.

    Examples
    --------
    >>> from dmrank.directional.families import Student
    >>> family_table(Student(degrees_of_freedom=4.0), aspects=3)[:, KAPPA].tolist()
    [4.0, 4.0, 5.0, 6.0]
    """
    table = np.zeros((aspects + 1, TABLE_COLUMNS), dtype=np.float32)
    for row in range(aspects + 1):
        kept = max(row, 1)
        if isinstance(family, Student):
            eta = family.degrees_of_freedom
            kappa = eta + kept - 1
            log_density = float(-special.betaln(kappa / 2, 0.5)) - math.log(kappa) / 2
            # f holds ½ ln((η+E)/A), the lanes −½ ln A − ½ ln(1+E/η): ½ ln η is left.
            constant = family.constant(kept) + math.log(eta) / 2
        else:
            kappa = math.inf
            log_density = -math.log(2 * math.pi) / 2
            # f holds −½ ln(2A) + ln erfc(Z), the lanes −½ ln A + ln S(x) with erfc = 2S.
            constant = family.constant(kept) + math.log(2) / 2
        table[row, KAPPA] = kappa
        table[row, LOG_DENSITY] = log_density
        table[row, CONSTANT] = constant
        table[row, COEFFICIENTS : _LAST_COEFFICIENT + 1] = _mills_coefficients(kappa)
    return table


def _mills_coefficients(kappa: float) -> Floats:
    """Return the polynomial of (√(2/π) + x̃) m(x̃) in v = (x̃ − 3)/(x̃ + 3), highest power first."""
    end = 1.0 if math.isinf(kappa) else (math.sqrt(kappa) - _CENTRE) / (math.sqrt(kappa) + _CENTRE)

    def scaled_mills(v: Floats) -> Floats:
        right = _CENTRE * (1 + v) / (1 - v)
        if math.isinf(kappa):
            return (_SHIFT + right) * math.sqrt(2) / erfc_hazard(right / math.sqrt(2))
        w = np.sqrt(1 - right**2 / kappa)
        return (_SHIFT + right) * w / student_hazard(right / w, kappa)

    interpolant = Chebyshev.interpolate(scaled_mills, _DEGREE, domain=[-1.0, end])
    coefficients = interpolant.convert(kind=Polynomial).coef
    return np.asarray(coefficients[::-1], dtype=np.float64)
