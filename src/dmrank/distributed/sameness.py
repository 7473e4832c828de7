"""Whether a worker would compute the same bits as the driver.

It does with the same versions, the same source, a processor with the same instructions (what is
compiled for more of them adds numbers in another order), and as many threads of OpenBLAS, which
cuts its sums by them.
"""

from __future__ import annotations

import hashlib
import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

import llvmlite.binding as llvm

from dmrank.compiled.ranges import count_threads
from dmrank.support.errors import ClusterError
from dmrank.support.version import __version__

#: In the order in which OpenBLAS looks at them.
_BLAS_VARIABLES: Final = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_PACKAGES: Final = ("ray", "numpy", "scipy", "numba", "llvmlite", "polars")


class Environment(NamedTuple):
    """What the bits of a result depend on, beside its input."""

    python: str
    dmrank: str
    source: str
    processor: str
    packages: tuple[str, ...]
    blas_threads: int


@cache
def own_environment() -> Environment:
    """Return what this process computes with."""
    return Environment(
        python=platform.python_version(),
        dmrank=__version__,
        source=_source(),
        processor=f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}",
        packages=tuple(version(name) for name in _PACKAGES),
        blas_threads=_blas_threads(),
    )


def blas_variables(threads: int) -> dict[str, str]:
    """Return environment variables with which a process has so many threads of OpenBLAS."""
    return {_BLAS_VARIABLES[0]: str(threads)}


def _blas_threads() -> int:
    """Return how many threads OpenBLAS takes: what a variable says, but no more than cores."""
    cores = count_threads(None)
    said = (os.environ.get(name, "") for name in _BLAS_VARIABLES)
    return min(next((int(number) for number in said if number.isdecimal()), cores), cores)


def _source() -> str:
    """Return a short name of the source of dmrank."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def check_same(wanted: Environment, found: Environment, node: str) -> None:
    """Refuse a worker that would compute other bits than the driver.

    Examples
    --------
    >>> own = own_environment()
    >>> check_same(own, own, "10.0.0.7")
    >>> check_same(own, own._replace(dmrank="0.0.1"), "10.0.0.7")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    dmrank.ClusterError: node 10.0.0.7 has dmrank 0.0.1, but here it is ...: install the same...
    """
    for name, here, there in (
        ("Python", wanted.python, found.python),
        ("dmrank", wanted.dmrank, found.dmrank),
        *zip(_PACKAGES, wanted.packages, found.packages, strict=True),
    ):
        if here != there:
            raise ClusterError(
                f"node {node} has {name} {there}, but here it is {here}: install the same on every "
                "node"
            )
    if wanted.source != found.source:
        raise ClusterError(
            f"node {node} has another source of dmrank {found.dmrank} than there is here: install "
            "the same on every node"
        )
    if wanted.blas_threads != found.blas_threads:
        raise ClusterError(
            f"node {node} has fewer cores than the {wanted.blas_threads} that linear algebra uses "
            f"here, and would compute other bits: set {_BLAS_VARIABLES[0]}={found.blas_threads} "
            "here"
        )
    if wanted.processor != found.processor:
        raise ClusterError(
            f"node {node} has a processor with other instructions than here, and would compute "
            "other bits: use nodes of one kind"
        )
