"""Looking into all clusters is exact; looking into few finds most."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank.ranking import top_n
from dmrank.ranking.cluster_search import top_n_of_clusters
from dmrank.ranking.partition import make_partition
from dmrank.support.errors import ConfigError, DataError
from tests.ranking.questions import ITEMS, lists


def clustered(seed: int, users: int, items: int, factors: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(50, factors))

    def around(count: int) -> np.ndarray:
        noise = 0.3 * rng.normal(size=(count, factors))
        return (centres[rng.integers(50, size=count)] + noise).astype(np.float32)

    return around(users), around(items)


@given(
    seed=st.integers(0, 10_000),
    n_items=ITEMS,
    clusters=st.integers(1, 20),
    n=st.integers(1, 30),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_all_clusters_together_are_exact(
    seed: int, n_items: int, clusters: int, n: int, share: float
) -> None:
    users, items = clustered(seed, 5, n_items, factors=3)
    seen = lists(seed, 5, n_items, longest=20)
    rng = np.random.default_rng(seed)
    part, allowed = rng.random(n_items) < 0.8, rng.random(n_items) < share
    partition = make_partition(items, part, clusters)
    found = top_n_of_clusters(users, partition, clusters, n, *seen, allowed)
    expected = top_n(users, items, n, *seen, part & allowed)
    np.testing.assert_array_equal(found.items, expected.items)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_few_clusters_hold_most_of_the_best() -> None:
    users, items = clustered(0, 200, 20_000)
    seen = lists(0, 200, 20_000, longest=50)
    exact = top_n(users, items, 10, *seen)
    partition = make_partition(items)
    assert len(partition.pointer) - 1 == 425
    shares = []
    for probes in (1, 5, 23):
        found = top_n_of_clusters(users, partition, probes, 10, *seen)
        pairs = zip(found.items, exact.items, strict=True)
        shares.append(np.mean([np.isin(one, two).mean() for one, two in pairs]))
    assert shares == sorted(shares)
    assert shares[0] < 0.8
    assert shares[-1] > 0.95


def test_the_same_clusters_every_time_and_every_item_in_one() -> None:
    _, items = clustered(1, 1, 3_000)
    one, two = (make_partition(items, threads=threads) for threads in (1, 3))
    for name in ("centres", "pointer", "codes", "blocks", "reach"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert sorted(one.codes) == list(range(3_000))
    assert all(
        (np.diff(part) > 0).all() for part in np.split(one.codes, one.pointer[1:-1]) if len(part)
    )
    for place in (0, 1_234, 2_999):
        np.testing.assert_array_equal(one.vector(place), items[one.codes[place]])


def test_neither_threads_nor_company_change_a_bit() -> None:
    users, items = clustered(2, 200, 3_000)
    partition = make_partition(items)
    nothing = (np.zeros(201, int), [])
    one, two = (
        top_n_of_clusters(users, partition, 9, 10, *nothing, threads=threads) for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.items, two.items)
    np.testing.assert_array_equal(one.scores, two.scores)
    alone = top_n_of_clusters(users[[150]], partition, 9, 10, [0, 0], [])
    np.testing.assert_array_equal(alone.items[0], one.items[150])


def test_odd_sizes_are_no_reason_to_fail() -> None:
    one = make_partition([[1.0, 2.0]])
    assert top_n_of_clusters([[1.0, 1.0]], one, 5, 2, [0, 0], []).items.tolist() == [[0, -1]]
    none = make_partition([[1.0, 2.0]], mask=[False])
    assert top_n_of_clusters([[1.0, 1.0]], none, 1, 2, [0, 0], []).items.tolist() == [[-1, -1]]
    equal = make_partition(np.ones((500, 2)))
    assert (top_n_of_clusters([[1.0, 1.0]], equal, 999, 3, [0, 0], []).items >= 0).all()


def test_bad_arguments_are_refused() -> None:
    partition = make_partition([[1.0], [2.0]])
    with pytest.raises(ConfigError, match="clusters=0"):
        make_partition([[1.0]], clusters=0)
    with pytest.raises(ConfigError, match="probes=0"):
        top_n_of_clusters([[1.0]], partition, 0, 1, [0, 0], [])
    with pytest.raises(ConfigError, match="n=0"):
        top_n_of_clusters([[1.0]], partition, 1, 0, [0, 0], [])
    with pytest.raises(DataError, match="a score is NaN"):
        top_n_of_clusters([[np.nan]], partition, 1, 1, [0, 0], [])
    with pytest.raises(DataError, match="same number of columns"):
        top_n_of_clusters([[1.0, 2.0]], partition, 1, 1, [0, 0], [])
