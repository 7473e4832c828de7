"""Models that are served, in this process and in others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# prometheus-client looks at it when it is imported.
os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", tempfile.mkdtemp(prefix="dmrank-test-"))

import msgspec
import pytest
from starlette.testclient import TestClient

from dmrank import Hurdle, Model, make_ratings
from dmrank.service.app import make_app
from dmrank.service.copies import Copies
from dmrank.service.settings import Settings


@pytest.fixture(scope="session")
def hurdle() -> Model:
    split = make_ratings(120, 40, 2_400, missing=0.1, seed=2).ratings.split(seed=0)
    return Hurdle(seed=0).fit(split.train, validation=split.validation)


@pytest.fixture(scope="session")
def hurdle_file(hurdle: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hurdle.save(tmp_path_factory.mktemp("models") / "hotels.dmrank")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., TestClient]]:
    """Serve a model in this process."""
    clients = []

    def start(file: Path, **settings: Any) -> TestClient:
        folder = tmp_path / f"shared-{len(clients)}"
        folder.mkdir()
        Copies(folder).add(file)
        app = make_app(Settings(folder=str(folder), **settings))
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        clients.append(client)
        client.__enter__()
        return client

    yield start
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Callable[..., TestClient], hurdle_file: Path, tmp_path: Path) -> TestClient:
    return serve(hurdle_file, ratings=str(tmp_path / "ratings.sqlite"))


def problem(response: Any, status: int) -> str:
    """Check that an answer is a problem, and return its sentence."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found = msgspec.json.decode(response.content)
    assert found["status"] == status
    assert found["instance"].startswith("urn:dmrank:trace:")
    return found["detail"]
