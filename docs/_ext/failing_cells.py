"""A cell that fails is named by the file and the line that fail, and with it the build does.

myst-nb names the file alone. Every page that fails is reported in one build: the warning is an
error to `make docs`.
"""

import re
from collections.abc import Mapping
from typing import Any

import myst_nb.core.execute as execution
from myst_nb.core.execute.direct import NotebookClientDirect
from sphinx.application import Sphinx

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class NamingClient(NotebookClientDirect):
    """Runs the cells of a page, and says which line has failed."""

    def start_client(self) -> None:
        """Run the page."""
        super().start_client()
        text = "" if self.path is None else self.path.read_text(encoding="utf-8")
        for cell in self.notebook.cells:
            for output in cell.get("outputs", ()):
                if output["output_type"] == "error":
                    what = f"{output['ename']}: {output['evalue']}"
                    self.logger.warning(what, line=failing_line(text, cell, output), subtype="exec")


def failing_line(text: str, cell: Mapping[str, Any], output: Mapping[str, Any]) -> int | None:
    """Return the line of a file at which a cell of it failed; None if the cell is not there."""
    start = text.find(cell["source"])
    if start < 0:
        return None
    trace = _COLOUR.sub("", "\n".join(output["traceback"]))
    # Functions of earlier cells are in the trace as well, and those of files.
    inside = rf"Cell In\[{cell['execution_count']}\], line (\d+)"
    found = re.search(inside, trace) or re.search(r", line (\d+)\s*\Z", trace)
    return text.count("\n", 0, start) + (int(found[1]) if found else 1)


def setup(_: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    execution.NotebookClientDirect = NamingClient  # type: ignore[misc]
    return {"parallel_read_safe": True}
