"""Model files: what is damaged is refused in one line, and never asked of compiled code."""

import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dmrank
from dmrank import Model, ModelFileError, Ratings, UnsupportedError
from dmrank.cli.check import check_file
from dmrank.models import MODELS
from dmrank.support.containers import read_container
from tests.damage import answer_or_reason, flipped, forged, with_flipped_values

OLD = Path(__file__).parent / "format_1"
PARTS = {"ials": {"factors": 2, "iterations": 2}}
PERSONAL = {"iterations": 2, "personal_strength": 0.5}
#: Models that between them have every kind of array.
FEW: dict[str, dict[str, Any]] = {
    "hurdle": {**PARTS, "mixedeffects": PERSONAL, "ease": {"weights_per_item": 3}},
    "blend": PARTS,
    "dmr": {"factors": 2, "iterations": 4, "batch_size": 20, "item_offsets": True},
    "mixedeffects": {**PERSONAL, "personal_weights_per_item": 3},
    "itemmean": {},
}


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    rng = np.random.default_rng(0)
    pairs = [(f"u{u}", f"é{i}") for u in range(12) for i in range(8) if rng.random() < 0.7]
    users, items = zip(*pairs, strict=True)
    values = rng.integers(1, 6, (len(pairs), 2))
    return Ratings.from_arrays(users, items, values, aspects=["overall", "value"])


