"""The rating scale of each aspect: declared by the user, or observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dmrank.errors import ConfigError, DataError, UnknownAspectError, did_you_mean

ScaleLike = tuple[float, float] | Mapping[str, tuple[float, float]]


def make_scale(
    declared: ScaleLike | None, values: NDArray[np.float32], aspects: Sequence[str]
) -> NDArray[np.float32]:
    """Return the K × 2 scale: what was declared, and what was observed where nothing was."""
    low = np.fmin.reduce(values, axis=0, initial=np.nan)
    high = np.fmax.reduce(values, axis=0, initial=np.nan)
    scale = np.column_stack([low, high]).astype(np.float32)
    if np.isinf(scale).any():
        raise DataError("a rating is infinite: ratings are finite numbers, or NaN for missing")
    for k, bounds in declared_scale(declared, aspects).items():
        scale[k] = bounds
    return scale


def declared_scale(
    declared: ScaleLike | None, aspects: Sequence[str]
) -> dict[int, tuple[float, float]]:
    """Return the declared bounds by the column of their aspect."""
    if declared is None:
        return {}
    named = declared if isinstance(declared, Mapping) else dict.fromkeys(aspects, declared)
    result: dict[int, tuple[float, float]] = {}
    for name, (low, high) in named.items():
        if name not in aspects:
            raise UnknownAspectError(
                f"scale names aspect {name!r}, which is not one; {did_you_mean(name, aspects)}"
            )
        if not (np.isfinite([low, high]).all() and low < high):
            raise ConfigError(f"scale of {name!r} is ({low:g}, {high:g}): low must be below high")
        result[list(aspects).index(name)] = (float(low), float(high))
    return result
