"""New users, new items and new ratings without training again; and training that goes on."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dmrank
from dmrank import (
    DMR,
    EASE,
    EFM,
    IALS,
    MBPR,
    PTF,
    ConfigError,
    DataError,
    ItemMean,
    Model,
    NotFittedError,
    Popularity,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    UnsupportedError,
    make_ratings,
)
from dmrank.answers.fold_in.estimation import OwnCovariance, fit_covariance, fit_factors
from dmrank.answers.fold_in.linear import LinearPairs
from dmrank.directional import (
    Gaussian,
    Student,
    inverse_wishart_log_prior,
    log_likelihood,
)
from dmrank.directional.whitening import whiten

ASPECTS = ["overall", "service", "value"]
QUICK = {"iterations": 400, "evaluate_every": 200, "batch_size": 256, "factors": 4, "threads": 1}
#: Models that can, with parameters that make them quick.
FOLDING: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "dmr": (DMR, {**QUICK}),
    "dmr, student": (DMR, {**QUICK, "family": "student", "hard_negatives": 3}),
    "dmr, shared": (DMR, {**QUICK, "covariance": "shared", "rated_share": 0.5}),
    "dmr, identity": (DMR, {**QUICK, "covariance": "identity", "nonnegative": True}),
    "dmr, offsets": (DMR, {**QUICK, "item_offsets": True, "rated_share": 1.0, "missing": "zero"}),
    "dmr, items alone": (DMR, {**QUICK, "user_weight": 0.0}),
    "mbpr": (MBPR, {**QUICK}),
    "ials": (IALS, {"factors": 4}),
    "ptf": (PTF, {"factors": 4}),
    "ease": (EASE, {"regularization": 10.0}),
    "ease-pruned": (EASE, {"regularization": 10.0, "weights_per_item": 20}),
    "itemmean": (ItemMean, {}),
    "popularity": (Popularity, {}),
}


def ratings_of(users: int = 120, items: int = 40, seed: int = 1) -> Ratings:
    return make_ratings(users, items, users * 25, aspects=ASPECTS, missing=0.1, seed=seed).ratings


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return ratings_of()


@pytest.fixture(scope="module")
def fitted(ratings: Ratings) -> dict[str, Model]:
    return {}


@pytest.fixture(params=FOLDING)
def model(request, fitted: dict[str, Model], ratings: Ratings) -> Model:
    name = request.param
    if name not in fitted:
        kind, quick = FOLDING[name]
        fitted[name] = kind(**quick).fit(ratings)
    return fitted[name]


@pytest.fixture
def dmr(fitted: dict[str, Model], ratings: Ratings) -> Model:
    if "dmr" not in fitted:
        fitted["dmr"] = DMR(**QUICK).fit(ratings)
    return fitted["dmr"]


def rows_of(ratings: Ratings, user: str, name: str) -> pl.DataFrame:
    """The ratings of a user, under another name."""
    table = ratings.to_polars().drop("item_name").filter(pl.col("user") == user)
    return table.with_columns(user=pl.lit(name))


def test_a_new_user_gets_lists_without_what_was_rated(model: Model, ratings: Ratings) -> None:
    new = rows_of(ratings, "u000003", "newcomer")
    view = model.fold_in(new)
    listed = view.recommend("newcomer", n=99)
    assert not set(listed["item"]) & set(new["item"])
    assert len(listed) == len(ratings.items) - len(new)
    assert np.isfinite(view.predict("newcomer", list(ratings.items))).all()


def test_the_model_itself_stays_as_it_is(model: Model, ratings: Ratings) -> None:
    items = list(ratings.items)
    before = model.predict("u000003", items)
    view = model.fold_in(rows_of(ratings, "u000007", "newcomer"))
    with pytest.raises(UnknownUserError):
        model.recommend("newcomer")
    np.testing.assert_array_equal(model.predict("u000003", items), before)
    np.testing.assert_array_equal(view.predict("u000003", items), before)
    assert view.recommend("u000003").equals(model.recommend("u000003"))


def test_the_same_ratings_give_the_same_user(model: Model, ratings: Ratings) -> None:
    items = list(ratings.items)
    together = pl.concat([rows_of(ratings, "u000003", "one"), rows_of(ratings, "u000007", "two")])
    view, alone = model.fold_in(together), model.fold_in(rows_of(ratings, "u000007", "two"))
    np.testing.assert_allclose(view.predict("two", items), alone.predict("two", items), rtol=1e-5)
    shuffled = model.fold_in(together.sample(fraction=1.0, shuffle=True, seed=3))
    np.testing.assert_array_equal(view.predict("one", items), shuffled.predict("one", items))


def test_a_user_folded_in_is_like_one_who_was_trained(model: Model, ratings: Ratings) -> None:
    items = list(ratings.items)
    likeness = []
    for code in range(0, 120, 8):
        name = ratings.users[code]
        view = model.fold_in(rows_of(ratings, name, "twin"))
        twin, trained = (view.predict(who, items, raw=True)[:, 0] for who in ("twin", name))
        if np.ptp(trained) > 0:
            likeness.append(np.corrcoef(twin, trained)[0, 1])
    assert np.median(likeness) > 0.8


def test_new_ratings_of_a_known_user_are_listened_to(ratings: Ratings) -> None:
    model = PTF(factors=4).fit(ratings)
    unseen = model.recommend("u000003", n=99)["item"].to_list()[:6]
    shift = {}
    for rating in (1.0, 5.0):
        new = pl.DataFrame({"user": "u000003", "item": unseen}).with_columns(
            pl.lit(rating).alias(name) for name in ASPECTS
        )
        view = model.fold_in(new)
        assert not set(unseen) & set(view.recommend("u000003", n=99)["item"])
        shift[rating] = view.predict("u000003", list(ratings.items)).mean()
    assert shift[1.0] < shift[5.0]


def test_the_old_ratings_of_a_known_user_count_on(dmr: Model, ratings: Ratings) -> None:
    items = list(ratings.items)
    new = pl.DataFrame({"user": ["u000003"], "item": ["h000001"], "overall": [3.0]})
    before = dmr.predict("u000003", items, raw=True)[:, 0]
    after = dmr.fold_in(new).predict("u000003", items, raw=True)[:, 0]
    assert np.corrcoef(before, after)[0, 1] > 0.8


@pytest.mark.parametrize("name", ["dmr", "dmr, student", "dmr, offsets", "mbpr", "ials", "ptf"])
def test_a_new_item_is_ranked_for_everybody(name: str, ratings: Ratings) -> None:
    kind, quick = FOLDING[name]
    model = kind(**quick).fit(ratings)
    new = (
        ratings.to_polars()
        .drop("item_name")
        .filter(pl.col("item") == "h000002")
        .with_columns(item=pl.lit("new hotel"))
    )
    view = model.fold_in(new, of="items")
    assert "new hotel" in set(view.recommend("u000003", n=99, exclude_seen=False)["item"])
    users = list(ratings.users)
    twin, trained = (view.predict(users, i, raw=True)[:, 0] for i in ("new hotel", "h000002"))
    assert np.corrcoef(twin, trained)[0, 1] > 0.7
    assert "new hotel" not in model.catalogue.items
    rater = new["user"][0]
    assert "new hotel" not in set(view.recommend(rater, n=99)["item"])
    with pytest.raises(UnknownUserError):
        model.fold_in(new.with_columns(user=pl.lit("nobody")), of="items")


def test_a_view_can_be_folded_into_and_saved(
    model: Model, ratings: Ratings, tmp_path: Path
) -> None:
    view = model.fold_in(rows_of(ratings, "u000003", "zoe"))
    view = view.fold_in(rows_of(ratings, "u000007", "abe"))
    again = dmrank.load(view.save(tmp_path / "view.dmrank"))
    for user in ("zoe", "abe", "u000003"):
        assert again.recommend(user, n=5).equals(view.recommend(user, n=5))


def test_a_folded_user_can_be_compared_and_explained(dmr: Model, ratings: Ratings) -> None:
    view = dmr.fold_in(rows_of(ratings, "u000003", "newcomer"))
    assert 0 <= view.compare("newcomer", "h000001", "h000002").confidence <= 1
    why = view.explain("newcomer", "h000001").table
    of_user = ratings.of_user("u000003").values
    service = why.row(by_predicate=pl.col("aspect") == "service", named=True)
    assert service["user_mean"] == pytest.approx(np.nanmean(of_user[:, 1]))
    correlation = view.correlation("newcomer", "h000001")
    assert np.linalg.eigvalsh(correlation).min() > 0


def test_ratings_are_taken_as_well_as_tables(dmr: Model, ratings: Ratings) -> None:
    table = rows_of(ratings, "u000003", "newcomer")
    as_ratings = Ratings.from_arrays(
        table["user"], table["item"], table.select(ASPECTS).to_numpy(), aspects=ASPECTS
    )
    items = list(ratings.items)
    one, other = (dmr.fold_in(given).predict("newcomer", items) for given in (table, as_ratings))
    np.testing.assert_array_equal(one, other)


def test_of_a_repeated_rating_the_last_counts(dmr: Model) -> None:
    def new(values: list[float]) -> pl.DataFrame:
        rows = {"user": "n", "item": ["h000001"] * len(values), "overall": values}
        return pl.DataFrame(rows)

    items = list(dmr.catalogue.items)
    one, other = (dmr.fold_in(new(v)).predict("n", items) for v in ([1.0, 5.0], [5.0]))
    np.testing.assert_array_equal(one, other)


def test_a_model_that_cannot_says_so(ratings: Ratings) -> None:
    new = rows_of(ratings, "u000003", "newcomer")
    with pytest.raises(UnsupportedError, match="EFM cannot fold in users: fit it again"):
        EFM(iterations=5, evaluate_every=5).fit(ratings).fold_in(new)
    known = rows_of(ratings, "u000003", "u000003")
    with pytest.raises(UnsupportedError, match="EASE cannot fold in items"):
        EASE(regularization=1.0).fit(ratings).fold_in(known, of="items")


def test_bad_input_is_a_typed_error(dmr: Model) -> None:
    def new(**columns) -> pl.DataFrame:
        return pl.DataFrame({"user": ["n"], "item": ["h000001"], "overall": [3.0], **columns})

    with pytest.raises(UnknownItemError, match="item 'h00000' .* did you mean"):
        dmr.fold_in(new(item=["h00000"]))
    with pytest.raises(DataError, match="rating 9 of 'overall' .* outside its scale"):
        dmr.fold_in(new(overall=[9]))
    with pytest.raises(UnknownAspectError):
        dmr.fold_in(new(food=[3]))
    with pytest.raises(DataError, match="no rating on any aspect"):
        dmr.fold_in(new(overall=[None]).cast({"overall": pl.Float64}))
    with pytest.raises(ConfigError, match="of='user': did you mean 'users'"):
        dmr.fold_in(new(), of="user")
    with pytest.raises(NotFittedError):
        DMR().fold_in(new())


# The mathematics.


def _problem(seed: int, aspects: int = 3, factors: int = 2, pairs: int = 40) -> LinearPairs:
    rng = np.random.default_rng(seed)
    kept = rng.random((pairs, aspects)) < 0.8
    kept[:, 0] = True
    difference = np.where(kept, rng.integers(-4, 5, (pairs, aspects)), 0).astype(np.float64)
    difference[:, 0] = 1 + rng.integers(0, 4, pairs)
    root = rng.normal(size=(aspects, aspects)) + np.eye(aspects)
    return LinearPairs(
        design=rng.normal(size=(pairs, aspects, factors)),
        constant=0.2 * rng.normal(size=(pairs, aspects)),
        difference=difference,
        kept=kept,
        covariance=np.tile(root @ root.T + np.eye(aspects), (pairs, 1, 1)),
        weight=1 + rng.random(pairs),
    )


def _objective(pairs: LinearPairs, x, family, ridge, covariance=None) -> float:
    mean = pairs.design @ x + pairs.constant
    sigma = pairs.covariance if covariance is None else covariance
    likelihood = log_likelihood(pairs.difference, mean, sigma, family, pairs.kept)
    return float(pairs.weight @ likelihood / pairs.weight.sum() - ridge @ x**2 / 2)


FAMILIES = [Gaussian(margin=0.2), Student(degrees_of_freedom=5.0, margin=0.2)]


@pytest.mark.parametrize("family", FAMILIES, ids=["gaussian", "student"])
@settings(max_examples=25)
@given(seed=st.integers(0, 1_000))
def test_factors_are_at_the_maximum(family, seed: int) -> None:
    pairs, ridge = _problem(seed), np.full(2, 0.05)
    x = fit_factors(pairs, np.zeros(2), family, ridge)
    best = _objective(pairs, x, family, ridge)
    around = np.random.default_rng(seed).normal(size=(20, 2)) * 0.05
    assert all(_objective(pairs, x + step, family, ridge) <= best + 1e-6 for step in around)


def test_nonnegative_factors_stay_so() -> None:
    pairs, ridge = _problem(3), np.full(2, 0.05)
    free = fit_factors(pairs, np.zeros(2), FAMILIES[0], ridge)
    bound = fit_factors(pairs, np.zeros(2), FAMILIES[0], ridge, nonnegative=True)
    assert free.min() < 0 <= bound.min()


@pytest.mark.parametrize("family", FAMILIES, ids=["gaussian", "student"])
@settings(max_examples=25)
@given(seed=st.integers(0, 1_000))
def test_every_covariance_step_is_at_least_as_likely(family, seed: int) -> None:
    pairs, x = _problem(seed), np.array([0.5, -0.3])
    strength, ratings = 12.0, 8.0
    prior = strength * np.eye(3)

    def posterior(sigma) -> float:
        of_pairs = pairs.covariance + 0.8 * sigma
        likelihood = _objective(pairs, x, family, np.zeros(2), of_pairs)
        return ratings * likelihood + float(inverse_wishart_log_prior(sigma, prior, strength - 4))

    own = OwnCovariance(np.eye(3), 0.8, prior, strength, ratings)
    found = fit_covariance(pairs, x, family, own)
    assert np.linalg.eigvalsh(found).min() > 0
    assert posterior(found) >= posterior(own.start) - 1e-9


def test_whitening_is_a_triangular_solve_over_what_is_kept() -> None:
    pairs = _problem(5, aspects=4)
    columns = np.random.default_rng(0).normal(size=(40, 4, 3))
    found = whiten(pairs.covariance, pairs.kept, columns)
    for row, kept in enumerate(pairs.kept):
        root = np.linalg.cholesky(pairs.covariance[row][np.ix_(kept, kept)])
        np.testing.assert_allclose(found[row, kept], np.linalg.solve(root, columns[row, kept]))
        assert not found[row, ~kept].any()


# Training that goes on.


@pytest.mark.parametrize("kind", [DMR, MBPR], ids=lambda kind: kind.__name__)
def test_training_goes_on_where_a_model_was(kind: type[Model], ratings: Ratings) -> None:
    known = ratings.select(np.flatnonzero(ratings.user_codes < 100)).compact()
    model = kind(**{**QUICK, "iterations": 800}).fit(known)
    cold = kind(**{**QUICK, "iterations": 20, "evaluate_every": 20}).fit(ratings)
    warm = cold.clone().fit(ratings, start=model)
    assert warm.history.objective[0] > cold.history.objective[0]
    assert len(warm.catalogue.users) == len(ratings.users)
    again = cold.clone().fit(ratings, start=model)
    np.testing.assert_array_equal(warm.arrays["users"], again.arrays["users"])


def test_a_model_can_start_from_itself(ratings: Ratings) -> None:
    model = DMR(**QUICK).fit(ratings)
    first = model.history.objective[0]
    assert model.fit(ratings, start=model).history.objective[0] > first


def test_a_killed_fit_goes_on_from_the_same_start_only(ratings: Ratings, tmp_path: Path) -> None:
    model = DMR(**QUICK).fit(ratings)
    DMR(**QUICK).fit(ratings, start=model, checkpoint=tmp_path)
    other = DMR(**QUICK, margin=0.1).fit(ratings)
    with pytest.raises(ConfigError, match="another run"):
        DMR(**QUICK).fit(ratings, start=other, checkpoint=tmp_path)


def test_an_impossible_start_is_refused(ratings: Ratings, dmr: Model) -> None:
    with pytest.raises(ConfigError, match="start is a DMR, not a MBPR"):
        MBPR(**QUICK).fit(ratings, start=dmr)
    with pytest.raises(ConfigError, match="start has factors=4, not 2"):
        DMR(**{**QUICK, "factors": 2}).fit(ratings, start=dmr)
    with pytest.raises(ConfigError, match="start has covariance='personalized', not 'identity'"):
        DMR(**QUICK, covariance="identity").fit(ratings, start=dmr)
    with pytest.raises(UnsupportedError, match="EASE cannot go on"):
        EASE(regularization=1.0).fit(ratings, start=dmr)
    fewer = make_ratings(60, 20, 900, aspects=["overall", "food"], seed=1).ratings
    with pytest.raises(DataError, match="fitted on other aspects"):
        DMR(**QUICK).fit(fewer, start=dmr)
    with pytest.raises(NotFittedError):
        DMR(**QUICK).fit(ratings, start=DMR(**QUICK))
