"""Commands with options of their own and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints


def add_options(
    run: Callable[..., None],
    command: Callable[..., None],
    options: Mapping[str, tuple[Any, Any]],
    *,
    without: str = "",
) -> None:
    """Give `run` the parameters of a command, and options with type and default after them.

    Examples
    --------
    >>> def greet(name: str) -> None: ...
    >>> def run(**given) -> None: ...
    >>> add_options(run, greet, {"loud": (bool, False)})
    >>> inspect.signature(run)
    <Signature (*, name: str, loud: bool = False)>
    """
    hints = get_type_hints(command, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [
        parameter.replace(annotation=hints[name], kind=keyword)
        for name, parameter in inspect.signature(command).parameters.items()
        if name != without
    ]
    added = [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in options.items()
    ]
    run.__signature__ = inspect.Signature(own + added)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in own + added}
