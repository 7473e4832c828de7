"""Sums over rows: cut in any way, they have the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.training.sums import add_up, blocks_of, for_parts, pieces, stacked, total, whole_blocks


@given(st.integers(0, 500), st.integers(1, 9), st.integers(1, 90), st.integers(1, 64))
def test_pieces_cover_every_row_once_in_order(rows: int, parts: int, most: int, block: int) -> None:
    counts = np.random.default_rng(rows).integers(0, 9, rows)
    weights = np.concatenate([[0], np.cumsum(counts)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dmrank.training.sums.BLOCK", block)
        for own in (weights, None):
            cut = list(pieces(rows, parts, own, most))
            covered = [row for piece in cut for row in range(piece.rows.start, piece.rows.stop)]
            assert covered == list(range(rows))
            assert all(piece.rows.start // block == piece.block for piece in cut)
            for piece in cut:
                size = np.diff(piece.bounds if own is None else own[piece.bounds])
                assert size.sum() <= most or len(size) == 1


@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 50))
def test_a_sum_does_not_depend_on_the_pieces(rows: int, parts: int, most: int) -> None:
    values = np.random.default_rng(rows).lognormal(sigma=8, size=rows)

    def sums_of(cut: list) -> list[np.ndarray]:
        found = []
        for piece in cut:
            own = np.zeros(len(piece.bounds) - 1)

            def add(part: tuple[int, int, int], own: np.ndarray = own) -> None:
                own[part[2]] = values[part[0] : part[1]].sum()

            for_parts(add, piece, threads=1)
            found.append(own)
        return found

    whole = stacked(sums_of(list(whole_blocks(rows, parts))), parts).sum()
    assert stacked(sums_of(list(pieces(rows, parts, None, most))), parts).sum() == whole


def test_up_to_a_block_a_sum_is_that_of_numpy() -> None:
    values = np.random.default_rng(0).lognormal(sigma=8, size=65_536)
    assert total(values) == float(values.sum())
    twice = np.concatenate([values, values[:100]])
    assert total(twice) == float(values.sum()) + float(values[:100].sum())
    assert len(blocks_of(len(twice))) == 2
    assert add_up([np.ones(2), np.ones(2)]).tolist() == [2.0, 2.0]
