"""Directives of the reference: names from docstrings, parameters from `Config`, commands from help.

Each is made of what it describes when the site is built, so that none can be out of date.
"""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from types import UnionType
from typing import Any, get_args

import typer
from docutils import nodes
from pydantic.fields import FieldInfo
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective
from typer.testing import CliRunner

from dmrank.cli.app import app as commands
from dmrank.experiments.tuning import search_space
from dmrank.models import MODELS, Config, Model, Search, find_model

_SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}
#: What is counted is below this anyway.
_BOUNDLESS = 2**31
#: Public because kinds of models share them, not because anybody asks.
_SHARED = {"Config", "settle", "unfitted"}


class ParametersDirective(SphinxDirective):
    """``{parameters} DMR``: every parameter of a model, its default and where tuning looks."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the table."""
        config = find_model(self.arguments[0]).Config
        described = _descriptions(config)
        lines = ["| parameter | default | allowed | tuning looks at | what it is |",
                 "|---|---|---|---|---|"]  # fmt: skip
        for name, field in config.model_fields.items():
            cells = (f"`{name}`", f"`{field.default!r}`", _allowed(field), _search(field),
                     described.get(name, ""))  # fmt: skip
            lines.append(f"| {' | '.join(cell.replace('|', '∣') for cell in cells)} |")
        lines += list(_of_members(config))
        table, *others = self.parse_text_to_nodes("\n".join(lines))
        table["classes"].append("parameters")
        return [table, *others]


def _of_members(config: type[Config]) -> Iterator[str]:
    """Yield rows of what tuning looks at in the members of a model that is made of others."""
    for name in search_space(config):
        if name in config.model_fields:
            continue
        member, _, parameter = name.partition(".")
        field = find_model(member).Config.model_fields[parameter]
        kind = find_model(member).__name__
        cells = (f"`{name}`", f"`{field.default!r}`", _allowed(field), _search(field),
                 f"As in [{kind}](#{kind.lower()}).")  # fmt: skip
        yield f"| {' | '.join(cells)} |"


def _descriptions(config: type[Config]) -> dict[str, str]:
    """Return the text under each field, in the class that declares it."""
    found: dict[str, str] = {}
    for kind in reversed(config.__mro__):
        if issubclass(kind, Config):
            documented = ModuleAnalyzer.for_module(kind.__module__).find_attr_docs()
            found |= {
                name: " ".join(lines).strip()
                for (owner, name), lines in documented.items()
                if owner == kind.__name__
            }
    return found


def _allowed(field: FieldInfo) -> str:
    """Return the range or the words that a parameter may have."""
    words = get_args(field.annotation)
    if words and all(isinstance(word, str) for word in words):
        return ", ".join(f"`{word}`" for word in words)
    bounds = [
        f"{sign} {value:g}"
        for one in _constraints(field)
        for name, sign in _SIGNS.items()
        if (value := getattr(one, name, None)) is not None and value < _BOUNDLESS
    ]
    return ", ".join(dict.fromkeys(bounds))


def _constraints(field: FieldInfo) -> list[Any]:
    """Return what annotations say of a value, also inside of ``X | None``."""
    found = list(field.metadata)
    for part in get_args(field.annotation):
        for inner in getattr(part, "__metadata__", ()):
            found += getattr(inner, "metadata", [inner])
    return found


def _search(field: FieldInfo) -> str:
    search = next((one for one in field.metadata if isinstance(one, Search)), None)
    if search is None:
        return ""
    return ", ".join(f"{value}" for value in search.values) + (" (log)" if search.log else "")


