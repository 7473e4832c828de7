"""`dmrank demo`: what dmrank does, on hotels whose truth is known."""

import re
from pathlib import Path

import pytest

from tests.cli.running import run


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = run("demo", "--out", folder)
    assert result.returncode == 0, result.stderr
    return result.stdout, folder


def test_demo_shows_statistics_and_writes_its_files(demo) -> None:
    shown, folder = demo
    assert "60,000" in shown
    assert {file.name for file in folder.iterdir()} == {
        "hotels.parquet", "hotels.dmrank", "ratings.png", "recovery.png", "training.png",
        "comparison.png", "correlations.png", "profile.png",
    }  # fmt: skip


def test_demo_recovers_the_planted_order_better_than_item_means(demo) -> None:
    shown, _ = demo
    rows = re.findall(r"(\w+) +(\d+\.\d)% +(\d+\.\d)%", shown.split("Planted order")[1])
    assert len(rows) == 8
    assert all(float(ours) > float(plain) and float(ours) > 80 for _, ours, plain in rows)
