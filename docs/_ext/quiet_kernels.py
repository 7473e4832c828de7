"""Kernels that run tutorials say nothing but what the tutorials print.

They have a profile of their own: neither what the person who builds the site has set up for IPython
nor its history has a part in the pages. A kernel warns that it talks to this machine without
encryption, and the client notes every notebook: none of both is about a page, and a build is to be
silent, so that what it does say is read.
"""

import logging
import os
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

_FOLDER = tempfile.TemporaryDirectory(prefix="dmrank-docs-")


def setup(_: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    profile = Path(_FOLDER.name) / "profile_default"
    profile.mkdir()
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n", "utf-8")
    os.environ["IPYTHONDIR"] = _FOLDER.name
    logging.getLogger("traitlets").setLevel(logging.WARNING)
    return {"parallel_read_safe": True}
