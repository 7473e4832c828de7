"""What all commands share: `--quiet`, a help that ends with examples, errors that name options."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from dmrank.cli.option_names import OptionName, in_options
from dmrank.cli.signatures import add_options
from dmrank.cli.stopping import StoppableGroup
from dmrank.support.errors import DmrankError
from dmrank.support.progress import logger

Function = Callable[..., None]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but results and errors.")]


def examples(*commands: str, then: str = "") -> Callable[[Function], Function]:
    """Show commands, and what else there is to say, at the end of a command's help."""
    shown = "\n".join(f"   {command}" for command in commands)

    def mark(function: Function) -> Function:
        function.examples = commands  # type: ignore[attr-defined]
        function.ending = f"\n Examples:\n{shown}\n{then}"  # type: ignore[attr-defined]
        return function

    return mark


class _ReadableHelp:
    """Help without a type for flags, which take no value, and with its ending."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments, as help shows them."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help and its ending, whose lines stay as they are: they are to be copied."""
        super().format_help(ctx, formatter)  # type: ignore[misc]
        formatter.write(self.callback.ending)  # type: ignore[attr-defined]


class CommandGroup(_ReadableHelp, StoppableGroup):
    """Commands."""


class Command(_ReadableHelp, TyperCommand):
    """A command whose errors name its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except DmrankError as error:
            error.args = (in_options(str(error), self._options()),)
            raise

    def _options(self) -> dict[str, OptionName]:
        return {
            str(parameter.name): OptionName(parameter.opts[0], parameter.metavar)
            for parameter in self.params
            if parameter.opts[0].startswith("-")
        }


def add_command(group: typer.Typer, function: Function) -> None:
    """Make a function a command."""
    group.command(cls=Command)(_with_quiet(function))


def _with_quiet(function: Function) -> Function:
    """Give a command the option `--quiet`."""

    @wraps(function)
    def run(*, quiet: bool, **given: Any) -> None:
        with silenced() if quiet else nullcontext():
            function(**given)

    add_options(run, function, {"quiet": (Quiet, False)})
    return run


@contextmanager
def silenced() -> Iterator[None]:
    """Silence the logger in all threads, not only in this one, as the command line may."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
