"""The command line: one file per command, with its options and its work.

What is heavy is imported inside the commands, so that help and mistakes are answered at once.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from dmrank.cli.app import app
from dmrank.cli.stopping import Stopped, listen
from dmrank.support.errors import DmrankError
from dmrank.support.terminal import printable


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    listen()
    try:
        try:
            app(prog_name="dmrank")
        finally:
            sys.stdout.flush()
    except DmrankError as error:
        _end(str(error), 2)
    except Stopped as stopped:
        _end(str(stopped), stopped.exit_code)
    except MemoryError as error:
        _end(f"there is not enough memory: {error}", 2)
    except BrokenPipeError:
        _drop_output()
        sys.exit(0)
    except OSError as error:
        if error.errno is None:
            raise
        _drop_output()
        _end(f"{error.filename or 'standard output'}: {error.strerror}", 2)


def _end(message: str, code: int) -> NoReturn:
    print(f"dmrank: {printable(message)}", file=sys.stderr)
    sys.exit(code)


def _drop_output() -> None:
    """Leave nothing to Python's last flush, which would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
