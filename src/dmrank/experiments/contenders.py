"""Who takes part in the experiments, under which name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

from dmrank.experiments.tuning import search_space
from dmrank.models import (
    DMR,
    EASE,
    EFM,
    IALS,
    MBPR,
    MTER,
    PTF,
    SPSMTL,
    Blend,
    Cooccurrence,
    ExSAE,
    Hurdle,
    ItemMean,
    MixedEffects,
    Model,
    NeuralDMR,
    Popularity,
)
from dmrank.models.kinds.neural import NeuralModel, has_torch
from dmrank.support.errors import ConfigError, did_you_mean

Role = Literal["paper", "variant", "reference", "own"]


@dataclass(frozen=True)
class Contender:
    """A model with what is fixed about it.

    Attributes
    ----------
    name : str
        As in the tables.
    kind : type of Model
        Its class.
    role : {"paper", "variant", "reference", "own"}
        Whether the paper's Table 2 has it, it is a variant of DMR, it is a reference that the
        paper lacks, or a model of the user's own.
    given : mapping
        Parameters that are not searched.
    is_tuned : bool
        Whether its parameters are searched.
    validated : bool
        Whether it stops early on NDCG of validation ratings.
    members : tuple of str
        Tuned contenders that it is made of: it takes the settings that were chosen for them.
    """

    name: str
    kind: type[Model]
    role: Role
    given: Mapping[str, Any] = field(default_factory=dict)
    is_tuned: bool = False
    validated: bool = True
    members: tuple[str, ...] = ()

    @property
    def is_random(self) -> bool:
        """Whether another seed gives another result."""
        return self.kind.Config.is_random

    @property
    def can_run(self) -> bool:
        """Whether what it needs is installed."""
        return has_torch() or not issubclass(self.kind, NeuralModel)


#: What Blend and Hurdle are made of.
_MEMBERS = ("EASE", "iALS", "Cooccurrence")


def _tuned(name: str, kind: type[Model], role: Role = "paper", **given: Any) -> Contender:
    return Contender(name, kind, role, given, is_tuned=True)


CONTENDERS = {
    contender.name: contender
    for contender in (
        _tuned("PTF", PTF),
        _tuned("EFM", EFM),
        _tuned("MTER", MTER),
        _tuned("M-BPR", MBPR),
        _tuned("Ex-SAE", ExSAE),
        _tuned("SPS-MTL", SPSMTL),
        _tuned("DMR-I", DMR, "variant", covariance="identity"),
        _tuned("DMR", DMR),
        _tuned("DMR-S", DMR, "variant", covariance="shared"),
        _tuned("NeuralDMR", NeuralDMR, "variant"),
        Contender("DMR-paper", DMR, "variant", DMR.paper().get_params()),
        # Learns from pairs of rated items alone, so that who rated what plays no part; NDCG over
        # all items would stop it at random.
        Contender(
            "DMR-R",
            DMR,
            "variant",
            {
                "rated_share": 1.0,
                "item_offsets": True,
                "regularization": 0.1,
                "iterations": 1_500,
            },
            validated=False,
        ),
        Contender("Popularity", Popularity, "reference"),
        # Its default was chosen for the order of rated pairs, for which it is the bar.
        Contender("ItemMean", ItemMean, "reference"),
        # Nothing in it is to be searched: covariances are learned, a strength chosen by validation.
        Contender("MixedEffects", MixedEffects, "reference"),
        _tuned("iALS", IALS, "reference"),
        _tuned("EASE", EASE, "reference"),
        _tuned("Cooccurrence", Cooccurrence, "reference"),
        # To tune them as a whole would fit every member in every trial.
        Contender("Blend", Blend, "reference", members=_MEMBERS),
        Contender("Hurdle", Hurdle, "reference", members=_MEMBERS),
    )
}


def find_contenders(
    models: Sequence[str | type[Model]] | None,
) -> tuple[Contender, ...]:
    """Return contenders in the order of the tables, models of one's own after ours.

    Parameters
    ----------
    models : sequence of str or type of Model, optional
        Names, however they are written; classes; or ``"module:Class"`` for a class by its name.
        By default all of ours for which what they need is installed.

    Examples
    --------
    >>> [contender.name for contender in find_contenders(["dmr", "mbpr"])]
    ['M-BPR', 'DMR']
    """
    if models is None:
        return tuple(contender for contender in CONTENDERS.values() if contender.can_run)
    plain = {_plain(name): name for name in CONTENDERS}
    wanted, own = set(), {}
    for model in models:
        if not isinstance(model, str) or ":" in model:
            found = _own_contender(model)
            own[found.name] = found
        elif _plain(model) in plain:
            wanted.add(plain[_plain(model)])
        else:
            raise ConfigError(f"there is no model {model!r}; {did_you_mean(model, CONTENDERS)}")
    if not (wanted or own):
        raise ConfigError(f"no model to run: name at least one of {', '.join(CONTENDERS)}")
    chosen = *(each for name, each in CONTENDERS.items() if name in wanted), *own.values()
    for contender in chosen:
        if not contender.can_run:
            raise ConfigError(
                f"{contender.name} needs PyTorch, which is not installed: pip install "
                "dmrank[neural], or leave it out"
            )
    return chosen


def _own_contender(model: str | type[Model]) -> Contender:
    """Take part with a class that is none of ours; it is tuned if it says where to search."""
    kind = _import_class(model) if isinstance(model, str) else model
    if not (isinstance(kind, type) and issubclass(kind, Model)):
        raise ConfigError(f"{model!r} is no class that is made from dmrank.Model")
    if _plain(kind.__name__) in {_plain(name) for name in CONTENDERS}:
        raise ConfigError(
            f"a model of your own cannot be called {kind.__name__}, as one of ours is: rename it"
        )
    return Contender(kind.__name__, kind, "own", is_tuned=bool(search_space(kind.Config)))


def _import_class(name: str) -> object:
    module_name, _, class_name = name.partition(":")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise ConfigError(f"{name!r}: module {module_name!r} cannot be loaded: {error}") from None
    if not hasattr(module, class_name):
        hint = did_you_mean(class_name, [each for each in vars(module) if each[0] != "_"])
        raise ConfigError(f"{name!r}: there is no {class_name!r} in {module_name}; {hint}")
    return getattr(module, class_name)


def with_members(contenders: Sequence[Contender]) -> tuple[Contender, ...]:
    """Return contenders and those that they are made of, in the order of the tables.

    Examples
    --------
    >>> [contender.name for contender in with_members(find_contenders(["Hurdle", "EASE"]))]
    ['iALS', 'EASE', 'Cooccurrence', 'Hurdle']
    """
    wanted = {each.name for each in contenders}.union(*(each.members for each in contenders))
    ours = (contender for name, contender in CONTENDERS.items() if name in wanted)
    return (*ours, *(each for each in contenders if each.role == "own"))


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
