"""What the tests of several commands start from."""

from pathlib import Path

import pytest

from dmrank import Ratings, make_ratings
from dmrank.cli.prepare import write_split


@pytest.fixture(scope="module")
def hotels_file(tmp_path_factory, hotels: Ratings) -> Path:
    return hotels.write(tmp_path_factory.mktemp("cli") / "hotels.csv")


@pytest.fixture(scope="module")
def split_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of ratings, and the three parts of a split of it."""
    folder = tmp_path_factory.mktemp("ratings")
    ratings = make_ratings(80, 40, 1_600, seed=1).ratings
    ratings.write(folder / "ratings.parquet")
    write_split(ratings.split(), folder)
    return folder
