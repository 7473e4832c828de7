"""A few hundred cases of the attack, each kind in processes with limits."""

import subprocess
import sys

import pytest

from tests.attack.case import FAULTS, Case, Verdict, judge
from tests.attack.kinds import KINDS
from tests.attack.report import Tally, write_report
from tests.attack.runner import Result, run_counts, share_out

SEED = 1
#: Cases of each kind: those that take longest are few.
CASES = {
    "csv": 90, "jsonl": 60, "parquet": 60, "containers": 60, "lexicons": 30, "calls": 40,
    "fits": 15,
    "storage": 8, "threads": 5, "commands": 25,
}  # fmt: skip


def test_the_answer_is_right_or_one_line_says_why_there_is_none() -> None:
    results = list(run_counts(CASES, SEED, 1))
    assert len(results) == sum(CASES.values())
    faults = [result for result in results if result.verdict in FAULTS]
    assert not faults, "\n".join(f"{each.verdict}: {each.replay}: {each.detail}" for each in faults)


def test_every_kind_has_a_few_cases_here() -> None:
    assert set(CASES) == set(KINDS)


@pytest.mark.parametrize(
    ("attempt", "verdict"),
    [
        (lambda: 1, Verdict.RIGHT),
        (lambda: 2, Verdict.SILENT),
        (lambda: {}["x"], Verdict.UNTYPED),
    ],
)
def test_a_case_is_judged_by_its_answer(attempt, verdict: Verdict) -> None:
    case = Case("one", attempt, lambda answer: None if answer == 1 else "it is not one")
    assert judge(case).verdict == verdict


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        ("x.csv: row 3 is not one", Verdict.REFUSED),
        ("two\nlines", Verdict.UNTYPED),
        ("\x1b[31mred", Verdict.UNTYPED),
        ("", Verdict.UNTYPED),
    ],
)
def test_an_error_is_one_plain_line(message: str, verdict: Verdict) -> None:
    from dmrank import DataError

    def refuse() -> None:
        raise DataError(message)

    assert judge(Case("refused", refuse, lambda answer: None)).verdict == verdict


ENDS_ITSELF = """
import os, sys
import tests.attack.worker as worker
from tests.attack.case import Outcome, Verdict
def run_case(kind, seed, number, folder, before_judging=lambda: None):
    if number == 2 and seed >= 0:
        os.kill(os.getpid(), 11)
    return "nothing", Outcome(Verdict.RIGHT, "")
worker.run_case = run_case
worker.work([worker.Stretch.parse(text) for text in sys.argv[-1].split(",")])
"""


def test_a_case_that_ends_its_process_is_named_and_the_others_go_on(monkeypatch) -> None:
    begin = subprocess.Popen

    def with_a_fatal_case(command: list[str], **options: object) -> subprocess.Popen[str]:
        return begin([sys.executable, "-c", ENDS_ITSELF, command[-1]], **options)

    monkeypatch.setattr(subprocess, "Popen", with_a_fatal_case)
    results = list(run_counts({"csv": 2, "lexicons": 5, "fits": 2}, 7, 1))
    assert [result.verdict for result in results].count(Verdict.RIGHT) == 8
    (fatal,) = (result for result in results if result.verdict == Verdict.SIGNAL)
    assert (fatal.detail, fatal.replay[-12:]) == ("SIGSEGV", "lexicons/7/2")


def test_cases_are_shared_out_by_weight() -> None:
    assert share_out(10, {"a": 3, "b": 1, "c": 0.1}) == {"a": 7, "b": 2, "c": 1}


def test_a_report_replaces_the_one_of_its_seed(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- further attacks -->\nAfter.\n")
    for verdict in (Verdict.SILENT, Verdict.RIGHT):
        tally = Tally(1, 7)
        tally.add(Result("csv", 7, 0, "nothing", verdict, "", 0.1))
        write_report(page, tally)
    text = page.read_text()
    assert text.count("--seed 7") == 1
    assert "| 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in text
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
