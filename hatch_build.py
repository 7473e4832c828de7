"""The README as a package index shows it: beside it are neither pictures nor other pages."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


class IndexReadme(MetadataHookInterface):
    """Leaves out pictures without an address of their own, and names pages instead of linking."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the readme."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        shown = _LINK.sub(r"\1", _PICTURE.sub("", text))
        metadata["readme"] = {"content-type": "text/markdown", "text": shown}
