"""What is counted, over all workers, in the format of Prometheus.

Imported by workers alone: prometheus-client looks at its folder when it is imported.
"""

from __future__ import annotations

import os
from pathlib import Path

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
#: prometheus-client has decided so by now; else it counts in this process alone.
_OVER_WORKERS = FOLDER_VARIABLE in os.environ
MEDIA_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

requests = Histogram(
    "dmrank_request_seconds",
    "Time to an answer; their count is that of requests.",
    ["method", "route", "status"],
    buckets=_SECONDS,
)
batches = Histogram(
    "dmrank_lists_at_once", "Lists in one ranking.", buckets=(1, 2, 4, 8, 16, 32, 64)
)
folded = Counter("dmrank_folded_in", "Users that were folded in.")
reloads = Counter("dmrank_reloads", "Models that were opened.", ["result"])
store_failures = Counter("dmrank_store_failures", "Times that ratings could not be reached.")
answering = Gauge(
    "dmrank_answering", "Requests that are being answered.", multiprocess_mode="livesum"
)


def collected() -> bytes:
    """Return everything that the workers have counted; of those that are gone, too."""
    if not _OVER_WORKERS:
        return generate_latest()
    _forget_what_the_dead_do()
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _forget_what_the_dead_do() -> None:
    for file in Path(os.environ[FOLDER_VARIABLE]).glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid)  # type: ignore[no-untyped-call]
