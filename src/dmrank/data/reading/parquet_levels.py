"""Definition levels of a parquet page: which of its values are there, and which are null."""

from __future__ import annotations


def count_present(levels: bytes, values: int) -> int | None:
    """Return how many of the first values are there, None if the levels are not those of so many.

    Levels are 0 or 1 in runs: of one level that is repeated, or of bytes with a level in each bit.

    Examples
    --------
    >>> count_present(bytes([0b1010, 1, 0b11, 0b00000101]), 8)  # five times 1, then bits
    7
    >>> count_present(bytes([0b1010, 1]), 8)
    """
    at = seen = present = 0
    while seen < values:
        run = shift = 0
        while True:
            if at >= len(levels) or shift > 63:
                return None
            run |= (levels[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if levels[at - 1] < 128:
                break
        length = run >> 1
        if run & 1:
            bits = int.from_bytes(levels[at : at + length], "little")
            taken = min(8 * min(length, len(levels) - at), values - seen)
            present += (bits & ((1 << taken) - 1)).bit_count()
            at += length
        else:
            if at >= len(levels) or levels[at] > 1:
                return None
            taken = min(length, values - seen)
            present += taken * levels[at]
            at += 1
        if not taken:
            return None
        seen += taken
    return present