@pytest.fixture(scope="module")
def saved(ratings: Ratings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {
        name: MODELS[name](threads=1, **parameters).fit(ratings).save(folder / name)
        for name, parameters in FEW.items()
    }


def _asked(path: Path) -> list[Any]:
    model = dmrank.load(path)
    lists = model.recommend(["u3", "u5"], n=4, by={"overall": 1, "value": 2}, exclude_seen=False)
    predicted = model.predict("u3", ["é1", "é2"])
    return [lists.to_dicts(), predicted.tolist(), _compared(model)]


def _compared(model: Model) -> list[Any]:
    try:
        return model.compare("u3", "é1", "é2", pairs=20).table.to_dicts()
    except UnsupportedError:
        return []


@pytest.mark.parametrize("name", FEW)
def test_a_flipped_bit_is_refused_or_changes_nothing(saved, tmp_path: Path, name: str) -> None:
    right, damaged = _asked(saved[name]), tmp_path / "damaged"
    for content in flipped(saved[name].read_bytes(), count=60, seed=1):
        damaged.write_bytes(content)
        answer = answer_or_reason(lambda: _asked(damaged))
        assert isinstance(answer, str) or answer == right


@pytest.mark.parametrize("name", FEW)
def test_values_that_somebody_forged_crash_nothing(saved, tmp_path: Path, name: str) -> None:
    damaged = tmp_path / "damaged"
    for content in with_flipped_values(saved[name].read_bytes(), count=60, seed=2):
        damaged.write_bytes(content)
        answer_or_reason(lambda: _asked(damaged))


@pytest.mark.parametrize("name", FEW)
def test_every_array_of_a_model_is_needed(saved, tmp_path: Path, name: str) -> None:
    for array in read_container(saved[name]).shapes:
        path = forged(saved[name], tmp_path / "without", lambda arrays, _, a=array: arrays.pop(a))
        answer = answer_or_reason(lambda path=path: _asked(path))
        optional = ("item_means", "item_counts", "user_means", "user_counts", "order_factor",
                    "user_noise", "curve.shares", "curve.values")  # fmt: skip
        assert isinstance(answer, str) or array.endswith(optional), array


@pytest.mark.parametrize("name", FEW)
def test_arrays_of_another_type_or_shape_are_refused(saved, tmp_path: Path, name: str) -> None:
    for array in read_container(saved[name]).shapes:
        for change in (_other_type, _longer, _deeper):

            def put(arrays: dict[str, Any], _: object, array: str = array, change=change) -> None:
                arrays[array] = change(arrays[array])

            path = forged(saved[name], tmp_path / "other", put)
            with pytest.raises(ModelFileError, match="is damaged"):
                dmrank.load(path, mapped=False)


def _other_type(array: np.ndarray) -> np.ndarray:
    other = np.int64 if array.dtype != np.int64 else np.float64
    return np.nan_to_num(array).astype(other)


def _longer(array: np.ndarray) -> np.ndarray:
    return np.concatenate([array, array[-1:]]) if len(array) else np.zeros((7, *array.shape[1:]))


def _deeper(array: np.ndarray) -> np.ndarray:
    return array[..., None]


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_says_what_its_arrays_are(ratings: Ratings, tmp_path: Path, model: str) -> None:
    kind = MODELS[model]
    quick = {"iterations": 2, "evaluate_every": 1, "threads": 1}
    fitted = kind(**{k: v for k, v in quick.items() if k in kind.Config.model_fields}).fit(ratings)
    opened = dmrank.load(fitted.save(tmp_path / model), mapped=False)
    assert type(opened).layout is not Model.layout
    for name, array in fitted.arrays.items():
        np.testing.assert_array_equal(opened.arrays[name], array)


@pytest.mark.parametrize(
    ("array", "value", "said"),
    [
        ("catalogue.seen_items", 2**31 - 1, "outside of 0 to 7"),
        ("catalogue.seen_items", -1, "outside of 0 to 7"),
        ("catalogue.seen_pointer", 2**62, "does not ascend from 0"),
        ("catalogue.users.ends", -5, "outside of"),
        ("catalogue.users.text", 255, "utf-8"),
        ("calibration.slope", np.nan, "NaN or infinite"),
        ("items", np.inf, "NaN or infinite"),
    ],
)
def test_a_wrong_value_is_named(saved, tmp_path: Path, array: str, value, said: str) -> None:
    def change(arrays: dict[str, np.ndarray], _: dict[str, Any]) -> None:
        arrays[array].flat[1] = value

    path = forged(saved["itemmean"], tmp_path / "wrong", change)
    reason = answer_or_reason(lambda: _asked(path))
    assert said in reason
    assert str(path) in reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda about: about.update(ids={"users": "decimal", "items": "string"}),
         "ids of users of the type 'decimal', which this version of dmrank does not know"),
        (lambda about: about.update(ids={"users": "integer", "items": "string"}),
         "user id 'u0' is no whole number"),
        (lambda about: about.update(ids={"users": "string"}), "ids of items of the type None"),
        (lambda about: about.update(ids="string"), "ids: Input should be a valid dictionary"),
        (lambda about: about.update(model="Unheard"), "which is not known"),
        (lambda about: about.update(model=3), "model: Input should be a valid string"),
        (lambda about: about.pop("config"), "config: Field required"),
        (lambda about: about.update(config={"shrinkage": "x"}), "shrinkage"),
        (lambda about: about.update(config={"factors": 3}), "no parameter 'factors'"),
        (lambda about: about.update(aspects=["overall", "overall"]), "its aspects are"),
        (lambda about: about.update(aspects=[1, 2]), "aspects.0"),
        (lambda about: about.update(primary_aspect="none"), "its aspects are"),
        (lambda about: about.update(fit=3), "fit: Input should be a valid dictionary"),
        (lambda about: about["fit"].update(users=-1), "fit.users"),
        (lambda about: about["fit"].update(missing=["x"]), "fit.missing.0"),
    ],
)  # fmt: skip
def test_a_wrong_header_is_named(saved, tmp_path: Path, change, said: str) -> None:
    path = forged(saved["itemmean"], tmp_path / "wrong", lambda _, about: change(about))
    assert said in answer_or_reason(lambda: _asked(path))


def test_members_that_are_no_parameters_are_refused(saved, tmp_path: Path) -> None:
    for members in ({}, {"ease": 3}, {"ease": {"x": 1}}, {"none": {}}, [1], "ease"):

        def change(_: object, about: dict[str, Any], members: object = members) -> None:
            about["config"]["members"] = members

        path = forged(saved["blend"], tmp_path / "wrong", change)
        assert isinstance(answer_or_reason(lambda path=path: _asked(path)), str)


