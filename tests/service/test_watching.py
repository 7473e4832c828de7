"""Which copy of a model a worker opens when it begins."""

import logging
from pathlib import Path

import pytest

from dmrank import ModelFileError
from dmrank.service.copies import Copies, fingerprint
from dmrank.service.watching import open_latest


@pytest.fixture
def copies(tmp_path: Path, hurdle_file: Path) -> Copies:
    """A good copy."""
    folder = tmp_path / "copies"
    folder.mkdir()
    copies = Copies(folder)
    copies.add(hurdle_file)
    return copies


@pytest.fixture
def garbage(tmp_path: Path) -> Path:
    file = tmp_path / "garbage.dmrank"
    file.write_bytes(b"garbage" * 99)
    return file


def test_a_worker_that_begins_with_a_bad_copy_reports_it_and_serves_the_one_before(
    copies: Copies, garbage: Path, hurdle_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copies.add(garbage)
    with caplog.at_level(logging.ERROR, "dmrank.service"):
        served, number = open_latest(copies)
    assert served.fingerprint == fingerprint(hurdle_file)
    assert number == 2
    (record,) = caplog.records
    assert "the old one goes on" in record.getMessage()
    assert copies.good() == 1
    assert copies.reason(2) is not None


def test_a_good_copy_that_comes_while_a_bad_one_is_looked_at_is_opened(
    copies: Copies, garbage: Path, hurdle_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = copies.add(garbage)
    copies.file(1).unlink()
    say_bad = Copies.say_bad

    def meanwhile(self: Copies, number: int, reason: str) -> None:
        say_bad(self, number, reason)
        if number == bad:
            copies.add(hurdle_file)

    monkeypatch.setattr(Copies, "say_bad", meanwhile)
    _, number = open_latest(copies)
    assert number == bad + 1


def test_without_a_good_copy_it_is_told_what_is_wrong_with_the_latest(
    tmp_path: Path, garbage: Path
) -> None:
    copies = Copies(tmp_path)
    copies.add(garbage)
    with pytest.raises(ModelFileError, match="is not a file of dmrank"):
        open_latest(copies)


def test_workers_open_a_copy_one_after_the_other(copies: Copies) -> None:
    with copies.turn() as first, copies.turn() as second:
        assert (first, second) == (True, False)
    with copies.turn() as again:
        assert again
