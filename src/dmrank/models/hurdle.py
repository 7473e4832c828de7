"""Hurdle: who comes to an item, and how they will like it. The model to start with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from pydantic import Field

from dmrank.data.ratings import Ratings
from dmrank.directional.families import Family
from dmrank.fitted.calibration import Calibration
from dmrank.fitted.fitting import Fitting
from dmrank.fitted.mixed_lists import MixedLists
from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.fitted.sizes import Sizes
from dmrank.metrics import parse_metric
from dmrank.models.base import Model
from dmrank.models.blend import BlendConfig, weighed
from dmrank.models.config import Config, Share, takes
from dmrank.models.kinds.composite import CompositeModel, Parts, fold_in_members
from dmrank.models.kinds.exposure import Exposure, sized_members, sized_preference
from dmrank.models.kinds.member_layouts import member_layout, members_layout
from dmrank.models.kinds.two_stages import TwoStages, first_items, known_items, stages_layout
from dmrank.models.mixedeffects import MixedEffects
from dmrank.support.arrays import Array, Codes, Float32s, Floats
from dmrank.support.errors import ConfigError, UnsupportedError
from dmrank.support.layouts import Layout
from dmrank.support.plots import draw_preference_curve
from dmrank.support.progress import say
from dmrank.training.blending.preference import Curve, preference_curve
from dmrank.training.held_out import HeldOut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PREFERENCE = "mixedeffects"
#: Share of preference in lists where no held-out ratings say what they bear.
_UNTRIED = 0.2


class HurdleConfig(BlendConfig):
    """Parameters of Hurdle; those of a part are given as ``ease.regularization``."""

    mixedeffects: dict[str, Any] = Field(default={})
    """Parameters of the preference that differ from its defaults."""
    preference: Share | None = None
    """Share of preference in lists; by default the largest that keeps 99 % of held-out NDCG@10."""

    @classmethod
    def parts(cls) -> dict[str, type[Config]]:
        return {**super().parts(), _PREFERENCE: MixedEffects.Config}


class Hurdle(CompositeModel):
    """A rating exists with a probability, the *exposure*, and is then drawn from the *preference*.

    Exposure is a `Blend` of models that know who comes to what, preference a `MixedEffects`, which
    knows how items are liked on each aspect. Lists by a mix w of aspects rank by

        (1 − t) z(exposure) + t Σ_k w_k z_k(preference) ,   Σ_k w_k = 1,

    exposure standardised per user, preference per aspect over the catalogue. t is chosen on
    held-out ratings: the largest with which lists keep 99 % of the best NDCG@10, averaged over
    aspects; ``recommend(…, preference=t)`` goes from exposure alone (0) to preference alone (1).

    Everything that compares, predicts, completes or explains uses preference, and so do lists of
    given candidates: others found them, preference puts them into order.

    Its parameters are those of :class:`HurdleConfig`.

    Examples
    --------
    >>> import dmrank
    >>> ratings = dmrank.make_ratings(300, 60, 6_000, seed=1).ratings
    >>> model = Hurdle(seed=1).fit(ratings)
    >>> model.recommend("u000003", n=3, by="service", preference=0.5).columns
    ['user', 'rank', 'item', 'score', 'item_name']
    >>> sorted(model.members)
    ['cooccurrence', 'ease', 'ials', 'mixedeffects']
    """

    Config = HurdleConfig
    config: HurdleConfig
    scores_are_ratings = True
    vectors_are_with = "ask a member that has them, such as model.members['ials']"
    _asked: float | None = None

    @takes(HurdleConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    # Fitting.

    def unfitted(self, ratings: Ratings) -> dict[str, Model]:
        members = sized_members(self.config.members, len(ratings.items))
        members |= {_PREFERENCE: sized_preference(self.config.mixedeffects, len(ratings.items))}
        return {name: self.member(name, parameters) for name, parameters in members.items()}

    def settle(self, parts: Parts, train: Ratings, validation: Ratings | None) -> dict[str, Array]:
        models, config = dict(parts.models), self.config
        liked = cast("MixedEffects", models.pop(_PREFERENCE))
        exposure = weighed(config, parts._replace(models=models), train, validation)
        own = exposure.to_arrays() | {"blend.items": np.array([len(train.items)])}
        if validation is None:
            share = _UNTRIED if config.preference is None else config.preference
            return own | {"preference": np.array([share])}
        curve = self._curve(TwoStages(exposure, liked), train, validation)
        share = curve.largest_share() if config.preference is None else config.preference
        return own | {
            "preference": np.array([share]),
            "curve.shares": curve.shares,
            "curve.values": curve.values,
        }

    def _curve(self, stages: TwoStages, train: Ratings, validation: Ratings) -> Curve:
        held_out = HeldOut.from_ratings(train, validation).with_aspect(train.primary_aspect)
        one = np.eye(len(train.aspects), dtype=np.float32)
        return preference_curve(
            held_out.sample(self.config.validation_users, self.config.seed),
            train.aspects,
            parse_metric("ndcg@10"),
            stages.who_comes,
            lambda users, k: stages.how_liked(users, one[k]),
            self.config.threads,
        )

    def _calibrated(self, fitting: Fitting) -> Calibration:
        del fitting
        return self._stages.preference.calibration

    def layout(self, sizes: Sizes) -> Layout:
        liked = self.member(_PREFERENCE, self.config.mixedeffects)
        own = stages_layout(sizes) | member_layout(_PREFERENCE, liked, sizes, sizes.items)
        return own | members_layout(self.members_among(sizes.shapes), sizes, known_items(sizes))

    # Parts.

    @property
    def members(self) -> dict[str, Model]:
        """The fitted models by name, those of exposure and `mixedeffects`."""
        stages = self._stages
        return {**stages.exposure.models, _PREFERENCE: stages.preference}

    @property
    def _stages(self) -> TwoStages:
        def make() -> TwoStages:
            members = self.config.members
            catalogue = first_items(self.catalogue, int(self.arrays["blend.items"][0]))
            models = {
                name: self.fitted_member(name, members[name], catalogue)
                for name in self.fitted_names()
            }
            liked = self.fitted_member(_PREFERENCE, self.config.mixedeffects, self.catalogue)
            exposure = Exposure.from_arrays(self.arrays, models, catalogue)
            return TwoStages(exposure, cast("MixedEffects", liked))

        return self.cache("stages", make)

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array | NewRows] | None:
        stages = self._stages
        # Who comes to an item that was folded in is not known, but how it is liked is.
        known = profiles.select(profiles.others < len(stages.exposure.catalogue.items))
        who_comes = fold_in_members(stages.exposure.models, known)
        how_liked = fold_in_members({_PREFERENCE: stages.preference}, profiles)
        return None if who_comes is None or how_liked is None else {**who_comes, **how_liked}

    def fold_in_items(self, profiles: Profiles) -> dict[str, Array]:
        say(
            f"{len(profiles)} items are folded in by how they are liked; who comes to them is "
            "learned by the next fit, until when lists take them for unknown"
        )
        rows = self._stages.preference.fold_in_items(profiles)
        return {f"{_PREFERENCE}.{array}": values for array, values in rows.items()}

    # Lists.

    @property
    def preference(self) -> float:
        """Share t of preference in lists."""
        return float(self.arrays["preference"][0]) if self._asked is None else self._asked

    def with_preference(self, preference: float) -> Self:
        number = isinstance(preference, int | float | np.floating)
        if isinstance(preference, bool) or not number or not 0 <= preference <= 1:
            ends = "0 (who comes) to 1 (how it is liked)"
            raise ConfigError(f"preference={preference!r}: give a number from {ends}")
        model, stages = self.with_state(self.catalogue, self.arrays, self.calibration), self._stages
        model._asked = float(preference)
        model.cache("stages", lambda: stages)
        return model

    def for_candidates(self) -> Self:
        return self if self._asked is not None else self.with_preference(1.0)

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        return self._stages.block(users, weights, self.preference)

    def mixed_lists(self, users: Codes, mixes: Float32s) -> MixedLists:
        return self._stages.lists(users, mixes, self.preference)

    def list_pairs(self, users: Codes, items: Codes) -> Float32s:
        return self._stages.pairs(users, items, self.preference)

    # Preference.

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        return self._stages.preference.score_pairs(users, items)

    def packed_covariances(self, users: Codes, items: Codes) -> Floats:
        return self._stages.preference.packed_covariances(users, items)

    def packed_pairs(self, users: Codes, first: Codes, second: Codes) -> Floats:
        return self._stages.preference.packed_pairs(users, first, second)

    def family(self) -> Family:
        return self._stages.preference.family()

    def aspect_relevance(self, users: Codes, items: Codes, aspect: int) -> Floats:
        return self._stages.preference.aspect_relevance(users, items, aspect)

    # Pictures.

    def plot_directions(self) -> Figure:
        """Draw how the aspects of items vary together, and in how many directions (Σ_b).

        Examples
        --------
        >>> from dmrank import make_ratings
        >>> model = Hurdle().fit(make_ratings(300, 60, 6_000, seed=1).ratings)
        >>> drawn = model.plot_directions()
        """
        return self._stages.preference.plot_directions()

    def plot_preference(self) -> Figure:
        """Draw what lists lose by each share of preference on held-out ratings, and the choice.

        Examples
        --------
        >>> from dmrank import make_ratings
        >>> model = Hurdle().fit(make_ratings(300, 60, 6_000, seed=1).ratings)
        >>> drawn = model.plot_preference()
        """
        if "curve.values" not in self.arrays:
            raise UnsupportedError(
                "too few ratings were held out to draw a curve: fit with more, or with validation="
            )
        return draw_preference_curve(
            self.arrays["curve.shares"], self.arrays["curve.values"], self.preference
        )