@pytest.mark.parametrize("side", ["user", "item"])
def test_ids_that_are_repeated_are_refused(saved, tmp_path: Path, side: str) -> None:
    def change(arrays: dict[str, np.ndarray], _: dict[str, Any]) -> None:
        text, ends = (arrays[f"catalogue.{side}s.{part}"] for part in ("text", "ends"))
        second = text[ends[0] : ends[1]].copy()
        assert len(second) == ends[0]
        text[: ends[0]] = second

    path = forged(saved["itemmean"], tmp_path / "repeated", change)
    said = f"{side} ids are repeated"
    assert said in answer_or_reason(lambda: _asked(path))
    # Also where nobody asks for an id: all of a file is looked at.
    for look in (check_file, partial(dmrank.load, mapped=False)):
        assert said in answer_or_reason(lambda look=look: look(path))


def test_ids_are_read_when_one_is_asked_for(saved, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmrank.data.stored_ids.StoredIds.read", pytest.fail)
    model = dmrank.load(saved["itemmean"])
    scores = model.score_block(np.arange(2), np.ones(len(model.aspects), dtype=np.float32))
    assert scores.shape == (2, len(model.items))
    monkeypatch.undo()
    again = pickle.loads(pickle.dumps(model.users))
    assert again == model.users == dmrank.load(saved["itemmean"]).users


def test_a_prior_that_is_no_covariance_is_refused(saved, tmp_path: Path) -> None:
    def change(arrays: dict[str, np.ndarray], _: dict[str, Any]) -> None:
        arrays["prior_covariance"][:] = [[1, 2], [2, 1]]

    path = forged(saved["dmr"], tmp_path / "indefinite", change)
    assert "is not positive definite" in answer_or_reason(
        lambda: dmrank.load(path).fold_in([{"user": "new", "item": "é1", "overall": 5}])
    )


def test_a_copy_in_memory_survives_its_file(saved, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(saved["hurdle"].read_bytes())
    expected = _asked(path)[0]
    model = dmrank.load(path, mapped=False)
    with path.open("r+b") as stream:
        stream.truncate(100)
    by: Callable[[], pl.DataFrame] = lambda: model.recommend(  # noqa: E731
        ["u3", "u5"], n=4, by={"overall": 1, "value": 2}, exclude_seen=False
    )
    assert by().to_dicts() == expected


def test_a_file_of_the_format_before_answers_as_it_did() -> None:
    model = dmrank.load(OLD / "hurdle.file")
    lists = model.recommend(["u3", "u5"], n=3, exclude_seen=False, aspects=True)
    expected = pl.DataFrame(json.loads((OLD / "hurdle.json").read_text(encoding="utf-8")))
    assert lists["item"].to_list() == expected["item"].to_list()
    np.testing.assert_allclose(
        lists.select("score", "overall", "value").to_numpy(),
        expected.select("score", "overall", "value").to_numpy(),
        rtol=1e-4,
    )


def test_a_file_of_the_format_before_is_checked_as_well(tmp_path: Path) -> None:
    content = (OLD / "hurdle.file").read_bytes()
    for changed in flipped(content, count=60, seed=3):
        (tmp_path / "damaged").write_bytes(changed)
        answer_or_reason(lambda: _asked(tmp_path / "damaged"))


def test_folded_in_rows_are_read_back(saved, tmp_path: Path) -> None:
    """Users and items that came later make some arrays longer, and leave others as they were."""
    model = dmrank.load(saved["hurdle"])
    new = pl.DataFrame({"user": ["new"] * 2, "item": ["é1", "é2"], "overall": [5, 1]})
    grown = model.fold_in(new.with_columns(value=4), of="users")
    more = pl.DataFrame({"user": ["u1", "u2"], "item": ["late"] * 2, "overall": [5, 1]})
    grown = grown.fold_in(more.with_columns(value=4), of="items")
    opened = dmrank.load(grown.save(tmp_path / "grown"), mapped=False)
    asked = {"n": 4, "exclude_seen": False}
    assert opened.recommend("new", **asked).equals(grown.recommend("new", **asked))


def test_no_model_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"none")
    with pytest.raises(ModelFileError, match="not a file of dmrank"):
        dmrank.load(tmp_path / "none")
