"""Completing ratings that have some aspects."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dmrank import (
    DMR,
    DataError,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    make_ratings,
)
from dmrank.directional.condition import condition

ASPECTS = ["overall", "service", "value", "rooms"]
QUICK = {"iterations": 300, "evaluate_every": 100, "batch_size": 256, "factors": 4, "threads": 1}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(200, 50, 6_000, aspects=ASPECTS, seed=1).ratings


@pytest.fixture(scope="module")
def model(ratings: Ratings) -> DMR:
    return DMR(**QUICK, rated_share=0.5).fit(ratings)


def asked(**columns) -> pl.DataFrame:
    return pl.DataFrame({"user": ["u000003"], "item": ["h000001"], **columns})


@given(
    seed=st.integers(0, 10_000),
    known=st.lists(st.booleans(), min_size=2, max_size=6),
)
def test_the_kernel_is_the_textbook_conditional(seed: int, known: list[bool]) -> None:
    K, given_ = len(known), np.array(known)
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(K, K)) + np.eye(K)
    sigma, mean = root @ root.T + 0.1 * np.eye(K), rng.normal(size=K)
    x = np.where(given_, rng.normal(size=K), np.nan)
    found = condition(mean[None], sigma[None], x[None])
    m = ~given_
    gain = np.linalg.solve(sigma[np.ix_(given_, given_)], sigma[np.ix_(given_, m)]).T
    np.testing.assert_allclose(found.mean[0, m], mean[m] + gain @ (x - mean)[given_], rtol=1e-7)
    left = sigma[np.ix_(m, m)] - gain @ sigma[np.ix_(given_, m)]
    np.testing.assert_allclose(found.deviation[0, m] ** 2, np.diagonal(left), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.mean[0, given_], x[given_])
    np.testing.assert_array_equal(found.deviation[0, given_], 0)


def test_nothing_given_is_the_prediction(model: DMR) -> None:
    found = model.complete(asked())
    predicted = model.predict("u000003", "h000001")[0]
    np.testing.assert_allclose(found.select(ASPECTS).row(0), predicted, rtol=1e-5)
    factor = model.calibration.covariance_factor[0]
    sigma = factor * model.covariances(np.array([3]), np.array([1]))[0]
    deviations = found.select(f"{name}_sd" for name in ASPECTS).row(0)
    np.testing.assert_allclose(deviations, np.sqrt(np.diagonal(sigma)), rtol=1e-5)


def test_what_is_given_stays_and_is_certain(model: DMR) -> None:
    found = model.complete(asked(overall=[2], value=[5.0], service=[None])).row(0, named=True)
    assert (found["overall"], found["value"]) == (2.0, 5.0)
    assert found["overall_sd"] == found["value_sd"] == 0
    assert found["service_sd"] > 0


def test_a_high_rating_on_one_aspect_raises_the_others(model: DMR) -> None:
    rows = pl.DataFrame({"user": "u000003", "item": "h000001", "overall": [1.0, 3.0, 5.0]})
    service = model.complete(rows)["service"].to_list()
    assert service == sorted(service)
    assert service[0] < service[2]


def test_more_given_is_less_uncertain(model: DMR) -> None:
    one = model.complete(asked(overall=[4.0]))["rooms_sd"][0]
    two = model.complete(asked(overall=[4.0], service=[4.0]))["rooms_sd"][0]
    assert two < one < model.complete(asked())["rooms_sd"][0]


def test_rows_keep_their_order(model: DMR) -> None:
    table = pl.DataFrame(
        {
            "user": ["u000009", "u000003", "u000009"],
            "item": ["h000001", "h000002", "h000001"],
            "service": [None, 3, 1],
        }
    )
    found = model.complete(table)
    assert found.select("user", "item").equals(table.select("user", "item"))
    assert found["service"].to_list()[1:] == [3, 1]


def test_ratings_and_pandas_tables_are_taken(model: DMR, ratings: Ratings) -> None:
    hidden = ratings.values.copy()
    hidden[:, 2] = np.nan
    some = Ratings.from_codes(
        ratings.users, ratings.items, ratings.user_codes, ratings.item_codes, hidden,
        aspects=ASPECTS, scale=(1, 5),
    ).select(np.arange(50))  # fmt: skip
    found = model.complete(some)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(some.to_polars().drop("value").to_dict(as_series=False))
    again = model.complete(table.drop(columns="item_name", errors="ignore"))
    np.testing.assert_allclose(found["value"], again["value"])


def test_other_scales_are_mapped_back() -> None:
    table = make_ratings(200, 50, 4_000, aspects=["overall", "palate"], seed=2).ratings.to_polars()
    stretched = np.column_stack([(table["overall"] - 1) * 4.75 + 1, table["palate"]])
    scale = {"overall": (1, 20), "palate": (1, 5)}
    names = ["overall", "palate"]
    ids = (table["user"], table["item"])
    wide = DMR(**QUICK).fit(Ratings.from_arrays(*ids, stretched, aspects=names, scale=scale))
    plain = DMR(**QUICK).fit(
        Ratings.from_arrays(*ids, table.select(names).to_numpy(), aspects=names, scale=(1, 5))
    )
    one, other = (model.complete(asked(palate=[2.0])) for model in (wide, plain))
    assert (one["overall"][0] - 1) / 4.75 + 1 == pytest.approx(other["overall"][0], abs=1e-3)
    assert one["overall_sd"][0] / 4.75 == pytest.approx(other["overall_sd"][0], rel=1e-3)


def test_intervals_cover_what_was_hidden() -> None:
    ratings = make_ratings(300, 60, 12_000, aspects=ASPECTS, seed=5).ratings
    split = ratings.split(seed=0)
    model = DMR(iterations=1_000, factors=4, rated_share=1.0, threads=1)
    model.fit(split.train, validation=split.validation)
    table = split.test.to_polars()
    found = model.complete(table.select("user", "item", "overall", "service"))
    error = (found["value"] - table["value"]).to_numpy()
    inside = np.abs(error) <= 1.645 * found["value_sd"].to_numpy()
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    alone = table["value"].to_numpy() - model.predict(table["user"], table["item"])[:, 2]
    assert np.sqrt((error**2).mean()) < 0.95 * np.sqrt((alone**2).mean())


def test_bad_input_is_a_typed_error(model: DMR) -> None:
    with pytest.raises(UnknownUserError):
        model.complete(asked().with_columns(user=pl.lit("nobody")))
    with pytest.raises(UnknownItemError):
        model.complete(asked().with_columns(item=pl.lit("nowhere")))
    with pytest.raises(UnknownAspectError, match="'servise' is no aspect .* 'service'"):
        model.complete(asked(servise=[3]))
    with pytest.raises(DataError, match=r"rating 7 of 'service' .* outside its scale 1–5"):
        model.complete(asked(service=[7]))
    with pytest.raises(DataError, match="no column 'item'"):
        model.complete(pl.DataFrame({"user": ["u000003"], "service": [3]}))
    with pytest.raises(DataError, match="no rows"):
        model.complete(asked().head(0))
    with pytest.raises(DataError, match="has no user"):
        model.complete(pl.DataFrame({"user": [None, "u000003"], "item": ["h000001"] * 2}))
    with pytest.raises(DataError, match="cannot read ratings from int"):
        model.complete(3)
