"""The house: a file imports only what comes before it, and knows nobody's private names."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dmrank

SOURCE = Path(dmrank.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
#: A file imports files of its own room, and of rooms before it.
ROOMS = [
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
#: What is named of the library in a text, less its own name.
_NAMED = re.compile(r"(?<![\w/.])dmrank((?:\.[A-Za-z_]\w*)+)")
#: What named tuples offer to everybody.
OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def _room(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def _shown(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def _nodes(file: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(file.read_text(encoding="utf-8")))


def _file_of(module: str) -> Path | None:
    """Return the file of a module by its dotted name, if it is one of ours."""
    inside = SOURCE.parent.joinpath(*module.split("."))
    found = (inside.with_suffix(".py"), inside / "__init__.py")
    return next((file for file in found if file in FILES), None)


def _imports(file: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the modules of dmrank that a file imports, and the name that it takes from each.

    Imports for type checkers and inside functions count as well.
    """
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{_shown(file)}: write imports in full"
            if _is_ours(node.module or ""):
                yield from ((node.module or "", alias.name) for alias in node.names)


def _is_ours(module: str) -> bool:
    return f"{module}.".startswith("dmrank.")


def _imported_files(file: Path) -> set[Path]:
    found = set()
    for module, name in _imports(file):
        if module == "dmrank":
            continue  # through the front door, for which there is a test of its own
        target = _file_of(f"{module}.{name}") or _file_of(module)
        assert target is not None, f"{_shown(file)} imports {module}, which does not exist"
        found.add(target)
    return found


GRAPH = {file: _imported_files(file) for file in FILES}


def test_every_file_has_a_room() -> None:
    rooms = {_room(file) for file in FILES}
    assert rooms <= set(ROOMS), f"give these a place in the order: {rooms - set(ROOMS)}"


def test_every_room_says_in_a_sentence_what_belongs_there() -> None:
    silent = []
    for folder in sorted(SOURCE.iterdir()):
        if folder.name in ROOMS and folder.is_dir():
            said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
            if not said.split("\n\n")[0].endswith("."):
                silent.append(folder.name)
    assert silent == []


def test_files_import_only_rooms_that_come_before_theirs() -> None:
    backwards = [
        f"{_shown(file)} imports {_shown(target)}"
        for file, targets in GRAPH.items()
        for target in sorted(targets)
        if ROOMS.index(_room(target)) > ROOMS.index(_room(file))
    ]
    assert backwards == []


def test_no_files_import_each_other() -> None:
    """A file that imports from the `__init__` of its own folder is such a cycle, too."""
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(_shown(file) for file in error.args[1]))


def test_inside_the_house_nobody_goes_through_the_front_door() -> None:
    """Files import each other where things are made; public names are for users."""
    through_the_door = [_shown(file) for file in FILES for module, _ in _imports(file)
                        if module == "dmrank"]  # fmt: skip
    assert through_the_door == []


def test_no_file_imports_a_private_name() -> None:
    private = [
        f"{_shown(file)} imports {name} from {module}"
        for file in FILES
        for module, name in _imports(file)
        if name is not None and name.startswith("_") and not name.endswith("__")
    ]
    assert private == []


@pytest.mark.parametrize("room", ["evaluation", "experiments", "cli"])
def test_who_uses_models_uses_their_public_names(room: str) -> None:
    reached = [
        f"{_shown(file)}:{node.lineno} {ast.unparse(node)}"
        for file in FILES
        if _room(file) == room
        for node in _nodes(file)
        if isinstance(node, ast.Attribute) and _is_private(node.attr) and not _is_own(node.value)
    ]
    assert reached == []


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in OF_NAMED_TUPLES


def _is_own(value: ast.expr) -> bool:
    """Return whether it is `self`, `cls` or `super()`."""
    if isinstance(value, ast.Call) and ast.unparse(value) == "super()":
        value = value.func
    return isinstance(value, ast.Name) and value.id in ("self", "cls", "super")


def test_a_model_fits_in_the_head() -> None:
    long = {
        _shown(file): lines
        for file in FILES
        if _room(file) == "models" and file.name != "base.py"
        and (lines := len(file.read_text(encoding="utf-8").splitlines())) > 250
    }  # fmt: skip
    assert long == {}


def test_the_public_names_are_all_there() -> None:
    assert all(hasattr(dmrank, name) for name in dmrank.__all__)


def test_what_the_documents_name_is_there_after_the_import() -> None:
    repository = Path(__file__).parents[1]
    documents = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    named = {
        name
        for document in documents
        for name in re.findall(
            r"(?<![\w/.])dmrank((?:\.[A-Za-z_]\w*)+)", document.read_text("utf-8")
        )
    }
    assert {".evaluation", ".plots.save", ".models.DMRConfig"} <= named
    code = f"import dmrank, operator; [operator.attrgetter(n[1:])(dmrank) for n in {sorted(named)}]"
    # In a process of its own: here, other tests have imported everything.
    subprocess.run([sys.executable, "-c", code], check=True)
