"""The functions in lanes keep the error bounds that they state."""

from __future__ import annotations

import numpy as np

from dmrank.compiled.compiling import compiled
from dmrank.compiled.elementary import exp, log, log1p
from dmrank.compiled.lanes import LANES, load, store


@compiled
def elementary(x, exps, logs, log1ps):
    for row in range(x.shape[0]):
        value = load(x, row)
        store(exps, row, exp(value))
        store(logs, row, log(exp(value)))
        store(log1ps, row, log1p(exp(value)))


def test_exp_and_log_have_the_precision_of_float32() -> None:
    x = np.linspace(-86, 86, 20_000 * LANES, dtype=np.float32).reshape(-1, LANES)
    exps, logs, log1ps = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    elementary(x, exps, logs, log1ps)
    exact = np.exp(x.astype(float))
    np.testing.assert_allclose(exps, exact, rtol=3e-7)
    exact_log = np.log(exps.astype(float))
    assert (np.abs(logs - exact_log) <= 1e-7 * np.maximum(1, np.abs(exact_log))).all()
    np.testing.assert_allclose(log1ps, np.log1p(exps.astype(float)), rtol=3e-7)


def test_exp_stays_finite_beyond_its_range() -> None:
    x = np.tile(np.array([-1e30, -200, 200, 1e30], dtype=np.float32), 4)[None]
    exps = np.empty_like(x)
    elementary(x, exps, np.empty_like(x), np.empty_like(x))
    assert np.isfinite(exps).all()
