"""The command line: one file per command, with its options and its work.

What is heavy is imported inside the commands, so that help and mistakes are answered at once.
"""

from __future__ import annotations

import sys

from dmrank.cli.app import app
from dmrank.support.errors import DmrankError


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    try:
        app()
    except DmrankError as error:
        print(f"dmrank: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
