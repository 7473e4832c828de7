"""The logistic loss of a comparison, −ln σ(x), in lanes."""

from __future__ import annotations

from dmrank.compiled.compiling import compiled
from dmrank.compiled.elementary import exp, log1p
from dmrank.compiled.lanes import Lanes, where_less


@compiled
def sign_of(difference: Lanes) -> Lanes:
    """Return 1, −1, or 0 where the aspect does not differ or is missing (NaN)."""
    return where_less(0.0, difference, 1.0, 0.0) - where_less(difference, 0.0, 1.0, 0.0)


@compiled
def logistic_loss(x: Lanes) -> Lanes:
    """Return −ln σ(x) = ln(1 + e^{−x})."""
    away = where_less(x, 0.0, -x, x)
    return where_less(x, 0.0, -x, 0.0) + log1p(exp(-away))


@compiled
def logistic_slope(x: Lanes) -> Lanes:
    """Return −∂/∂x of the loss, σ(−x)."""
    return 1.0 / (1.0 + exp(x))
