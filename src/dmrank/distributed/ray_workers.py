"""Workers of a Ray cluster: blocks of work as Ray Core tasks.

A task that is lost with its node is run again on another one: it depends on its arguments alone.
"""

# mypy: disable-error-code="no-untyped-call"
# Half of Ray's functions carry no annotations.
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from uuid import uuid4

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from dmrank.compiled.ranges import limit_threads
from dmrank.distributed.pickled import Pickle, PickledFile
from dmrank.distributed.sameness import Environment, blas_variables, check_same, own_environment
from dmrank.distributed.wanted import wanted_file, while_wanted
from dmrank.support.errors import ClusterError, DmrankError, first_line

Result = TypeVar("Result")

#: Tasks that wait for each worker: enough that none is idle, few enough to be held in memory.
_WAITING_PER_WORKER: Final = 2
#: How often a task that is lost with its worker or node is run again. One that ends every worker,
#: for lack of memory perhaps, is not to be run for ever.
_MOST_RETRIES: Final = 20
#: Bytes of a result that comes with Ray's answer, which takes no more than 100 KB.
_MOST_ANSWERED: Final = 64 << 10
#: How long each node has to answer before any work is sent, in seconds.
_PATIENCE: Final = 60


class _Shared(NamedTuple):
    """A value that many calls have among their arguments."""

    file: PickledFile


class _Kept(NamedTuple):
    """A large result in a file: Ray takes tenths of a second to fetch one by itself."""

    file: PickledFile

    def taken(self) -> Any:
        """Return the result, and remove the file."""
        result = self.file.read()
        self.file.path.unlink()
        return result


