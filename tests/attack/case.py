"""A case of the attack, and the one rule that judges it."""

from __future__ import annotations

import random
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from dmrank import DmrankError


class Verdict(StrEnum):
    """What came of a case; all but the first two are faults."""

    RIGHT = "right"
    REFUSED = "refused"
    SILENT = "silent"
    UNTYPED = "untyped"
    SIGNAL = "signal"
    SLOW = "slow"


FAULTS = tuple(verdict for verdict in Verdict if verdict not in (Verdict.RIGHT, Verdict.REFUSED))


class Case(NamedTuple):
    """Something hostile.

    Attributes
    ----------
    what
        What was done, in a few words.
    attempt
        Asks dmrank, and returns its answer.
    wrong
        Says what is wrong with an answer, or nothing.
    """

    what: str
    attempt: Callable[[], Any]
    wrong: Callable[[Any], str | None]


#: Makes a case from a source of chance; files go into the folder.
Kind = Callable[[random.Random, Path], Case]


class Outcome(NamedTuple):
    """A verdict, and what led to it."""

    verdict: Verdict
    detail: str


class TimeIsUpError(BaseException):
    """Raised within a case that takes too long; not an Exception, so that nobody catches it."""


def chance(seed: int, kind: str, number: int) -> random.Random:
    """Return the chance of one case: the same for the same three."""
    return random.Random(f"{kind}/{seed}/{number}")


def judge(case: Case, before_judging: Callable[[], None] = lambda: None) -> Outcome:
    """Run a case: the right answer, or a typed error in one line, and nothing else."""
    try:
        answer = case.attempt()
    except DmrankError as error:
        return _judge_message(str(error))
    except TimeIsUpError:
        return Outcome(Verdict.SLOW, "it took longer than its time")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust is no Exception
        return Outcome(Verdict.UNTYPED, f"{type(error).__name__}: {error}"[:300])
    before_judging()
    wrong = case.wrong(answer)
    return Outcome(Verdict.RIGHT, "") if wrong is None else Outcome(Verdict.SILENT, wrong[:300])


def _judge_message(message: str) -> Outcome:
    if not message.strip():
        return Outcome(Verdict.UNTYPED, "an error without a word")
    if not all(character.isprintable() for character in message):
        return Outcome(Verdict.UNTYPED, f"an error that is not one plain line: {message!r}"[:300])
    return Outcome(Verdict.REFUSED, message[:300])
