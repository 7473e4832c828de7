"""Seeds of random numbers, as callers give them."""

from __future__ import annotations

import numpy as np

from dmrank.support.errors import ConfigError


def make_rng(seed: int) -> np.random.Generator:
    """Return random numbers of a seed, or say what a seed is.

    Examples
    --------
    >>> bool(make_rng(3).integers(10) == make_rng(3).integers(10))
    True
    >>> make_rng(-1)
    Traceback (most recent call last):
        ...
    dmrank.ConfigError: seed=-1: give a whole number from 0 on
    """
    check_seed(seed)
    return np.random.default_rng(int(seed))


def check_seed(seed: object) -> None:
    """Refuse a seed that is no whole number from 0 on."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ConfigError(f"seed={seed!r}: give a whole number from 0 on")
