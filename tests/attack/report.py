"""Counts of an attack as a table, and a page that holds them."""

from __future__ import annotations

import platform
from collections import Counter
from pathlib import Path

from tests.attack.case import FAULTS, Verdict
from tests.attack.kinds import KINDS
from tests.attack.runner import Result


class Tally:
    """Counts by kind and verdict."""

    def __init__(self, cases: int, seed: int) -> None:
        self.cases, self.seed, self.seconds = cases, seed, 0.0
        self.counts: Counter[tuple[str, Verdict]] = Counter()
        self.slowest: dict[str, float] = {}

    def add(self, result: Result) -> None:
        """Count a case."""
        self.counts[result.kind, result.verdict] += 1
        self.slowest[result.kind] = max(self.slowest.get(result.kind, 0.0), result.seconds)

    @property
    def done(self) -> int:
        """Number of cases so far."""
        return self.counts.total()

    @property
    def faults(self) -> int:
        """Number of cases with a fault."""
        return sum(self._total(verdict) for verdict in FAULTS)

    def _total(self, verdict: Verdict) -> int:
        return sum(count for (_, found), count in self.counts.items() if found == verdict)

    def to_markdown(self) -> str:
        """Return the table, and the command that makes it again."""
        head = ["what is attacked", "cases", *Verdict]
        rows = [
            [KINDS[kind].title, sum(self.counts[kind, verdict] for verdict in Verdict),
             *(self.counts[kind, verdict] for verdict in Verdict)]
            for kind in KINDS
            if kind in self.slowest
        ]  # fmt: skip
        rows.append(["**all**", self.done, *(self._total(verdict) for verdict in Verdict)])
        lines = [
            f"`python -m tests.attack --cases {self.cases} --seed {self.seed}`, "
            f"{self.seconds / 60:.0f} minutes, Python {platform.python_version()}:",
            "",
            "| " + " | ".join(head) + " |",
            "|---|" + "---:|" * (len(head) - 1),
        ]
        lines += ["| " + " | ".join(map(_shown, row)) + " |" for row in rows]
        return "\n".join(lines) + "\n"


def _shown(cell: str | int) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def write_report(page: Path, tally: Tally) -> None:
    """Put a table between the marks of its seed, or after those of other seeds."""
    begin, end = f"<!-- attack {tally.seed} -->", f"<!-- end of attack {tally.seed} -->"
    block = f"{begin}\n{tally.to_markdown()}{end}\n"
    text = page.read_text(encoding="utf-8")
    before, found, rest = text.partition(begin)
    if found:
        page.write_text(before + block + rest.partition(f"{end}\n")[2], encoding="utf-8")
        return
    last = "<!-- further attacks -->"
    page.write_text(text.replace(last, f"{block}\n{last}"), encoding="utf-8")
