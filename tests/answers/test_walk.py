"""A list for one user takes a straight way through the package."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dmrank
from dmrank import DMR, IALS, ItemMean, Model, Ratings, make_ratings

SOURCE = Path(dmrank.__file__).parent


class Walk:
    """The files of the package that a call passes, and how often it is called back into each.

    A call goes back into a file if that file is waiting for it: it is further up the stack, and
    another file of the package is between.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.returns: Counter[str] = Counter()
        self._stack: list[str] = []

    def __enter__(self) -> "Walk":
        sys.setprofile(self._look)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(SOURCE):
            return
        name = str(path.relative_to(SOURCE))
        if event == "call":
            if name in self._stack and self._stack[-1] != name:
                self.returns[name] += 1
            self._stack.append(name)
            self.files.add(name)
        elif event == "return" and self._stack:
            self._stack.pop()


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return make_ratings(60, 30, 900, seed=1).ratings


@pytest.mark.parametrize("model", [DMR(iterations=20), IALS(factors=4), ItemMean()], ids=repr)
def test_a_list_for_one_user_is_a_straight_walk(
    model: Model, ratings: Ratings, tmp_path: Path
) -> None:
    path = model.fit(ratings).save(tmp_path / "model.dmrank")
    dmrank.load(path).recommend("u000003", by="service")  # so that nothing is compiled on the way
    # Arrays of a mapped file are checked on the way of the first list; here they are already.
    fresh = dmrank.load(path, mapped=False)
    with Walk() as walk:
        fresh.recommend("u000003", by="service")
    assert len(walk.files) <= 12, sorted(walk.files)
    assert all(times <= 1 for times in walk.returns.values()), walk.returns
