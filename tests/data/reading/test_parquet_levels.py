"""Levels of parquet pages: those that were written are counted, too few are refused."""

from hypothesis import given
from hypothesis import strategies as st

from dmrank.data.reading.parquet_levels import count_present

_REPEATED = st.tuples(st.integers(1, 300), st.sampled_from([0, 1]))
_BITS = st.lists(st.integers(0, 255), min_size=1, max_size=4)


def _varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128, *_varint(value >> 7)])


def _written(runs: list[tuple[int, int] | list[int]]) -> tuple[bytes, list[int]]:
    """Return the bytes of runs, and the levels that they stand for."""
    data, levels = b"", []
    for run in runs:
        if isinstance(run, tuple):
            count, level = run
            data += _varint(count << 1) + bytes([level])
            levels += [level] * count
        else:
            data += _varint(len(run) << 1 | 1) + bytes(run)
            levels += [byte >> bit & 1 for byte in run for bit in range(8)]
    return data, levels


@given(st.lists(_REPEATED | _BITS, max_size=6), st.floats(0, 1))
def test_levels_are_those_of_their_runs(
    runs: list[tuple[int, int] | list[int]], cut: float
) -> None:
    data, levels = _written(runs)
    values = int(cut * len(levels))
    assert count_present(data, values) == sum(levels[:values])
    assert count_present(data, len(levels) + 1) is None


@given(st.binary(max_size=20), st.integers(0, 200))
def test_other_bytes_are_counted_or_refused(data: bytes, values: int) -> None:
    present = count_present(data, values)
    assert present is None or 0 <= present <= values
