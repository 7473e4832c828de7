"""Data flows one way: a module imports only modules that come before it."""

import ast
from pathlib import Path

import dmrank

SOURCE = Path(dmrank.__file__).parent
ORDER = [
    "support",
    "compiled",
    "data",
    "datasets",
    "text",
    "directional",
    "ranking",
    "metrics",
    "training",
    "torch",
    "fitted",
    "answers",
    "models",
    "evaluation",
    "experiments",
    "distributed",
    "service",
    "cli",
    "__main__",
    "__init__",
]


def _home(path: Path) -> str:
    relative = path.relative_to(SOURCE)
    return relative.parts[0].removesuffix(".py")


def _imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dmrank":
            parts = (node.module or "").split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            names |= {
                alias.name.split(".")[1] for alias in node.names if alias.name.startswith("dmrank.")
            }
    return names


def test_every_module_has_a_place() -> None:
    homes = {_home(path) for path in SOURCE.rglob("*.py")}
    assert homes <= set(ORDER), f"give these a place in the order: {homes - set(ORDER)}"


def test_modules_import_only_what_comes_before_them() -> None:
    backwards = [
        f"{path.relative_to(SOURCE)} imports {name}"
        for path in SOURCE.rglob("*.py")
        if _home(path) != "__init__"
        for name in _imported(path)
        if name in ORDER and name != _home(path) and ORDER.index(name) > ORDER.index(_home(path))
    ]
    assert backwards == []


def test_the_public_names_are_all_there() -> None:
    assert all(hasattr(dmrank, name) for name in dmrank.__all__)
