"""Hypothesis strategies for ratings."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from dmrank import Ratings

# Any text is an id, as long as it is not empty and can be encoded.
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
#: Ids of one type: a column has strings, signed whole numbers, or unsigned ones.
id_columns = st.sampled_from(
    [ids, st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)]
).flatmap(lambda one: st.lists(one, min_size=2, max_size=6, unique=True))
aspect_names = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=8
).filter(lambda name: name not in {"user", "item", "item_name", "timestamp"})
half_stars = st.integers(2, 10).map(lambda halves: halves / 2)


@st.composite
def ratings(
    draw: st.DrawFn, *, min_rows: int = 1, max_rows: int = 25, timestamps: bool | None = None
) -> Ratings:
    """Draw ratings with any ids, some aspects missing, and every aspect rated at least once."""
    rows = draw(st.lists(st.tuples(ids, ids), min_size=min_rows, max_size=max_rows, unique=True))
    aspects = draw(st.lists(aspect_names, min_size=1, max_size=4, unique=True))
    values = draw(
        st.lists(
            st.lists(
                half_stars | st.just(float("nan")), min_size=len(aspects), max_size=len(aspects)
            ),
            min_size=len(rows),
            max_size=len(rows),
        )
    )
    table = np.array(values, dtype=np.float32)
    table[0] = np.where(np.isnan(table[0]), 3, table[0])
    with_times = draw(st.booleans()) if timestamps is None else timestamps
    times = draw(
        st.lists(st.integers(0, 2**40), min_size=len(rows), max_size=len(rows))
        if with_times
        else st.none()
    )
    users, items = zip(*rows, strict=True)
    return Ratings.from_arrays(users, items, table, aspects=aspects, timestamps=times)
