"""What the tests of several commands start from."""

from pathlib import Path

import pytest

from dmrank import Ratings


@pytest.fixture(scope="module")
def hotels_file(tmp_path_factory, hotels: Ratings) -> Path:
    return hotels.write(tmp_path_factory.mktemp("cli") / "hotels.csv")
