"""Configurations: typed, checked where they are declared, separate from what is learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.training.data import Missing

Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
#: What is counted has to be done or kept: no machine gets to 2³¹.
Count = Annotated[int, Field(ge=1, lt=2**31)]

ConfigT = TypeVar("ConfigT", bound="Config")
Parameters = ParamSpec("Parameters")
Constructed = TypeVar("Constructed")


@dataclass(frozen=True)
class Search:
    """Where tuning looks for a parameter; stands beside its type.

    Parameters
    ----------
    values : tuple of numbers or words
        What a grid tries. Between the least and the greatest number, other searches try any.
    log : bool
        Whether equal ratios, not equal differences, are equally likely.
    """

    values: tuple[Any, ...]
    log: bool = False


class Config(BaseModel):
    """Parameters that every model has; each model adds its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    #: Changes of the defaults that tuning tries first, after the defaults themselves.
    starts: ClassVar[tuple[dict[str, Any], ...]] = ()
    #: What a parameter that a model file is too old to have stood for then, if not the default.
    before: ClassVar[dict[str, Any]] = {}
    #: Whether another seed gives another result.
    is_random: ClassVar[bool] = False

    @classmethod
    def parts(cls) -> dict[str, type[Config]]:
        """Return the parameters of the models that this one is made of, by the names of these."""
        return {}

    @classmethod
    def gathered(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters as fields; those of parts may be given as ``part.name``."""
        return dict(parameters)

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Same seed, same result, whatever the number of threads."""
    threads: Count | None = None
    """Number of threads; by default every core."""
    validation_metric: str = "ndcg@10"
    """What a model is judged by on validation ratings, ranking by the primary aspect."""
    validation_users: Count = 2_000
    """The most validation users that are looked at."""


class TrainingConfig(Config):
    """Parameters of models that are trained in iterations."""

    is_random: ClassVar[bool] = True

    iterations: Count = 40_000
    """The most iterations."""
    evaluate_every: Count = 500
    """Iterations between two looks at the validation set."""
    patience: Count = 10
    """Looks without improvement after which training stops."""
    missing: Missing = "marginalize"
    """Leave missing aspects out of what is learned from, or count them as rated 0 (the paper)."""


def takes(
    config: Callable[Parameters, Config],  # noqa: ARG001 (for type checkers alone)
) -> Callable[
    [Callable[Concatenate[Constructed, ...], None]],
    Callable[Concatenate[Constructed, Parameters], None],
]:
    """Say to type checkers and editors that a constructor takes the parameters of a `Config`.

    Examples
    --------
    >>> class Thing:
    ...     @takes(Config)
    ...     def __init__(self, **parameters: Any) -> None:
    ...         self.parameters = parameters
    >>> Thing(seed=3).parameters
    {'seed': 3}
    """
    return lambda constructor: constructor


def all_fields(config: type[Config]) -> dict[str, FieldInfo]:
    """Return every parameter by name, those of parts as ``part.name``."""
    own = dict(config.model_fields)
    for part, inner in config.parts().items():
        own |= {f"{part}.{name}": field for name, field in all_fields(inner).items()}
    return own


def make_config(kind: type[ConfigT], parameters: Mapping[str, Any]) -> ConfigT:
    """Check parameters, and say in one line what is wrong with the first bad one.

    Examples
    --------
    >>> make_config(Config, {"seed": 3}).seed
    3
    >>> make_config(Config, {"sead": 3})
    Traceback (most recent call last):
        ...
    dmrank.ConfigError: there is no parameter 'sead'; did you mean 'seed'?
    """
    gathered = kind.gathered(parameters)
    for name in gathered:
        if name not in kind.model_fields:
            raise ConfigError(
                f"there is no parameter {name!r}; {did_you_mean(name, all_fields(kind))}"
            )
    try:
        return kind(**gathered)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"][:1])
        reason = first["msg"].replace("Input should be", "it must be").removeprefix("Value error, ")
        shown = f"{name}={gathered[name]!r}: " if name in gathered else ""
        raise ConfigError(shown + reason) from None
