"""A team of threads for compiled code: shared tasks, and a meeting point after each phase.

Work comes in phases, a phase in tasks whose results do not depend on who does them or when. The
threads take tasks from a counter until none is left, so that a thread that the machine holds up
holds up one task and not its share. Python starts the threads; then compiled code alone runs.
"""

# mypy: disable-error-code="no-untyped-call"
# Numba's interface for new instructions carries no annotations.
from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from llvmlite import ir as llvm
from numba import types
from numba.core.cgutils import get_or_insert_function

from dmrank.compiled.compiling import instruction, spliced
from dmrank.support.arrays import Int64s

if TYPE_CHECKING:
    from collections.abc import Callable


#: Tasks begun and tasks finished, a row per phase.
Counters: TypeAlias = Int64s
Arguments = TypeVar("Arguments")

#: Work on a batch is cut into so many tasks, whatever the number of threads: sums keep their order.
TASKS = 32

# A meeting lasts microseconds on an idle machine; after so many looks others may have the core.
_LOOKS_BEFORE_YIELD = 2_000


def run_on_threads(threads: int, function: Callable[..., None], *arguments: Any) -> None:
    """Call a compiled function that releases the GIL on so many threads, this one among them."""
    if threads == 1:
        function(*arguments)
        return
    with ThreadPoolExecutor(threads - 1, thread_name_prefix="dmrank") as pool:
        others = [pool.submit(function, *arguments) for _ in range(threads - 1)]
        function(*arguments)
        for other in others:
            other.result()


def new_counters(phases: int) -> Counters:
    """Return the counters of a run: tasks begun and tasks finished of each phase."""
    return np.zeros((phases, 2), dtype=np.int64)


def _counter_address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = context.make_array(sig.args[0])(context, builder, args[0]).data
    index = context.cast(builder, args[1], sig.args[1], types.intp)
    return builder.gep(data, [index])


@instruction
def _increment(typing_context: Any, counters: Any, index: Any) -> Any:
    """Add 1 to a counter atomically and return what it was."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _counter_address(context, builder, sig, args)
        one = llvm.Constant(llvm.IntType(64), 1)
        return builder.atomic_rmw("add", address, one, "seq_cst")

    return types.int64(counters, index), generate


@instruction
def _look(typing_context: Any, counters: Any, index: Any) -> Any:
    """Return a counter; what its writers wrote before is visible afterwards."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = _counter_address(context, builder, sig, args)
        return builder.load_atomic(address, "acquire", 8)

    return types.int64(counters, index), generate


@instruction
def _yield_core(typing_context: Any) -> Any:
    """Let another thread have the core."""
    del typing_context

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        del sig, args
        name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
        kind = llvm.FunctionType(llvm.IntType(32), [])
        builder.call(get_or_insert_function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), generate


# In its callers: the address of a function that is passed on cannot be cached.
@spliced
def share_tasks(
    counters: Counters,
    phase: int,
    tasks: int,
    work: Callable[[Arguments, int], None],
    arguments: Arguments,
) -> int:
    """Do the tasks of a phase together with all other threads, and return the next phase.

    Parameters
    ----------
    counters
        What `new_counters` gave, the same for all threads.
    phase, tasks
        Number of the phase, and how many tasks it has.
    work
        A compiled function: ``work(arguments, task)`` does a task.
    arguments
        What it works on.
    """
    task = _increment(counters, 2 * phase)
    while task < tasks:
        work(arguments, task)
        _increment(counters, 2 * phase + 1)
        task = _increment(counters, 2 * phase)
    looks = 0
    while _look(counters, 2 * phase + 1) < tasks:
        looks += 1
        if looks > _LOOKS_BEFORE_YIELD:
            _yield_core()
    return phase + 1
