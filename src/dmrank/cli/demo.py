"""`dmrank demo`: what dmrank does, on synthetic hotels."""

from __future__ import annotations

from pathlib import Path

from dmrank.cli.output import console
from dmrank.cli.stats import draw, print_statistics
from dmrank.statistics import describe
from dmrank.synthetic import make_hotels


def run(out: Path, seed: int) -> None:
    """Make hotels and guests, describe their ratings, and draw them."""
    screen = console()
    screen.print("Guests rate hotels on eight aspects (synthetic, so that the truth is known).")
    ratings = make_hotels(seed=seed).ratings
    statistics = describe(ratings)
    print_statistics(statistics)
    ratings.write(out / "hotels.parquet")
    draw(ratings, statistics, out / "ratings.png")
    screen.print(f"Wrote {out / 'hotels.parquet'} and {out / 'ratings.png'}.")
