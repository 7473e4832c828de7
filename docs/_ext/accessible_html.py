"""What the theme and Sphinx leave to be desired for people who do not see the page (axe-core)."""

import re
from pathlib import Path

from sphinx.application import Sphinx

_REPLACED = {
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
    '<aside class="toc-drawer">': '<aside class="toc-drawer" aria-label="On this page">',
    '<aside class="toc-drawer no-toc">': '<aside class="toc-drawer no-toc" aria-label="Empty">',
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}
#: The corner of a table is no header of anything.
_EMPTY_HEADER = re.compile(r'<th class="head([^"]*)">(?:<p></p>)?</th>')
#: Parameters of a long signature are a list of definitions that define nothing.
_SIGNATURE = re.compile(r'<dt class="sig.*?</dt>', re.DOTALL)
_LIST_TAGS = {
    "<dl>": '<span class="sig-parameters">', "</dl>": "</span>",
    "<dd>": '<span class="sig-line">', "</dd>": "</span>",
}  # fmt: skip


def mend(text: str) -> str:
    """Return a page that says what its parts are."""
    for before, after in _REPLACED.items():
        text = text.replace(before, after)
    text = _EMPTY_HEADER.sub(r'<td class="head\1"></td>', text)
    return _SIGNATURE.sub(_plain_signature, text)


def _plain_signature(found: re.Match[str]) -> str:
    text = found[0]
    for before, after in _LIST_TAGS.items():
        text = text.replace(before, after)
    return text


def _mend_all(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text("utf-8")
        if (mended := mend(text)) != text:
            page.write_text(mended, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("build-finished", _mend_all)
    return {"parallel_read_safe": True}
