"""Links of pages to files of the repository: to their page of the site, or their name alone.

Pages are read in the repository as well, where `../SECURITY.md` is a file. Here it is a page, and
source files are none: a link to one becomes its text.
"""

import os
import re
from pathlib import Path, PurePosixPath

from sphinx.application import Sphinx

#: Files of the repository that have a page of their own here.
_PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "README.md": "index.md",
}
_LINK = re.compile(r"\[([^\]\n]*(?:\n[^\]\n]*)?)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")


def mend(docname: str, text: str) -> str:
    """Return the text of a page with its links out of the documentation mended."""
    folder = PurePosixPath(docname).parent

    def put(found: re.Match[str]) -> str:
        words, path, anchor = found[1], found[2], found[3] or ""
        target = os.path.normpath(PurePosixPath("docs") / folder / path)
        if target.startswith("docs/"):
            return found[0]
        page = _PAGES.get(target)
        if page is None:
            return words
        return f"[{words}]({os.path.relpath(page, folder)}{anchor})"

    return _LINK.sub(put, text)


def _on_read(_: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = mend(docname, source[0])


def _on_include(_: Sphinx, path: Path, _docname: str, source: list[str]) -> None:
    """Mend the links of a file of the repository that is a page here: they begin at its root."""
    page = _PAGES.get(path.name)
    if page is not None:
        up = "../" * (1 + page.count("/"))
        rooted = re.sub(r"\]\((?!https?:|#|\.\./|docs/)", f"]({up}", source[0])
        source[0] = mend(page.removesuffix(".md"), rooted)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", _on_read)
    app.connect("include-read", _on_include)
    return {"parallel_read_safe": True}
