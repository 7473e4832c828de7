"""Files of released versions are opened, and answer as they did (docs/project/versions.md)."""

import json
from pathlib import Path

import numpy as np
import pytest

import dmrank
from dmrank import ApproximateIndex
from dmrank.cli.check import check_file
from dmrank.support.containers import FILE_FORMAT, read_container
from tests.fitted.golden import INDEX, RELEASED, answers, index_answers

MODELS = sorted(path for path in RELEASED.glob("*/*.file") if path.name != INDEX)
INDEXES = sorted(RELEASED.glob(f"*/{INDEX}"))


def _told(path: Path) -> dict[str, object]:
    return json.loads((path.parent / "answers.json").read_text("utf-8"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_model_of_a_released_version_answers_as_it_did(path: Path) -> None:
    told, now = _told(path)[path.stem], answers(dmrank.load(path))
    assert now["items"] == told["items"]
    assert now["training"] == told["training"]
    for name in ("scores", "predicted"):
        np.testing.assert_allclose(now[name], told[name], rtol=1e-4)


@pytest.mark.parametrize("path", INDEXES, ids=lambda path: path.parent.name)
def test_an_index_of_a_released_version_answers_as_it_did(path: Path) -> None:
    model = dmrank.load(path.with_name("ials.file"))
    now = index_answers(ApproximateIndex.load(path, model))
    assert now == _told(path)[INDEX]["items"]


@pytest.mark.parametrize(
    "path", MODELS + INDEXES, ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_file_of_a_released_version_is_whole(path: Path) -> None:
    assert "are right" in check_file(path)


def test_the_format_that_is_written_is_among_those_that_are_kept() -> None:
    assert FILE_FORMAT in {read_container(path).format for path in MODELS}
