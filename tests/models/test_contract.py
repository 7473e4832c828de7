"""What every model promises."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from numpy.typing import NDArray

import dmrank
from dmrank import (
    DMR,
    EASE,
    EFM,
    IALS,
    MBPR,
    MTER,
    PTF,
    SPSMTL,
    Blend,
    ConfigError,
    Cooccurrence,
    DataError,
    ExSAE,
    Hurdle,
    ItemMean,
    MixedEffects,
    Model,
    NeuralDMR,
    NotFittedError,
    Popularity,
    Ratings,
    UnknownAspectError,
    UnknownItemError,
    UnknownUserError,
    UnsupportedError,
)
from dmrank.answers.list_rows import make_rows
from tests.strategies import id_columns

QUICK = {"iterations": 800, "evaluate_every": 200}

#: Every model, with parameters that make it quick on small data.
MODELS: dict[str, tuple[type[Model], dict[str, Any]]] = {
    "blend": (Blend, {"members": {"ease": {"regularization": 1.0}, "ials": {"factors": 8}}}),
    "cooccurrence": (Cooccurrence, {}),
    "dmr": (DMR, {**QUICK, "batch_size": 256, "factors": 4, "learning_rate": 0.3}),
    "ease": (EASE, {"regularization": 1.0}),
    "ease-pruned": (EASE, {"regularization": 1.0, "weights_per_item": 6}),
    "efm": (
        EFM,
        {
            "iterations": 200,
            "evaluate_every": 50,
            "explicit_factors": 4,
            "latent_factors": 4,
            "regularization": 0.1,
            "explicit_share": 0.1,
        },
    ),
    "exsae": (
        ExSAE,
        {"iterations": 100, "evaluate_every": 50, "learning_rate": 0.02, "threads": 1},
    ),
    "hurdle": (Hurdle, {"members": {"ease": {"regularization": 1.0}, "ials": {"factors": 8}}}),
    "ials": (IALS, {"factors": 8}),
    "itemmean": (ItemMean, {}),
    "mbpr": (MBPR, {**QUICK, "batch_size": 256, "factors": 4, "regularization": 0.05}),
    "mixedeffects": (MixedEffects, {"iterations": 20, "evaluate_every": 10}),
    "mter": (MTER, {**QUICK, "batch_size": 256, "factors": 4, "ranking_weight": 10.0}),
    "neuraldmr": (
        NeuralDMR,
        {
            "iterations": 200,
            "evaluate_every": 50,
            "batch_size": 128,
            "factors": 8,
            "width": 8,
            "learning_rate": 0.02,
            "regularization": 0.003,
            "threads": 1,
        },
    ),
    "popularity": (Popularity, {}),
    "ptf": (PTF, {"factors": 4, "regularization": 0.1}),
    "spsmtl": (
        SPSMTL,
        {
            "iterations": 200,
            "evaluate_every": 50,
            "batch_size": 128,
            "factors": 16,
            "widths": (16, 16, 8, 8),
            "learning_rate": 0.02,
            "threads": 1,
        },
    ),
}
#: Models that have the same list for everybody.
IMPERSONAL = {"itemmean", "mixedeffects", "popularity"}
#: Models that learn from ratings alone, not from who rated what.
RATING_PREDICTORS = {"efm", "exsae", "itemmean", "mixedeffects", "ptf"}
#: Models that learn from who rated what alone, with one score for all aspects.
WITHOUT_ASPECTS = {"blend", "cooccurrence", "ease", "ease-pruned", "ials", "popularity"}
#: Models without iterations; what is special about those of members is in test_composite.py.
AT_ONCE = {
    "blend", "cooccurrence", "ease", "ease-pruned", "hurdle", "itemmean", "popularity",
}  # fmt: skip
#: Models without random numbers.
DETERMINISTIC = {name for name, (kind, _) in MODELS.items() if not kind.Config.is_random}
#: Models that have to be fitted again for any new rating.
WITHOUT_FOLDING = {"efm", "exsae", "mter", "neuraldmr", "spsmtl"}
#: PyTorch sums in another order on another number of threads.
SAME_THREADS_ONLY = {"exsae", "neuraldmr", "spsmtl"}


def models(without: set[str] = frozenset()) -> pytest.MarkDecorator:
    """Run a test on every model but some that cannot do what it asks for."""
    return pytest.mark.parametrize("name", [name for name in MODELS if name not in without])


@pytest.fixture(params=MODELS)
def name(request) -> str:
    return request.param


@pytest.fixture
def make(name: str) -> Callable[..., Model]:
    kind, quick = MODELS[name]
    return lambda **more: kind(**{**quick, **more})


SIZE = 12
SEEN_SQUARES = [(u, i) for u in range(SIZE) for i in range(SIZE) if (u + i) % 2 == 0 and u != i]
ALL_SQUARES = [(u, i) for u in range(SIZE) for i in range(SIZE) if i not in (u, (u + 1) % SIZE)]


def exposure_board() -> Ratings:
    """Even users rate even items, odd users odd items; the diagonal is left to be recommended."""
    values = 4.0 + np.random.default_rng(0).integers(-1, 2, (len(SEEN_SQUARES), 2))
    return _board(SEEN_SQUARES, values)


def rating_board() -> Ratings:
    """Even users love even items and hate odd ones; of two items left the diagonal is better."""
    loved = np.array([(u + i) % 2 == 0 for u, i in ALL_SQUARES])
    return _board(ALL_SQUARES, np.repeat(np.where(loved, 5.0, 1.0)[:, None], 2, axis=1))


def _board(squares: list[tuple[int, int]], values: NDArray[np.float64]) -> Ratings:
    return Ratings.from_arrays(
        [f"u{u:02}" for u, _ in squares],
        [f"i{i:02}" for _, i in squares],
        values,
        aspects=["overall", "service"],
        scale=(1, 5),
    )


def two_tastes(users: int = 60, items: int = 20, seed: int = 3) -> Ratings:
    """Items are good on one aspect and bad on the other; everybody agrees."""
    rng = np.random.default_rng(seed)
    quality = np.linspace(1, 5, items)
    rows = [(u, i) for u in range(users) for i in rng.choice(items, 12, replace=False)]
    values = [[quality[i], quality[items - 1 - i]] for _, i in rows]
    return Ratings.from_arrays(
        [f"u{u:02}" for u, _ in rows],
        [f"i{i:02}" for _, i in rows],
        np.rint(values),
        aspects=["service", "value"],
        scale=(1, 5),
    )


@pytest.fixture(scope="module")
def board() -> Ratings:
    return exposure_board()


@functools.cache
def fitted(name: str, on_ratings: bool = False) -> Model:
    """Return a model that is asked but never changed: fitting it once is enough."""
    kind, quick = MODELS[name]
    return kind(**quick, seed=1).fit(rating_board() if on_ratings else exposure_board())


@pytest.fixture
def model(name: str) -> Model:
    return fitted(name)


@models(without=IMPERSONAL)
def test_the_missing_square_of_a_checkerboard_is_recommended(name: str) -> None:
    model = fitted(name, on_ratings=name in RATING_PREDICTORS)
    users = [f"u{u:02}" for u in range(SIZE)]
    best = model.recommend(users, n=1)
    assert best["user"].to_list() == users
    assert best["item"].to_list() == [f"i{u:02}" for u in range(SIZE)]


@models(without=WITHOUT_ASPECTS)
def test_ranking_by_another_aspect_gives_another_correct_order(name: str, make) -> None:
    ratings = two_tastes()
    model = make(seed=2, **({"rated_share": 1.0} if "rated_share" in make().get_params() else {}))
    model.fit(ratings)
    users = list(ratings.users)
    by_service = model.recommend(users, n=20, by="service", exclude_seen=False)
    by_value = model.recommend(users, n=20, by="value", exclude_seen=False)
    assert _mean_place(by_service, "i19") + 8 < _mean_place(by_service, "i00")
    assert _mean_place(by_value, "i00") + 8 < _mean_place(by_value, "i19")


def _mean_place(table, item: str) -> float:
    return float(table.filter(table["item"] == item)["rank"].mean())


def test_what_was_seen_is_left_out_unless_asked_for(model: Model, board: Ratings) -> None:
    everything = model.recommend("u03", n=99)
    seen = {board.items[code] for code in board.of_user("u03").codes}
    assert set(everything["item"]) == set(board.items) - seen
    assert set(model.recommend("u03", n=99, exclude_seen=False)["item"]) == set(board.items)


def test_filters_leave_the_order_of_what_remains(model: Model, board: Ratings) -> None:
    full = model.recommend("u03", n=99, exclude_seen=False)["item"].to_list()
    some, blocked = full[1::2], full[3]
    kept = [item for item in some if item != blocked]
    options = {"n": 99, "exclude_seen": False, "block": [blocked]}
    if isinstance(model, Hurdle):  # which else ranks given candidates by preference alone
        options["preference"] = model.preference
    for filters in ({"allow": some}, {"candidates": some}, {"candidates": {"u03": some}}):
        assert model.recommend("u03", **options, **filters)["item"].to_list() == kept


@models(without=IMPERSONAL | {"hurdle"})
def test_all_aspects_together_mostly_recommend_the_missing_square(name: str) -> None:
    model = fitted(name, on_ratings=name in RATING_PREDICTORS)
    best = model.recommend([f"u{u:02}" for u in range(SIZE)], n=1, by="all")
    # On such a small board the square need not be the best on both aspects.
    assert sum(best["item"] == [f"i{u:02}" for u in range(SIZE)]) >= SIZE - 2
    assert best["score"].is_between(0, 1).all()


@models(without=IMPERSONAL | {"hurdle"})
def test_squares_of_one_colour_are_alike(name: str) -> None:
    model = fitted(name, on_ratings=name in RATING_PREDICTORS)
    items = model.similar_items("i04", n=5)["item"].to_list()
    users = model.similar_users("u04", n=5, by={"overall": 1, "service": 1})["user"].to_list()
    assert sorted(items) == ["i00", "i02", "i06", "i08", "i10"]
    assert sorted(users) == ["u00", "u02", "u06", "u08", "u10"]


@models(without={name for name in MODELS if name not in IMPERSONAL})
def test_without_taste_there_is_still_an_answer(name: str, make) -> None:
    model = make().fit(two_tastes())
    assert model.similar_items("i04", n=2)["similarity"].is_between(-1, 1).all()
    assert len(model.similar_users("u04", n=3)) == 3
    assert model.recommend("u04", n=3, by="all")["score"].is_between(0, 1).all()


def changed(*values: float, item: str = "i01") -> Ratings:
    """Another rating of an item that u03 has rated."""
    return Ratings.from_arrays(["u03"], [item], [values], aspects=["overall", "service"])


@models(without=WITHOUT_FOLDING)
def test_a_known_user_changes_a_rating(name: str, board: Ratings) -> None:
    model, items = fitted(name), list(board.items)
    before = model.predict("u03", items)
    low, high = (model.fold_in(changed(r, r)).predict("u03", items) for r in (1.0, 5.0))
    assert np.isfinite(low).all()
    # A model of orders says how the item stands to others, any other what it is worth.
    of_item = items.index("i01")
    standing = [(table[of_item] - table.mean(axis=0)).mean() for table in (low, high)]
    assert standing[0] < standing[1] or low.mean() < high.mean()
    np.testing.assert_array_equal(model.predict("u03", items), before)


@models(without=WITHOUT_FOLDING)
def test_a_changed_rating_takes_the_place_of_the_old_one(name: str, board: Ratings) -> None:
    model = fitted(name)
    view = model.fold_in(changed(2.0, 3.0))
    assert set(view.recommend("u03", n=99)["item"]) == set(model.recommend("u03", n=99)["item"])
    for counts in ("user_counts", "item_counts"):
        np.testing.assert_array_equal(
            view.catalogue.evidence.arrays[counts], model.catalogue.evidence.arrays[counts]
        )
    items = list(board.items)
    together = Ratings.from_arrays(
        ["u03"] * 2, ["i00", "i01"], [[4.0, 4.0], [2.0, 3.0]], aspects=["overall", "service"]
    )
    mixed = model.fold_in(together)  # a new one, and a changed one
    assert "i00" not in set(mixed.recommend("u03", n=99)["item"])
    assert np.isfinite(mixed.predict("u03", items)).all()


@models(without=WITHOUT_FOLDING)
def test_a_changed_rating_survives_a_file(name: str, board: Ratings, tmp_path: Path) -> None:
    view = fitted(name).fold_in(changed(2.0, 3.0))
    again = dmrank.load(view.save(tmp_path / "view.dmrank"))
    items = list(board.items)
    np.testing.assert_array_equal(again.predict("u03", items), view.predict("u03", items))


def test_lists_by_many_mixes_at_once_are_those_of_each_alone(model: Model) -> None:
    users = np.array([3, 5, 3, 8])
    mixes = np.float32([[1, 2], [0, 1], [3, 1], [1, 2]])
    rows = make_rows(model, users, mixes, 4, model.catalogue.seen_by(users))
    for place, (user, mix) in enumerate(zip(users, mixes.tolist(), strict=True)):
        alone = model.recommend(f"u{user:02}", n=4, by=dict(zip(model.aspects, mix, strict=True)))
        own = slice(rows.pointer[place], rows.pointer[place + 1])
        assert model.items[rows.items[own]].to_list() == alone["item"].to_list()
        np.testing.assert_allclose(rows.scores[own], alone["score"], rtol=1e-5, atol=1e-5)
        predicted = model.predict(f"u{user:02}", alone["item"].to_list())
        np.testing.assert_allclose(rows.ratings[own], predicted, rtol=1e-6)
        assert rows.better_than_next is None or np.isnan(rows.better_than_next[own]).sum() == 1


def test_what_aspects_add_to_a_score_is_the_score(model: Model) -> None:
    users, mixes = np.array([3, 5]), np.float32([[1, 2], [2, 2]])
    rows = make_rows(model, users, mixes, 5, model.catalogue.seen_by(users))
    total = rows.contributions.sum(axis=1)
    if rows.exposure is not None:
        total += (1 - model.preference) * rows.exposure
    np.testing.assert_allclose(total, rows.scores, rtol=1e-4, atol=1e-4)


def test_vectors_are_handed_out_or_it_is_said_why_not(model: Model) -> None:
    try:
        users, items = model.vectors("service")
    except UnsupportedError as error:
        assert "no dot products" in str(error)  # noqa: PT017
        return
    listed = model.recommend("u03", n=99, by="service", exclude_seen=False)
    scores = items[model.catalogue.items.codes(listed["item"])] @ users[3]
    np.testing.assert_allclose(scores, listed["score"], rtol=1e-4, atol=1e-4)


def test_strangers_get_what_is_popular(model: Model) -> None:
    found = model.recommend(["u03", "stranger"], n=2, on_unknown="popular", aspects=True)
    assert found["personal"].to_list() == [True, True, False, False]
    assert found["service"].is_between(1, 5).all()


def test_ranks_start_at_1_and_scores_descend(model: Model) -> None:
    table = model.recommend(["u03", "u05"], n=4)
    assert table["rank"].to_list() == [1, 2, 3, 4] * 2
    scores = table.filter(table["user"] == "u05")["score"].to_list()
    assert scores == sorted(scores, reverse=True)


def test_predictions_are_ratings_on_the_scale(model: Model, board: Ratings) -> None:
    predictions = model.predict(board.users[0], list(board.items))
    assert predictions.shape == (12, 2)
    assert predictions.dtype == np.float32
    assert predictions.min() >= 1
    assert predictions.max() <= 5


def test_a_saved_model_predicts_the_same(model: Model, board: Ratings, tmp_path: Path) -> None:
    path = model.save(tmp_path / "board.dmrank")
    again = dmrank.load(path)
    assert type(again) is type(model)
    assert again.config == model.config
    assert again.card().to_dict() == model.card().to_dict()
    items = list(board.items)
    np.testing.assert_array_equal(again.predict("u03", items), model.predict("u03", items))
    assert again.recommend("u03").equals(model.recommend("u03"))
    assert [path.name for path in tmp_path.iterdir()] == ["board.dmrank"]


def test_same_seed_same_bits_whatever_the_threads(name: str, make, board: Ratings) -> None:
    counts = (2, 2) if name in SAME_THREADS_ONLY else (1, 2, 5)
    first, *others = (
        make(seed=7, threads=threads).fit(board).predict("u03", list(board.items), raw=True)
        for threads in counts
    )
    for other in others:
        np.testing.assert_array_equal(first, other)


@models(without=AT_ONCE)
def test_a_training_that_was_killed_goes_on_to_the_same_bits(
    name: str, make, board: Ratings, tmp_path: Path
) -> None:
    class Killed(Exception):  # noqa: N818
        pass

    def kill_at_the_second_look(history) -> None:
        if len(history.iterations) == 2:
            raise Killed

    whole = make(seed=7, threads=1).fit(board)
    with pytest.raises(Killed):
        make(seed=7, threads=1).fit(board, checkpoint=tmp_path, callback=kill_at_the_second_look)
    resumed = make(seed=7, threads=1).fit(board, checkpoint=tmp_path)
    assert resumed.history.iterations == whole.history.iterations
    for array, value in whole.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[array], value)
    with pytest.raises(ConfigError, match="checkpoint of another run"):
        make(seed=8).fit(board, checkpoint=tmp_path)


def test_another_seed_is_another_run_of_what_is_random(name: str, make, board: Ratings) -> None:
    one, two = (
        make(seed=seed).fit(board).recommend("u03", n=99, exclude_seen=False)["score"]
        for seed in (1, 2)
    )
    assert (one != two).any() == (name not in DETERMINISTIC)


def test_ids_are_preserved(make) -> None:
    names = {"u00": "Zoë 🏨", "u01": "007", "i00": "a,b\n", "i01": " "}
    table = exposure_board().to_polars()
    items = [names.get(item, item) for item in table["item"]]
    odd = Ratings.from_arrays(
        [names.get(user, user) for user in table["user"]],
        items,
        table.select("overall", "service").to_numpy(),
        aspects=["overall", "service"],
    )
    recommended = make(seed=1).fit(odd).recommend(["Zoë 🏨", "007"], n=99, exclude_seen=False)
    assert recommended["user"].to_list() == ["Zoë 🏨"] * SIZE + ["007"] * SIZE
    assert set(recommended["item"]) == set(items)


@models(without=IMPERSONAL)
def test_a_single_aspect_is_enough(name: str, make) -> None:
    board = rating_board() if name in RATING_PREDICTORS else exposure_board()
    table = board.to_polars()
    ratings = Ratings.from_arrays(
        table["user"], table["item"], table.select("overall").to_numpy(), aspects=["overall"]
    )
    best = make(seed=1).fit(ratings).recommend("u04", n=1)
    assert best["item"].to_list() == ["i04"]


@models(without=IMPERSONAL | RATING_PREDICTORS)
def test_implicit_feedback_is_enough(name: str, make) -> None:
    table = exposure_board().to_polars().select("user", "item")
    ratings = dmrank.read_ratings(table, aspects=[], verbose=False)
    best = make(seed=1).fit(ratings).recommend("u04", n=1)
    assert best["item"].to_list() == ["i04"]


def test_implicit_feedback_is_no_reason_to_fail(make) -> None:
    table = exposure_board().to_polars().select("user", "item")
    ratings = dmrank.read_ratings(table, aspects=[], verbose=False)
    assert np.isfinite(make(seed=1).fit(ratings).predict("u04", list(ratings.items))).all()


def test_missing_aspects_are_allowed(make) -> None:
    board = exposure_board()
    values = board.values.copy()
    values[::3, 1] = np.nan
    values[: board.user_pointer[1]] = np.nan  # the first user has no rating at all
    table = board.to_polars()
    ratings = Ratings.from_arrays(
        table["user"], table["item"], values, aspects=board.aspects, scale=(1, 5)
    )
    predictions = make(seed=1).fit(ratings).predict(list(ratings.users), "i03")
    assert np.isfinite(predictions).all()


def test_all_ratings_equal_is_no_reason_to_fail(make) -> None:
    table = exposure_board().to_polars()
    ratings = Ratings.from_arrays(
        table["user"], table["item"], np.full((len(table), 2), 4.0), aspects=["a", "b"]
    )
    predictions = make(seed=1).fit(ratings).predict("u03", list(ratings.items))
    assert (predictions == 4).all()  # the only rating of their scale


def test_early_stopping_looks_at_validation(make, hotels: Ratings) -> None:
    split = hotels.split(seed=1)
    seen = []
    model = make(seed=1)
    model.fit(split.train, validation=split.validation, callback=lambda history: seen.append(1))
    assert len(seen) == len(model.history.iterations) >= 1
    assert len(model.history.validation) == len(model.history.iterations)
    assert all(0 <= value <= 1 for value in model.history.validation)


def test_asking_before_fitting_is_a_typed_error(make) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        make().recommend("u00")


def test_unknown_names_are_typed_errors(model: Model) -> None:
    with pytest.raises(UnknownUserError, match="did you mean"):
        model.recommend("u0")
    with pytest.raises(UnknownItemError, match="item 'x'"):
        model.predict("u00", "x")
    with pytest.raises(UnknownAspectError, match="did you mean 'service'"):
        model.recommend("u00", by="servise")


@given(users=id_columns, items=id_columns)
def test_ids_of_any_type_go_through_fits_files_and_answers(tmp_path_factory, users, items) -> None:
    rows = [(user, item) for user in users for item in items]
    stars = [[1 + (n % 5), 1 + (n % 3)] for n in range(len(rows))]
    ratings = Ratings.from_arrays(*zip(*rows, strict=True), stars, aspects=["overall", "value"])
    path = tmp_path_factory.mktemp("ids") / "m.dmrank"
    model = dmrank.load(MixedEffects(iterations=1).fit(ratings).save(path))
    assert (model.users, model.items) == (ratings.users, ratings.items)
    assert model.aspects == ("overall", "value")
    user, first, second = users[0], items[0], items[1]

    def are(column: pl.Series, known: list) -> bool:
        return set(column) <= set(known) and {type(one) for one in column} == {type(known[0])}

    lists = model.recommend(users, exclude_seen=False)
    assert lists["user"].unique(maintain_order=True).to_list() == users
    assert are(lists["item"], items)
    assert set(model.recommend(user, exclude_seen=False, allow=items)["item"]) == set(items)
    assert model.recommend(user, exclude_seen=False, candidates={user: [first]})["item"][0] == first
    assert are(model.similar_items(first)["item"], items)
    assert are(model.similar_users(user)["user"], users)
    predicted = model.predict(user, items, table=True)
    assert predicted["item"].to_list() == items
    assert predicted["value"].to_list() == model.predict(user, items)[:, 1].tolist()
    compared = model.compare(user, first, second)
    assert (compared.user, compared.first, compared.second) == (user, first, second)
    assert set(compared.table["better"]) <= {first, second, None}
    assert (model.explain(user, first).user, model.explain(user, first).item) == (user, first)
    asked = [{"user": user, "item": first, "overall": 3.0}]
    assert model.complete(asked).row(0)[:2] == (user, first)
    assert list(model.fold_in(asked).users) == list(model.users)


def test_folding_in_keeps_the_type_of_ids() -> None:
    ratings = Ratings.from_arrays([0, 0, 7], [1, 2, 1], [5, 1, 4], aspects=["r"])
    model = ItemMean().fit(ratings)
    grown = model.fold_in([{"user": 12, "item": 1, "r": 5}, {"user": 3, "item": 2, "r": 4.5}])
    assert list(grown.users) == [0, 7, 12, 3]
    assert grown.recommend([3, "12"])["user"].to_list() == [3, 12]
    assert list(model.fold_in([{"user": "5", "item": 1, "r": 5}]).users) == [0, 7, 5]
    with pytest.raises(UnknownUserError, match="user 'ann' is no whole number"):
        model.fold_in([{"user": "ann", "item": 1, "r": 5}])
    with pytest.raises(DataError, match="user 9223372036854775808 is outside of the range"):
        model.fold_in([{"user": 2**63, "item": 1, "r": 5}])
    texts = Ratings.from_arrays(["0", "0", "7"], ["1", "2", "1"], [5, 1, 4], aspects=["r"])
    assert list(ItemMean().fit(texts).fold_in([{"user": 12, "item": 1, "r": 5}]).users)[-1] == "12"


def test_strangers_among_whole_numbers_are_whole_numbers() -> None:
    ratings = Ratings.from_arrays([0, 0, 7], [1, 2, 1], [5, 1, 4], aspects=["r"])
    model = ItemMean().fit(ratings)
    lists = model.recommend([99, 0], on_unknown="popular", exclude_seen=False)
    assert lists["user"].unique(maintain_order=True).to_list() == [99, 0]
    with pytest.raises(UnknownUserError, match="'ann' is no whole number"):
        model.recommend("ann", on_unknown="popular")


@pytest.mark.parametrize(
    "rows", [[], [{"item": 1, "r": 5}], [{"user": 1, "item": 1, "r": 5}, {"user": "a"}], [5], "x"]
)
def test_rows_that_are_no_ratings_are_said_in_one_line(rows: object) -> None:
    model = ItemMean().fit(Ratings.from_arrays([0, 0, 7], [1, 2, 1], [5, 1, 4], aspects=["r"]))
    with pytest.raises(DataError) as raised:
        model.fold_in(rows)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("on_unknown", ["raise", "popular"])
def test_an_id_that_is_no_string_is_a_typed_error(model: Model, on_unknown: str) -> None:
    for users in (5, [5], ["u00", None]):
        with pytest.raises(UnknownUserError, match="is not a string"):
            model.recommend(users, on_unknown=on_unknown)
    for users in (None, True, b"u00", slice(3)):
        with pytest.raises(DataError, match="is no id"):
            model.recommend(users, on_unknown=on_unknown)
    with pytest.raises(UnknownUserError, match="user 5 is not a string: ids are strings, try '5'"):
        model.predict(5, "i00")


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        ({}, "no aspect has a weight"),
        ({"service": 0}, "no aspect has a weight"),
        ({"service": -1}, "a number from 0 to"),
        ({"service": float("nan")}, "a number from 0 to"),
    ],
)
def test_impossible_mixes_are_refused(model: Model, by, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        model.recommend("u00", by=by)


def test_lists_need_a_length_and_pairs_a_partner(model: Model) -> None:
    with pytest.raises(ConfigError, match="at least one item"):
        model.recommend("u00", n=0)
    with pytest.raises(DataError, match="do not make pairs"):
        model.predict(["u00", "u01"], ["i00", "i01", "i02"])


def test_too_little_to_learn_from_is_refused(make) -> None:
    def ratings(users, items, value=3.0) -> Ratings:
        return Ratings.from_arrays(users, items, [[value]] * len(users), aspects=["r"])

    with pytest.raises(DataError, match="at least two of each"):
        make().fit(ratings(["a", "a"], ["x", "y"]))
    with pytest.raises(DataError, match="at least two of each"):
        make().fit(ratings(["a", "b"], ["x", "x"]))
    with pytest.raises(DataError, match="every rating is missing"):
        make().fit(ratings(["a", "b"], ["x", "y"], float("nan")))
    with pytest.raises(DataError, match="read_ratings"):
        make().fit([[1, 2, 3]])


def test_validation_of_other_aspects_or_items_is_refused(make, board: Ratings) -> None:
    def other(aspects, item="i00") -> Ratings:
        return Ratings.from_arrays(["u00"], [item], [[3] * len(aspects)], aspects=aspects)

    with pytest.raises(DataError, match="'rooms', which training lacks"):
        make().fit(board, validation=other(["overall", "rooms"]))
    with pytest.raises(DataError, match="lacks the aspect 'overall'"):
        make().fit(board, validation=other(["service"]))
    with pytest.raises(DataError, match="that training knows"):
        make().fit(board, validation=other(["overall"], item="x"))


@models(without=AT_ONCE | {"mixedeffects"})
def test_counts_that_no_machine_gets_to_are_refused(name: str, make) -> None:
    with pytest.raises(ConfigError, match=r"iterations=.*less than 2147483648"):
        make(iterations=10**30)


def test_parameters_work_as_in_scikit_learn(make) -> None:
    model = make(seed=5)
    assert model.get_params()["seed"] == 5
    assert model.clone().get_params() == model.get_params()
    assert model.set_params(seed=6).config.seed == 6
    assert "seed=6" in repr(model)
    with pytest.raises(ConfigError, match="there is no parameter 'sed'; did you mean 'seed'"):
        make(sed=1)
