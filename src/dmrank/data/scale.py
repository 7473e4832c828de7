"""The rating scale of each aspect: declared by the user, or observed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Float32s
from dmrank.support.errors import ConfigError, DataError, UnknownAspectError, did_you_mean

ScaleLike = tuple[float, float] | Mapping[str, tuple[float, float]]


def make_scale(
    declared: ScaleLike | None, blocks: Sequence[Float32s], aspects: Sequence[str]
) -> Float32s:
    """Return the K × 2 scale: what was declared, and what was observed where nothing was."""
    scale = np.empty((len(aspects), 2), dtype=np.float32)
    scale[:, 0], scale[:, 1] = np.inf, -np.inf
    for block in blocks:
        _widen(scale, block)
    scale[scale[:, 0] > scale[:, 1]] = np.nan
    if np.isinf(scale).any():
        raise DataError("a rating is infinite: ratings are finite numbers, or NaN for missing")
    for k, bounds in declared_scale(declared, aspects).items():
        scale[k] = bounds
    return scale


@cached
def _widen(scale: Float32s, values: Float32s) -> None:
    """Widen the scale of each column to its values; NaN compares as false and changes nothing."""
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            if values[row, column] < scale[column, 0]:  # noqa: PLR1730 (min would pass NaN on)
                scale[column, 0] = values[row, column]
            if values[row, column] > scale[column, 1]:  # noqa: PLR1730
                scale[column, 1] = values[row, column]


def declared_scale(
    declared: ScaleLike | None, aspects: Sequence[str]
) -> dict[int, tuple[float, float]]:
    """Return the declared bounds by the column of their aspect."""
    if declared is None:
        return {}
    named = declared if isinstance(declared, Mapping) else dict.fromkeys(aspects, declared)
    result: dict[int, tuple[float, float]] = {}
    for name, bounds in named.items():
        low, high = _pair(name, bounds)
        if name not in aspects:
            raise UnknownAspectError(
                f"scale names aspect {name!r}, which is not one; {did_you_mean(str(name), aspects)}"
            )
        if not (np.isfinite([low, high]).all() and low <= high):
            raise ConfigError(f"scale of {name!r} is ({low:g}, {high:g}): low must be below high")
        result[list(aspects).index(name)] = (float(low), float(high))
    return result


def _pair(aspect: str, bounds: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = bounds
        return float(low), float(high)
    except (TypeError, ValueError):
        raise ConfigError(
            f"scale of {aspect!r} is {bounds!r}: give the lowest and the highest rating, such as "
            "(1, 5)"
        ) from None
