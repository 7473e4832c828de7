"""A Ray cluster of real processes: a head without a CPU, and three nodes of one CPU each."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest

#: Bytes of the object store of each node.
STORE = 100 << 20

#: A node that is gone is noticed after three seconds, not after fifteen.
NOTICED_SOON = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1_000,
    "health_check_timeout_ms": 1_000,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="package")
def ray_cluster() -> Iterator[Any]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    head = {
        "num_cpus": 0,
        "include_dashboard": False,
        "object_store_memory": STORE,
        "_system_config": NOTICED_SOON,
    }
    made = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(3):
        add_node(made)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False, logging_level=logging.ERROR)
    yield made
    ray.shutdown()
    made.shutdown()


def add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=STORE, wait=False)
