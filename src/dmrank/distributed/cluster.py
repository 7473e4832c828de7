"""`dmrank.cluster`: let the calls of a block of code use the workers of a Ray cluster."""

# mypy: disable-error-code="no-untyped-call"
# Half of Ray's functions carry no annotations.
from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from dmrank.support.errors import ClusterError, ConfigError
from dmrank.support.extras import require
from dmrank.support.targets import check_folder
from dmrank.support.terminal import printable
from dmrank.support.workers import use_workers

#: Bytes for what nodes of a cluster on this machine hand to each other.
_OBJECT_STORE: Final = 256 << 20
#: Seconds within which an address has to answer.
_PATIENCE: Final = 10


@contextmanager
def cluster(where: str = "auto", *, folder: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Run the calls within the block on a Ray cluster: the same results, bit for bit.

    `evaluate`, `tune`, `extract_aspects`, and the fit of models that are made of others use its
    workers; everything else runs here as ever. See docs/cluster.md.

    Parameters
    ----------
    where : str
        ``"auto"``: the cluster that runs on this machine or that ``RAY_ADDRESS`` names, or the one
        that this process is connected to. ``"local:4"``: one of four workers on this machine, which
        ends with the block. Else the address of a cluster.
    folder : path, optional
        A folder that all nodes see, for files that go between them; by default a temporary one,
        which all nodes see if they are on this machine.

    Examples
    --------
    >>> import dmrank
    >>> with dmrank.cluster("local:2"):  # doctest: +SKIP
    ...     report = dmrank.evaluate(model, split)
    """
    require("ray", "a cluster")
    if folder is not None:
        check_folder(folder)
    with ExitStack() as stack:
        _connect(where, stack)
        from dmrank.distributed.ray_workers import RayWorkers

        own = Path(tempfile.mkdtemp(prefix="dmrank-", dir=_shared(folder)))
        stack.callback(shutil.rmtree, own, ignore_errors=True)
        stack.enter_context(use_workers(RayWorkers(own)))
        yield


def _connect(where: str, stack: ExitStack) -> None:
    """Connect to a cluster, and disconnect when the stack is left."""
    import ray

    local = re.fullmatch(r"local:(\d+)", where)
    if where.startswith("local") and (local is None or int(local[1]) < 1):
        raise ConfigError(f"cluster {where!r}: give 'local:4' for four workers on this machine")
    if ray.is_initialized():
        if where != "auto":
            raise ConfigError(
                f"cluster {where!r}: this process is connected to a cluster already; give 'auto'"
            )
        return
    started: dict[str, Any] = {"address": where}
    if local is not None:
        started = {
            "address": "local",
            "num_cpus": int(local[1]),
            "include_dashboard": False,
            "object_store_memory": _OBJECT_STORE,
        }
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    _check_reachable(where)
    stack.callback(ray.shutdown)
    with _own_signals():
        try:
            ray.init(
                **started, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False
            )
        except ConnectionError:
            raise _unreachable(where) from None
        except (RuntimeError, ValueError, OSError) as error:
            # Of other versions, Ray tells in several lines.
            told = printable(" ".join(str(error).split()))
            raise ClusterError(f"cluster {where!r} cannot be used: {told}") from None


def _check_reachable(where: str) -> None:
    """Raise if nobody listens at an address: Ray itself would try for minutes."""
    address = re.fullmatch(r"(?:ray://)?([^:/]+):(\d+)", where)
    if address is None or where.startswith("local:"):
        return
    try:
        socket.create_connection((address[1], int(address[2])), timeout=_PATIENCE).close()
    except (OSError, OverflowError):
        raise _unreachable(where) from None


def _unreachable(where: str) -> ClusterError:
    return ClusterError(
        f"no cluster {where!r} can be reached: start one with ray start --head, or give 'local:4' "
        "for one on this machine"
    )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what SIGTERM does in this process, which Ray would change."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _shared(folder: str | os.PathLike[str] | None) -> Path:
    """Return a folder that all nodes can be expected to see."""
    import ray

    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Path(folder)
    here = platform.node()
    for node in ray.nodes():
        if node["Alive"] and node["NodeManagerHostname"] != here:
            raise ConfigError(
                f"node {node['NodeManagerHostname']} is another machine than this: name a folder "
                "that all nodes see with folder="
            )
    return Path(tempfile.gettempdir())
