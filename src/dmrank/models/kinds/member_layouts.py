"""What the arrays of models must be that are made of other models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dmrank.fitted.calibration import Calibration
from dmrank.fitted.sizes import Sizes
from dmrank.models.base import Model
from dmrank.support.errors import ConfigError
from dmrank.support.layouts import Kept, floats
from dmrank.training.blending.contests import PER_MEMBER


def members_layout(
    members: Mapping[str, Model], sizes: Sizes, items: int
) -> dict[str, Kept | None]:
    """Return what the arrays of an exposure must be, whose members know so many items."""
    if not members:
        raise ConfigError("it has none of its members")
    layout: dict[str, Kept | None] = {
        "blend.weights": floats(sizes.aspects, PER_MEMBER * len(members)),
        "blend.activity": Kept(
            np.float64,
            (2,),
            rule=lambda array: bool(array[1] > 0),
            says="has a deviation that is not above 0",
        ),
    }
    for name, model in members.items():
        layout |= member_layout(name, model, sizes, items)
    return layout


def member_layout(name: str, model: Model, sizes: Sizes, items: int) -> dict[str, Kept | None]:
    """Return what the arrays of a member that knows so many items must be."""
    own = sizes.of_member(name, items)
    layout = model.layout(own)
    if layout is None:  # a model of somebody's own that does not say
        layout = dict.fromkeys(own.shapes)
    # Users who were folded in have no offset in members.
    calibrated = min(own.length("calibration.offset"), sizes.users)
    whole = {**layout, **Calibration.layout(calibrated, sizes.aspects)}
    prefix = f"{name}."
    return {prefix + array: kept and kept.within(prefix) for array, kept in whole.items()}