class RayWorkers:
    """Runs functions on the nodes of the cluster that this process is connected to.

    Parameters
    ----------
    folder : Path
        A folder that every node sees.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._folders = 0
        variables = blas_variables(own_environment().blas_threads)
        self._task = ray.remote(
            num_cpus=1, max_retries=_MOST_RETRIES, runtime_env={"env_vars": variables}
        )(_call)
        self._values = self.new_folder()
        token = self._values / "visible"
        token.touch()
        self.check_sees(token)

    def new_folder(self) -> Path:
        """Make a folder that every worker sees."""
        self._folders += 1
        made = self.folder / f"call-{self._folders}"
        made.mkdir(parents=True)
        return made

    def share(self, value: Any) -> Any:
        """Return what stands for a value among the arguments of many calls, written once."""
        return _Shared(Pickle.of(value).write(self._values / uuid4().hex))

    def run(
        self, function: Callable[..., Result], calls: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result]:
        """Yield what a function returns for each tuple of arguments, in their order."""
        left = iter(calls)
        waiting: deque[ray.ObjectRef[Result]] = deque()
        with wanted_file(self._values) as wanted:
            while True:
                # Nodes come and go: how many tasks wait follows the cluster as it is.
                room = _WAITING_PER_WORKER * count_workers() - len(waiting)
                for arguments in islice(left, max(room, 0)):
                    waiting.append(_send(self._task, wanted, function, arguments))
                if not waiting:
                    return
                yield _result(waiting.popleft())

    def check_memory(self, needed: int, what: str, *, alone: bool = False) -> None:
        """Raise if workers have not so many bytes of memory for something.

        Each of them, or one that has the memory of its node alone.
        """
        has = {
            node["NodeManagerAddress"]: node["Resources"].get("memory", 0)
            / (1 if alone else node["Resources"]["CPU"])
            for node in _working_nodes()
        }
        if not has:
            return  # nodes are on their way
        node = (max if alone else min)(has, key=has.__getitem__)
        if has[node] >= needed:
            return
        gigabytes = f"{what} needs {needed / 1e9:,.1f} GB of memory"
        if alone:
            raise ClusterError(
                f"{gigabytes} on one node, and the largest, {node}, has {has[node] / 1e9:,.1f} GB: "
                "add a node with more, or keep fewer items with k_core"
            )
        workers = sum(
            int(each["Resources"].get("memory", 0) // needed) for each in _working_nodes()
        )
        raise ClusterError(
            f"{gigabytes} in each worker, and those of node {node} have {has[node] / 1e9:,.1f} GB: "
            f"{workers} workers would do on these nodes, or keep fewer items with k_core"
        )

    def run_large(
        self, function: Callable[..., Result], arguments: tuple[Any, ...], needed: int
    ) -> Result:
        """Return what a function returns, from a node that has so many bytes of memory."""
        with wanted_file(self._values) as wanted:
            return _result(_send(self._task.options(memory=needed), wanted, function, arguments))

    def check_sees(self, file: Path) -> None:
        """Raise if a node does not see a file, or would compute other bits."""
        nodes = _nodes_with_cpu()
        if not nodes:
            raise ClusterError(
                "the cluster has no node with a CPU: start one with ray start --address=ADDRESS"
            )
        asked = {
            node: self._task.options(
                num_cpus=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            ).remote(own_environment(), None, _sees, file)
            for node in nodes
        }
        for node, answer in asked.items():
            try:
                sees = _result(answer, _PATIENCE)
            except ClusterError:
                if node in _nodes_with_cpu():
                    raise
                continue  # it has gone since, and will be sent no work
            if not sees:
                raise ClusterError(
                    f"node {nodes[node]} does not see {file.parent}: name a folder that all nodes "
                    "share"
                )


def _working_nodes() -> list[dict[str, Any]]:
    """Return the nodes that can be sent work."""
    return [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]


def _nodes_with_cpu() -> dict[str, str]:
    """Return their addresses by their ids."""
    return {node["NodeID"]: node["NodeManagerAddress"] for node in _working_nodes()}


def count_workers() -> int:
    """Return how many tasks can run at the same time, at least one."""
    return max(int(ray.cluster_resources().get("CPU", 0)), 1)


def _result(task: ray.ObjectRef[Result], patience: float | None = None) -> Result:
    """Wait for a task; what it raised on purpose is raised here, in one line."""
    try:
        found: Any = ray.get(task, timeout=patience)
        return found.taken() if isinstance(found, _Kept) else found
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, DmrankError):
            raise error.cause from None
        if isinstance(error.cause, MemoryError):
            raise _too_little_memory() from None
        raise
    except ray.exceptions.OutOfMemoryError:
        raise _too_little_memory() from None
    except ray.exceptions.WorkerCrashedError:
        raise ClusterError(
            f"a task ended its worker {_MOST_RETRIES + 1} times, most likely for lack of memory: "
            "use nodes with more memory, or fewer CPUs on each"
        ) from None
    except ray.exceptions.GetTimeoutError:
        raise ClusterError(
            f"a node of the cluster did not answer within {patience:.0f} s: see ray status"
        ) from None
    except ray.exceptions.RayError as error:
        raise ClusterError(f"the cluster was lost: {first_line(error)}") from None


def _send(task: Any, wanted: Path, function: Callable[..., Any], arguments: Any) -> Any:
    return task.remote(own_environment(), wanted, function, *arguments)


def _too_little_memory() -> ClusterError:
    return ClusterError(
        "a worker needs more memory than its node has: use nodes with more memory, or fewer CPUs "
        "on each"
    )


# What follows runs on workers.


def _call(
    environment: Environment,
    wanted: Path | None,
    function: Callable[..., Result],
    *arguments: Any,
) -> Result | _Kept:
    """Call a function; a large result becomes a file beside the one by which it is wanted."""
    _prepare(environment)
    if wanted is None:
        return function(*arguments)
    with while_wanted(wanted):
        result = function(
            *(each.file.read() if isinstance(each, _Shared) else each for each in arguments)
        )
        pickled = Pickle.of(result)
        if pickled.nbytes <= _MOST_ANSWERED:
            return result
        return _Kept(pickled.write(wanted.with_name(uuid4().hex)))


@cache
def _prepare(environment: Environment) -> None:
    """Check once that this process computes the same bits, and take its share of the cores."""
    check_same(environment, own_environment(), ray.util.get_node_ip_address())
    limit_threads(1)


def _sees(file: Path) -> bool:
    return file.exists()
