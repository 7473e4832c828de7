"""How learned correlations follow planted ones as users and items get more ratings.

    python -m benchmarks.recovery [--record]

Ratings are drawn from the model itself (K = 4, choice by popularity alone), and DMR learns from
rated pairs. Over all users or items: the correlation of the learned off-diagonal correlations with
the planted ones.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.directional.packing import unpack

ASPECTS = ["overall", "a", "b", "c"]
#: Users, items and ratings.
SIZES = ((300, 100, 5_000), (300, 100, 20_000), (300, 300, 60_000), (600, 600, 240_000))
_TABLE = "{:>18}{:>10}{:>8}{:>8}{:>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_record_option(parser)
    arguments = parser.parse_args()
    print(_TABLE.format("ratings per user", "per item", "Σ_u", "Σ_i", "Σ_ui"))
    rows = []
    for sizes in SIZES:
        rows.append(recover(*sizes))
        print(_TABLE.format(*rows[-1].values()), flush=True)
    if arguments.record:
        write_record("recovery", as_called("recovery"), rows)


def recover(users: int, items: int, ratings: int) -> dict[str, str]:
    """Plant covariances, learn them, and compare."""
    synthetic = dmrank.make_ratings(
        users, items, ratings, taste=0.0, concentration=14, aspects=ASPECTS, seed=6
    )
    model = dmrank.DMR(iterations=5_000, rated_share=1.0, prior_strength=6)
    model.fit(synthetic.ratings)
    truth, size = synthetic.truth, len(ASPECTS)
    by_user = unpack(model.arrays["user_covariances"], size)
    by_item = unpack(model.arrays["item_covariances"], size)
    u, i = synthetic.ratings.user_codes, synthetic.ratings.item_codes
    pairs = {
        "Σ_u": (by_user, truth.user_covariances),
        "Σ_i": (by_item, truth.item_covariances),
        "Σ_ui": ((by_user[u] + by_item[i]) / 2, truth.covariance(u, i)),
    }
    found = {name: f"{_agreement(*pair):.2f}" for name, pair in pairs.items()}
    return {
        "ratings per user": f"{ratings / users:.0f}",
        "per item": f"{ratings / items:.0f}",
        **found,
    }


def _agreement(learned: NDArray[np.float32], planted: NDArray[np.float32]) -> float:
    off = ~np.eye(learned.shape[1], dtype=bool)
    one, other = (_correlations(matrices)[:, off].ravel() for matrices in (learned, planted))
    return float(np.corrcoef(one, other)[0, 1])


def _correlations(covariances: NDArray[np.float32]) -> NDArray[np.float32]:
    deviation = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return covariances / (deviation[:, :, None] * deviation[:, None, :])


if __name__ == "__main__":
    main()
