from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


@dataclass
class Answer:
    body: bytes
    status: int = 200
    declared_length: int | None = None
    content_type: str = "application/octet-stream"


@dataclass
class Server:
    """A publisher on this machine: what it answers with, and what it was asked for."""

    address: str
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)

    def publish(self, name: str, body: bytes, **options: object) -> str:
        self.answers[f"/{name}"] = Answer(body, **options)  # type: ignore[arg-type]
        return f"{self.address}/{name}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            publisher.requests.append(self.path)
            answer = publisher.answers.get(self.path, Answer(b"not here", status=404))
            length = answer.declared_length
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body) if length is None else length))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        publisher = Server(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield publisher
        http.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"
