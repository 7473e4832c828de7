"""How many public functions have an example that runs.

Counted are the functions that the public modules export, the classes that they export (an example
of a class may stand for making one), and the methods and properties that each such class defines
itself and that have a name without an underscore. Of an error, a type alias or a `Config`, whose
parameters the reference lists, there is nothing to call. An example is a line with ``>>>`` in the
docstring: all of them run as doctests.
"""

import importlib
import inspect
from collections.abc import Iterator

from dmrank import Config, DmrankError

MODULES = [
    "dmrank", "dmrank.datasets", "dmrank.directional", "dmrank.distributed", "dmrank.evaluation",
    "dmrank.experiments", "dmrank.metrics", "dmrank.models", "dmrank.text", "dmrank.torch",
]  # fmt: skip
ALSO_RETURNED = {
    "dmrank.answers.card.card": ["Card"],
    "dmrank.answers.compare": ["Comparison"],
    "dmrank.answers.explain": ["Explanation"],
    "dmrank.answers.nearest_mix": ["NearestMix"],
    "dmrank.answers.vectors": ["ExportedVectors"],
    "dmrank.data.ids": ["Ids"],
    "dmrank.data.statistics": ["Statistics"],
    "dmrank.data.synthetic": ["Synthetic"],
    "dmrank.experiments.tuning": ["Tuning"],
    "dmrank.training.history": ["History"],
}


def _public() -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of everything that is counted, each once."""
    seen: set[int] = set()
    named = {module: importlib.import_module(module).__all__ for module in MODULES}
    for module, names in {**named, **ALSO_RETURNED}.items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            if id(thing) in seen or not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            seen.add(id(thing))
            if inspect.isclass(thing) and issubclass(thing, Config | DmrankError):
                continue
            yield f"{module}.{name}", thing.__doc__ or ""
            if inspect.isclass(thing) and thing.__module__.startswith("dmrank"):
                yield from _members(f"{module}.{name}", thing)


def _members(path: str, kind: type) -> Iterator[tuple[str, str]]:
    for name, member in vars(kind).items():
        function = getattr(member, "__func__", member)
        function = member.fget if isinstance(member, property) else function
        function = getattr(function, "func", function)  # of a cached property
        is_hook = getattr(getattr(kind.__mro__[1], name, None), "__doc__", None) is not None
        if not name.startswith("_") and inspect.isfunction(function) and not is_hook:
            yield f"{path}.{name}", function.__doc__ or ""


def test_one_public_function_in_two_has_an_example_that_runs() -> None:
    counted = dict(_public())
    without = sorted(name for name, text in counted.items() if ">>>" not in text)
    share = 1 - len(without) / len(counted)
    assert share >= 0.5, f"{share:.1%} of {len(counted)} have one; not {without}"
