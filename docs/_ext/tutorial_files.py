"""Tutorials to take away: each as the Python file that it is, and as a notebook of it."""

from pathlib import Path
from typing import Any

import jupytext
from sphinx.application import Sphinx


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / "files"
    target.mkdir(exist_ok=True)
    for file in sorted((Path(app.srcdir) / "tutorials").glob("*.py")):
        (target / file.name).write_bytes(file.read_bytes())
        jupytext.write(jupytext.read(file), target / f"{file.stem}.ipynb")


def _offer(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Name the files under the title of a tutorial."""
    name = page.removeprefix("tutorials/")
    if name == page or not (Path(app.srcdir) / "tutorials" / f"{name}.py").exists():
        return
    links = " or ".join(
        f'<a href="../files/{name}{ending}" download>{words}</a>'
        for ending, words in ((".py", "Python file"), (".ipynb", "notebook"))
    )
    offer = f'<p class="take-away">Run when this site was built. Take it away as {links}.</p>'
    context["body"] = context["body"].replace("</h1>", f"</h1>{offer}", 1)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("html-page-context", _offer)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
