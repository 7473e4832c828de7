"""Data that several test modules use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dmrank import Ratings, make_hotels

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"

# Two workers on two cores: a deadline would measure the machine, not the code.
settings.register_profile(
    "dmrank", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("dmrank")


@pytest.fixture(scope="session")
def hotels() -> Ratings:
    return make_hotels(seed=0).ratings


@pytest.fixture
def shared_data() -> Path:
    """The folder with real ratings; a fresh clone does not have it."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real ratings are not beside this checkout")
    return SHARED_DATA
