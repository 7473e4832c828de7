"""Blend: who comes to what, from several models whose weights the directional criterion learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from dmrank.data.ratings import Ratings
from dmrank.directional.families import Gaussian
from dmrank.fitted.profiles import NewRows, Profiles
from dmrank.fitted.sizes import Sizes
from dmrank.models.base import Model
from dmrank.models.config import Count, NotNegative, takes
from dmrank.models.cooccurrence import Cooccurrence  # noqa: F401 (a member by its name)
from dmrank.models.ials import IALS  # noqa: F401 (a member by its name)
from dmrank.models.kinds.composite import (
    CompositeConfig,
    CompositeModel,
    Parts,
    fold_in_members,
    halves,
)
from dmrank.models.kinds.exposure import DEFAULT_MEMBERS, Exposure, sized_members
from dmrank.models.kinds.member_layouts import members_layout
from dmrank.models.kinds.weighing import learn_exposure
from dmrank.support.arrays import Array, Codes, Float32s
from dmrank.support.layouts import Layout
from dmrank.training.blending.weights import Loss

if TYPE_CHECKING:
    # A constructor also takes names or models: `CompositeConfig.gathered` makes a dict of them.
    Members: TypeAlias = Any
else:
    Members = dict[str, dict[str, Any]]


class BlendConfig(CompositeConfig):
    """Parameters of Blend; those of a member are given as ``ease.regularization``."""

    members: Members = DEFAULT_MEMBERS
    """The members by name, with parameters that differ from their defaults."""
    if TYPE_CHECKING:  # what is given by the name of a member goes into `members`
        cooccurrence: dict[str, Any] = {}
        dmr: dict[str, Any] = {}
        ease: dict[str, Any] = {}
        efm: dict[str, Any] = {}
        exsae: dict[str, Any] = {}
        ials: dict[str, Any] = {}
        itemmean: dict[str, Any] = {}
        mbpr: dict[str, Any] = {}
        mixedeffects: dict[str, Any] = {}
        mter: dict[str, Any] = {}
        neuraldmr: dict[str, Any] = {}
        popularity: dict[str, Any] = {}
        ptf: dict[str, Any] = {}
        spsmtl: dict[str, Any] = {}
    loss: Loss = "directional"
    """What weights are learned by: the directional criterion, or a logistic or softmax loss."""
    margin: NotNegative = 0.2
    """Lower limit of the line integral of the directional criterion [ξ]."""
    weight_regularization: NotNegative = 1e-3
    """Weight of the squared weights of the members, beside the mean loss."""
    negatives: Count | None = None
    """Unrated items that a held-out one is compared with; by default 6 to 20."""


class Blend(CompositeModel):
    """A weighted sum of the standardised scores of several models, learned from held-out ratings.

    Scores of a member are standardised per user over all items, so that they can be added up; each
    counts by itself, by itself times how much the user has rated, and squashed. The weights, one
    per aspect, maximise the directional criterion of held-out items against items that are among
    the best hundred of any member and were not rated (`training.blending`).

    Members stop early on one half of the validation users, weights are learned from the other.
    Without validation ratings, a seventh of the ratings is held out for that, and the members are
    then fitted again on everything.

    Parameters
    ----------
    **parameters
        See :class:`BlendConfig`. `members` may also be given as names, or as models.

    Examples
    --------
    >>> import dmrank
    >>> split = dmrank.make_ratings(200, 50, 4_000, seed=1).ratings.split()
    >>> blend = Blend(members=["EASE", "Cooccurrence"], ease={"regularization": 30})
    >>> blend = blend.fit(split.train, validation=split.validation)
    >>> blend.recommend("u000003", n=3).height
    3
    >>> sorted(blend.members)
    ['cooccurrence', 'ease']
    """

    Config = BlendConfig
    config: BlendConfig
    vectors_are_with = "ask a member that has them, such as model.members['ials']"

    @takes(BlendConfig)
    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)

    @property
    def members(self) -> dict[str, Model]:
        """The fitted members by name."""
        return self._exposure().models

    def unfitted(self, ratings: Ratings) -> dict[str, Model]:
        members = sized_members(self.config.members, len(ratings.items))
        return {name: self.member(name, parameters) for name, parameters in members.items()}

    def settle(self, parts: Parts, train: Ratings, validation: Ratings | None) -> dict[str, Array]:
        return weighed(self.config, parts, train, validation).to_arrays()

    def layout(self, sizes: Sizes) -> Layout:
        return members_layout(self.members_among(sizes.shapes), sizes, sizes.items)

    def _exposure(self) -> Exposure:
        def make() -> Exposure:
            catalogue, members = self.catalogue, self.config.members
            models = {
                name: self.fitted_member(name, members[name], catalogue)
                for name in self.fitted_names()
            }
            return Exposure.from_arrays(self.arrays, models, catalogue)

        return self.cache("exposure", make)

    def score_block(self, users: Codes, weights: Float32s) -> Float32s:
        return self._exposure().block(users, weights)

    def score_pairs(self, users: Codes, items: Codes) -> Float32s:
        return self._exposure().pairs(users, items)

    def fold_in_users(self, profiles: Profiles) -> dict[str, Array | NewRows] | None:
        return fold_in_members(self.members, profiles)


def weighed(
    config: BlendConfig, parts: Parts, train: Ratings, validation: Ratings | None
) -> Exposure:
    """Learn what members count, from the half of the validation users that stopped none."""
    held_out = None if validation is None else halves(train, validation, config.seed)[1]
    return learn_exposure(
        parts.models,
        train,
        held_out,
        loss=config.loss,
        family=Gaussian(config.margin),
        regularization=config.weight_regularization,
        negatives=config.negatives,
        seed=config.seed,
        files=parts.files,
    )
