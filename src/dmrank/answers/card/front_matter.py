"""The head of a card: metadata as YAML, with the keys that model hubs look for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dmrank.support.terminal import printable


def front_matter(facts: Mapping[str, Any], name: str, license_: str | None) -> str:
    """Return the head of a card between its two lines of dashes."""
    metadata: dict[str, Any] = {} if license_ is None else {"license": license_}
    metadata |= {
        "library_name": "dmrank",
        "tags": ["recommender-systems", "ranking", "multi-criteria", facts["model"].lower()],
    }
    validation = facts["validation"]
    if validation is not None and validation["value"] is not None:
        metadata["model-index"] = [{"name": name, "results": [_result(facts, validation)]}]
    return "\n".join(["---", *_lines(metadata), "---", ""])


def _result(facts: Mapping[str, Any], validation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "task": {"type": "recommendation", "name": f"Full ranking by {validation['by']}"},
        "dataset": {
            "type": f"ratings-{facts['training']['fingerprint']}",
            "name": f"Ratings {facts['training']['fingerprint']}",
            "split": "validation",
        },
        "metrics": [
            {
                "type": validation["metric"],
                "value": round(validation["value"], 4),
                "name": f"{validation['metric']}, {validation['users']:,} users",
            }
        ],
    }


def _lines(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    r"""Write mappings and lists as YAML blocks; a value that is none of them as JSON, which is one.

    Examples
    --------
    >>> print(*_lines({"a": 1, "b": ["x: y"], "c": [{"d": 2, "e": None}]}), sep="\n")
    a: 1
    b:
    - "x: y"
    c:
    - d: 2
      e: null
    """
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(inner, f"{indent}  ")
        elif isinstance(inner, list):
            yield f"{indent}{key}:"
            for one in inner:
                block = list(_lines(one, f"{indent}  ")) if isinstance(one, Mapping) else None
                if block is None:
                    yield f"{indent}- {_scalar(one)}"
                else:
                    yield f"{indent}- {block[0].strip()}"
                    yield from block[1:]
        else:
            yield f"{indent}{key}: {_scalar(inner)}"


def _scalar(value: object) -> str:
    # YAML knows no pairs of surrogates, and control characters not at all.
    plain = printable(value) if isinstance(value, str) else value
    return json.dumps(plain, ensure_ascii=False)
