"""Logs as JSON, a line each, with the trace that a request belongs to."""

from __future__ import annotations

import logging
import re
import secrets
import sys
from datetime import UTC, datetime

import msgspec

from dmrank.support.terminal import printable

logger = logging.getLogger("dmrank.service")
#: https://www.w3.org/TR/trace-context: version, trace, parent, flags.
_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_NO_TRACE = "0" * 32
_FIELDS = ("trace", "method", "path", "status", "milliseconds", "key", "model")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": printable(record.getMessage()),
            "process": record.process,
        }
        line |= {name: vars(record)[name] for name in _FIELDS if name in vars(record)}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def log_to_standard_error() -> None:
    """Write what the service says to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


def trace_of(traceparent: str | None) -> str:
    """Return the id of the trace that a request belongs to, or a new one.

    Examples
    --------
    >>> trace_of("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    '4bf92f3577b34da6a3ce929d0e0e4736'
    >>> len(trace_of("nonsense"))
    32
    """
    found = _TRACE.fullmatch(traceparent or "")
    if found is None or found[1] == _NO_TRACE:
        return secrets.token_hex(16)
    return found[1]
