"""What is wrong with a cluster is said in one line; none is needed to find out."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import dmrank
from dmrank import ClusterError, ConfigError, UnknownUserError, WriteError
from dmrank.distributed.sameness import check_same, own_environment

ray = pytest.importorskip("ray")


def _enter(where: str, **options: Any) -> None:
    with dmrank.cluster(where, **options):
        pass


@pytest.fixture
def unconnected(monkeypatch) -> None:
    """A process that is not connected to a cluster, whatever other tests have done."""
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)


@pytest.mark.parametrize("where", ["local", "local:0", "local:two"])
def test_a_local_cluster_has_a_number_of_workers(where: str) -> None:
    with pytest.raises(ConfigError, match="give 'local:4' for four workers"):
        _enter(where)


def test_a_cluster_of_another_version_is_named_with_it(unconnected, monkeypatch) -> None:
    def init(**_: object) -> None:
        raise RuntimeError("Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ClusterError) as caught:
        _enter("auto")
    assert str(caught.value) == (
        "cluster 'auto' cannot be used: Version mismatch: The cluster was started with: Ray: 2.9.0"
    )


def test_no_cluster_is_named_with_the_remedy(unconnected, monkeypatch) -> None:
    def init(**_: object) -> None:
        raise ConnectionError("could not find any running Ray instance")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ClusterError, match="no cluster 'auto' can be reached: start one with ray"):
        _enter("auto")


OWN = own_environment()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (OWN._replace(python="3.10.0"), "node 10.0.0.7 has Python 3.10.0, but here it is"),
        (OWN._replace(packages=("1.0", *OWN.packages[1:])), "has ray 1.0, but here it is"),
        (OWN._replace(source="other"), "has another source of dmrank"),
        (OWN._replace(processor="z80"), "has a processor with other instructions"),
        (OWN._replace(blas_threads=99), "set OPENBLAS_NUM_THREADS=99 here"),
    ],
)
def test_a_node_that_would_compute_other_bits_is_refused(other, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        check_same(OWN, other, "10.0.0.7")


@pytest.mark.parametrize("kind", [WriteError, UnknownUserError, ClusterError, ConfigError])
def test_an_error_of_a_worker_arrives_as_it_was(kind: type[Exception]) -> None:
    arrived = pickle.loads(pickle.dumps(kind("lists cannot be written: No space left")))
    assert type(arrived) is kind
    assert str(arrived) == "lists cannot be written: No space left"
