"""`dmrank demo`: what dmrank does, on hotels whose truth is known."""

import re
from pathlib import Path

import pytest

import dmrank
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
        "hotels.parquet", "hotels.dmrank", "ratings.png", "recovery.png", "preference.png",
        "directions.png", "comparison.png", "correlations.png", "profile.png",
    }  # fmt: skip


def test_demo_recovers_the_planted_order_better_than_item_means(demo) -> None:
    shown, _ = demo
    rows = re.findall(r"(\w+) +(\d+\.\d)% +(\d+\.\d)%", shown.split("Planted order")[1])
    assert len(rows) == 8
    assert all(float(ours) > float(plain) and float(ours) > 65 for _, ours, plain in rows)


def test_demo_lists_by_aspect_differ_the_more_preference_they_have(demo) -> None:
    shown, folder = demo
    model = dmrank.load(folder / "hotels.dmrank")
    assert isinstance(model, dmrank.Hurdle)
    assert model.preference < 1
    guest, differing = model.catalogue.users[12], []
    for share in (model.preference, 1.0):
        table = shown.split(f"Lists of {guest} by aspect, {share:.0%} preference")[1]
        listed = table.split("Over all guests")[0]
        for name in model.recommend(guest, n=5, by="value", preference=share)["item_name"]:
            assert name in listed
        differing.append(float(re.search(r"Over all guests, (\d\.\d) of the 5", table)[1]))
    assert differing[0] < differing[1]
