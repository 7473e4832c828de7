from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dmrank.datasets import cache as cached
from dmrank.datasets import fetch as fetching
from dmrank.datasets.fetch import fetch, file_name
from dmrank.support.errors import ConfigError, DataError, DownloadError
from tests.datasets.conftest import Server

BODY = b"reviews " * 100_000


def everything_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_download_is_whole_and_its_checksum_is_recorded(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "deep" / "beer.json.gz"
    fetch(server.publish("beer.json.gz", BODY), target)
    assert target.read_bytes() == BODY
    assert cached.recorded(target) == hashlib.sha256(BODY).hexdigest()
    assert len(everything_in(tmp_path)) == 2


def test_the_right_checksum_is_accepted(server: Server, tmp_path: Path) -> None:
    sha256 = hashlib.sha256(BODY).hexdigest()
    fetch(server.publish("beer.json.gz", BODY), tmp_path / "beer.json.gz", sha256=sha256)
    assert (tmp_path / "beer.json.gz").exists()


def test_the_record_can_be_checked_with_sha256sum(server: Server, tmp_path: Path) -> None:
    fetch(server.publish("beer.json.gz", BODY), tmp_path / "beer.json.gz")
    record = (tmp_path / "beer.json.gz.sha256").read_text()
    assert record == f"{hashlib.sha256(BODY).hexdigest()}  beer.json.gz\n"


def test_a_wrong_checksum_names_both_and_writes_nothing(server: Server, tmp_path: Path) -> None:
    url = server.publish("beer.json.gz", BODY)
    with pytest.raises(DownloadError, match=rf"{url}.*checksum [0-9a-f]{{64}}, expected 00ff"):
        fetch(url, tmp_path / "beer.json.gz", sha256="00ff")
    assert everything_in(tmp_path) == []


def test_a_missing_file_is_named_with_the_answer(server: Server, tmp_path: Path) -> None:
    url = f"{server.address}/gone.json.gz"
    with pytest.raises(DownloadError, match=rf"{url} answered 404 Not Found"):
        fetch(url, tmp_path / "gone.json.gz")
    assert everything_in(tmp_path) == []


def test_a_body_that_breaks_off_is_noticed(server: Server, tmp_path: Path) -> None:
    url = server.publish("beer.json.gz", BODY, declared_length=len(BODY) + 5)
    with pytest.raises(DownloadError, match=r"broke off after 800,000 of 800,005 bytes"):
        fetch(url, tmp_path / "beer.json.gz")
    assert everything_in(tmp_path) == []


def test_no_connection_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    url = f"http://127.0.0.1:{port}/beer.json.gz"
    with pytest.raises(DownloadError, match=rf"cannot connect to {url} \(.*refused") as caught:
        fetch(url, tmp_path / "beer.json.gz")
    assert "\n" not in str(caught.value)
    assert everything_in(tmp_path) == []


def test_a_web_page_is_not_taken_for_the_file(server: Server, tmp_path: Path) -> None:
    url = server.publish("beer.json.gz", b"<html>log in</html>", content_type="text/html")
    with pytest.raises(DownloadError, match="web page"):
        fetch(url, tmp_path / "beer.json.gz")
    assert everything_in(tmp_path) == []


def test_a_failed_download_leaves_an_older_file_as_it_was(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "beer.json.gz"
    target.write_bytes(b"older")
    with pytest.raises(DownloadError):
        fetch(f"{server.address}/gone.json.gz", target)
    assert target.read_bytes() == b"older"


def test_a_cache_that_cannot_be_written_says_so(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a directory should be")
    with pytest.raises(DataError, match="cannot write .*choose another directory with cache="):
        fetch(server.publish("beer.json.gz", BODY), tmp_path / "cache" / "beer.json.gz")


def test_the_bar_runs_to_the_size_of_the_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[float] = []

    class Bar:
        def update(self, completed: float, note: str = "") -> None:
            shown.append(completed)

    @contextmanager
    def bar(title: str, total: float | None, *, bytes_: bool) -> Iterator[Bar]:
        assert (title, total, bytes_) == ("downloading beer.json.gz", len(BODY), True)
        yield Bar()

    monkeypatch.setattr(fetching, "bar", bar)
    fetch(server.publish("beer.json.gz", BODY), tmp_path / "beer.json.gz")
    assert shown == sorted(shown)
    assert shown[-1] == len(BODY)
    assert len(shown) > 1


@pytest.mark.parametrize("url", ["file:///etc/passwd", "beer.json.gz", "https://example.org/"])
def test_only_web_addresses_of_files_are_taken(url: str) -> None:
    with pytest.raises(ConfigError, match="path="):
        file_name(url)
