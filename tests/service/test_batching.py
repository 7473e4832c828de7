"""Lists of the same moment are ranked in one call; work that takes longer has a bounded queue."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dmrank import DMR, DataError, Model, make_ratings
from dmrank.service import batching
from dmrank.service.batching import Batcher, Wanted
from dmrank.service.pool import Pool
from dmrank.service.problems import ProblemError
from tests.service.loops import run_alone


@pytest.fixture(scope="module")
def dmr() -> Model:
    return DMR(iterations=40, seed=0, threads=1).fit(make_ratings(60, 30, 900, seed=4).ratings)


@pytest.fixture
def ranked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lists each ranking had."""
    sizes: list[int] = []
    rank = batching.rank

    def counted(wanted: list[Wanted]) -> list[batching.PlainRows]:
        sizes.append(len(wanted))
        return rank(wanted)

    monkeypatch.setattr(batching, "rank", counted)
    return sizes


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def mixes(model: Model, count: int) -> list[np.ndarray]:
    weights = np.random.default_rng(0).random((count, len(model.aspects)))
    return list(weights.astype(np.float32))


@pytest.mark.parametrize("kind", ["dmr", "hurdle"])
def test_lists_of_any_mixes_are_ranked_together(
    kind: str, ranked: list[int], thread: ThreadPoolExecutor, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(kind)
    asked = mixes(model, 7)

    async def ask() -> list[batching.PlainRows]:
        batcher = Batcher(thread, 100)
        return await asyncio.gather(
            *(
                batcher.ask(
                    # Of some, something else is left out, too.
                    Wanted(model, user, mix, 5 + user, user != 3, np.array([4]) if user else None)
                )
                for user, mix in enumerate(asked)
            )
        )

    found = run_alone(ask())
    assert ranked == [7]
    for user, (mix, rows) in enumerate(zip(asked, found, strict=True)):
        wanted = model.recommend(
            model.users[user],
            n=5 + user,
            by=dict(zip(model.aspects, mix.tolist(), strict=True)),
            exclude_seen=user != 3,
            block=[model.items[4]] if user else None,
        )
        assert [model.items[item] for item in rows.items] == wanted["item"].to_list()
        scores = [numbers[0] for numbers in rows.numbers]
        np.testing.assert_allclose(scores, wanted["score"], atol=2e-6)


def test_lists_of_two_models_are_not(
    dmr: Model, hurdle: Model, ranked: list[int], thread: ThreadPoolExecutor
) -> None:
    async def ask() -> None:
        batcher = Batcher(thread, 100)
        both = [Wanted(model, 1, mixes(model, 1)[0], 3) for model in (dmr, dmr, hurdle)]
        await asyncio.gather(*map(batcher.ask, both))

    run_alone(ask())
    assert ranked == [2, 1]


def test_a_list_that_fails_leaves_the_next_alone(
    dmr: Model, ranked: list[int], thread: ThreadPoolExecutor
) -> None:
    async def ask() -> batching.PlainRows:
        batcher, (mix,) = Batcher(thread, 100), mixes(dmr, 1)
        bad = batcher.ask(Wanted(dmr, 1, mix * np.nan, 3))
        good = batcher.ask(Wanted(dmr, 1, mix, 3, parts=False))
        with pytest.raises(DataError, match="NaN"):
            await bad
        return await good

    assert len(run_alone(ask()).items) == 3
    assert ranked == [1, 1]


def test_the_queue_of_the_pool_is_bounded() -> None:
    async def fill() -> None:
        pool, go = Pool(), threading.Event()
        running = [asyncio.ensure_future(pool.run(go.wait)) for _ in range(64)]
        await asyncio.sleep(0)
        with pytest.raises(ProblemError, match="try again later") as busy:
            await pool.run(go.wait)
        assert busy.value.kind.status == 503
        assert busy.value.retry_after == 1
        go.set()
        assert await asyncio.gather(*running) == [True] * 64
        assert await pool.run(lambda: "free again") == "free again"
        pool.close()

    run_alone(fill())
