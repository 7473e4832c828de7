"""Who takes part in the experiments, under which name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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
    Popularity,
)
from dmrank.support.errors import ConfigError, did_you_mean

Role = Literal["paper", "variant", "reference"]


@dataclass(frozen=True)
class Contender:
    """A model with what is fixed about it.

    Attributes
    ----------
    name : str
        As in the tables.
    kind : type of Model
        Its class.
    role : {"paper", "variant", "reference"}
        Whether the paper's Table 2 has it, it is a variant of DMR, or it is a reference that the
        paper lacks.
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


def find_contenders(names: Sequence[str] | None) -> tuple[Contender, ...]:
    """Return contenders by their names, however they are written, in the order of the tables.

    Examples
    --------
    >>> [contender.name for contender in find_contenders(["dmr", "mbpr"])]
    ['M-BPR', 'DMR']
    """
    if names is None:
        return tuple(CONTENDERS.values())
    plain = {_plain(name): name for name in CONTENDERS}
    wanted = set()
    for name in names:
        if _plain(name) not in plain:
            raise ConfigError(f"there is no model {name!r}; {did_you_mean(name, CONTENDERS)}")
        wanted.add(plain[_plain(name)])
    if not wanted:
        raise ConfigError(f"no model to run: name at least one of {', '.join(CONTENDERS)}")
    return tuple(contender for name, contender in CONTENDERS.items() if name in wanted)


def with_members(contenders: Sequence[Contender]) -> tuple[Contender, ...]:
    """Return contenders and those that they are made of, in the order of the tables.

    Examples
    --------
    >>> [contender.name for contender in with_members(find_contenders(["Hurdle", "EASE"]))]
    ['iALS', 'EASE', 'Cooccurrence', 'Hurdle']
    """
    wanted = {each.name for each in contenders}.union(*(each.members for each in contenders))
    return tuple(contender for name, contender in CONTENDERS.items() if name in wanted)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