class CommandDirective(SphinxDirective):
    """``{command} fit``: what ``dmrank fit --help`` prints."""

    required_arguments = 0
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Run the command, and show what it says."""
        words = (self.arguments or [""])[0].split()
        env = {"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
        shown = CliRunner().invoke(commands, [*words, "--help"], prog_name="dmrank", env=env)
        if shown.exit_code:
            raise self.error(f"dmrank {' '.join(words)} --help failed: {shown.output}")
        text = "\n".join(line.rstrip() for line in shown.stdout.strip("\n").splitlines())
        return [nodes.literal_block(text, text, language="text")]


class CommandsDirective(SphinxDirective):
    """``{commands}``: a section for every command there is."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        lines: list[str] = []
        for name in _command_names(typer.main.get_command(commands)):
            lines += [f"## dmrank {name}", "", f"```{{command}} {name}", "```", ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _command_names(command: Any, path: str = "") -> list[str]:
    inner = getattr(command, "commands", {})
    return [
        found
        for name, one in inner.items()
        for found in (_command_names(one, f"{path}{name} ") or [f"{path}{name}"])
    ]


class PublicDirective(SphinxDirective):
    """``{public} dmrank.metrics``: every name that a module exports, from its docstring."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Name them to autodoc; what `dmrank` itself exports has its place elsewhere."""
        module, front = import_module(self.arguments[0]), import_module("dmrank")
        lines = ["```{eval-rst}"]
        for name in module.__all__:
            if name in front.__all__ and getattr(front, name) is getattr(module, name):
                continue
            lines += _autodoc(f"{self.arguments[0]}.{name}", getattr(module, name))
        return self.parse_text_to_nodes("\n".join([*lines, "```"]))


def _autodoc(path: str, thing: object) -> list[str]:
    if inspect.isclass(thing):
        return [f".. autoclass:: {path}", "   :members:", ""]
    return [f".. auto{'function' if callable(thing) else 'data'}:: {path}", ""]


class ModelsDirective(SphinxDirective):
    """``{models}``: a section for every model, with its equation and its parameters."""

    def run(self) -> list[nodes.Node]:
        """Make the sections, by name."""
        lines: list[str] = []
        for kind in sorted(MODELS.values(), key=lambda kind: kind.__name__.lower()):
            name = kind.__name__
            lines += [f"## {name}", "", "```{eval-rst}", f".. autoclass:: dmrank.{name}",
                      *_own_answers(kind), "",
                      f".. py:class:: dmrank.models.{kind.Config.__name__}", "   :no-index-entry:",
                      "", f"   What ``{name}(…)`` takes.", "```", "",
                      f"```{{parameters}} {name}", "```", ""]  # fmt: skip
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _own_answers(kind: type[Model]) -> list[str]:
    """Return the option that shows what only this model can be asked: no hook, nothing of all."""
    own = [name for name in vars(kind) if not name.startswith("_") and not hasattr(Model, name)]
    public = [name for name in own if name not in _SHARED]
    return [f"   :members: {', '.join(public)}"] if public else []


def _is_left_out(
    _: Sphinx, _what: str, _name: str, thing: object, _skip: bool, _options: object
) -> bool | None:
    """Leave out fields of named tuples: all that they say is their number; the class has words."""
    return True if (inspect.getdoc(thing) or "").startswith("Alias for field number") else None


def _say_each(
    _: Sphinx, _what: str, _name: str, thing: object, _options: object, lines: list[str]
) -> None:
    """Give each attribute of `a, b : type` a line: napoleon would take the first for a type."""
    if isinstance(thing, UnionType):
        lines[:] = ["Any of these."]
    start = lines.index("Attributes") if "Attributes" in lines else len(lines)
    spread = lines[:start]
    names: list[str] = []
    for line in lines[start:]:
        several = re.fullmatch(r"(\w+(?:, \w+)+) : (.+)", line)
        if several:
            names = several[1].split(", ")
            kind, said = several[2], []
            continue
        if names and line.startswith(" "):
            said.append(line)
            continue
        spread += [text for name in names for text in (f"{name} : {kind}", *said)]
        names = []
        spread.append(line)
    lines[:] = spread + [text for name in names for text in (f"{name} : {kind}", *said)]


def _plain_names(*given: Any) -> tuple[str | None, str | None]:
    """Show an alias of types by its name: autodoc puts a reference in its place, and shows that."""
    *_, signature, returned = given
    return _unwrapped(signature), _unwrapped(returned)


def _unwrapped(text: str | None) -> str | None:
    # A default that is made anew each time is no Python, and what is none is shown raw.
    text = text and text.replace("<factory>", "...")
    # What NDArray is short for.
    text = text and re.sub(
        r"ndarray\[tuple\[Any, \.\.\.\], dtype\[(\w+)(?:\[Any\])?\]\]", r"NDArray[\1]", text
    )
    return text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-process-signature", _plain_names)
    app.connect("autodoc-process-docstring", _say_each, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", _is_left_out)
    app.add_directive("parameters", ParametersDirective)
    app.add_directive("command", CommandDirective)
    app.add_directive("commands", CommandsDirective)
    app.add_directive("models", ModelsDirective)
    app.add_directive("public", PublicDirective)
    return {"parallel_read_safe": True}
