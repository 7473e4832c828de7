"""Elementary functions of SIMD lanes: eˣ, ln x and ln(1 + x), to the resolution of float32."""

from __future__ import annotations

import math

from dmrank.compiled.compiling import inlined
from dmrank.compiled.lanes import Lanes, exponent_of, mantissa_of, power_of_two, where_less

# ln 2 in two parts: a product of the first with a whole number of few bits is exact.
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6
# Adding and subtracting 1.5·2²³ rounds a float32 to the nearest whole number.
_ROUNDING = 12582912.0
# exp(±87) is the range of float32, nearly.
_LARGEST_EXPONENT = 87.0


@inlined
def exp(x: Lanes) -> Lanes:
    """Return eˣ, relative error below 3e-7; x is first cut to [−87, 87]."""
    x = where_less(x, -_LARGEST_EXPONENT, -_LARGEST_EXPONENT, x)
    x = where_less(x, _LARGEST_EXPONENT, x, _LARGEST_EXPONENT)
    n = (x * (1.0 / math.log(2.0)) + _ROUNDING) - _ROUNDING
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    # (eʳ − 1 − r)/r² on |r| ≤ ½ ln 2, Chebyshev fit.
    p = r * 1.3933644342264961e-3 + 8.363175565575566e-3
    p = p * r + 4.1666464963820565e-2
    p = p * r + 1.6666577003159216e-1
    p = p * r + 5.000000013465916e-1
    return ((p * r) * r + r + 1.0) * power_of_two(n)


@inlined
def log(x: Lanes) -> Lanes:
    """Return ln x of positive normal x, absolute error below 1e-7 max(1, |ln x|)."""
    m = mantissa_of(x)
    n = exponent_of(x)
    n = where_less(m, math.sqrt(2.0), n, n + 1.0)
    f = where_less(m, math.sqrt(2.0), m, 0.5 * m) - 1.0
    # (ln(1+f) − f + f²/2)/f³ on √½ ≤ 1+f ≤ √2, Chebyshev fit.
    p = f * 7.149754055908532e-2 - 1.157120079544222e-1
    p = p * f + 1.1661511033799862e-1
    p = p * f - 1.2411050671150065e-1
    p = p * f + 1.4249936535574104e-1
    p = p * f - 1.6668480240245068e-1
    p = p * f + 2.0000707478304475e-1
    p = p * f - 2.4999989048722646e-1
    p = p * f + 3.3333331190849047e-1
    square = f * f
    return n * _LN2_HIGH + (f + (n * _LN2_LOW + (p * f * square - 0.5 * square)))


@inlined
def log1p(x: Lanes) -> Lanes:
    """Return ln(1 + x) for x ≥ 0, relative error below 3e-7."""
    rounded = 1.0 + x
    return log(rounded) - ((rounded - 1.0) - x) / rounded
