"""dmrank: rank items by several aspects at once.

The public names are in ``__init__.pyi``, each once, with the module that it comes from. They are
loaded when they are first used, so that `import dmrank` costs nothing.
"""

from importlib import import_module
from pathlib import Path
from typing import Any


def _read_homes() -> dict[str, str]:
    """Return the module of each public name: lines are `from module import name as name`."""
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = (line.split() for line in stub.splitlines() if line.startswith("from "))
    return {name: module for _, module, _, name, *_ in imports}


_HOMES = _read_homes()
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dmrank' has no attribute {name!r}")
    if _HOMES[name] in ("dmrank", "dmrank.support"):  # a module itself, such as datasets
        return import_module(f"{_HOMES[name]}.{name}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
