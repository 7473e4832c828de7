"""The survival functions in lanes have nearly the precision of float32."""

from __future__ import annotations

import numpy as np
import pytest

from dmrank.compiled.compiling import compiled
from dmrank.compiled.lanes import LANES, load, store
from dmrank.directional.families import (
    Gaussian,
    Student,
    erfc_hazard,
    log_erfc,
    student_hazard,
    student_log_survival,
)
from dmrank.directional.survival import family_table, hazard_and_log_survival


@compiled
def survival(x, is_gaussian, table, hazards, log_survivals):
    for row in range(x.shape[0]):
        hazard, log_survival = hazard_and_log_survival(load(x, row), is_gaussian, table)
        store(hazards, row, hazard)
        store(log_survivals, row, log_survival)


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 4.0, 5.5, 10.0, 30.0, 1e3, 1e6, np.inf])
def test_hazard_and_log_survival_have_nearly_the_precision_of_float32(eta: float) -> None:
    ranges = (np.linspace(-12, 12, 8_000), np.geomspace(1e-6, 1e5, 8_000))
    x = np.concatenate([*ranges, -ranges[1]]).astype(np.float32).reshape(-1, LANES)
    family = Gaussian() if np.isinf(eta) else Student(eta)
    table = np.repeat(family_table(family, aspects=1)[1][:, None], LANES, axis=1)
    hazards, log_survivals = np.empty_like(x), np.empty_like(x)
    survival(x, np.isinf(eta), table, hazards, log_survivals)
    if np.isinf(eta):
        exact = erfc_hazard(x / np.sqrt(2.0)) / np.sqrt(2), log_erfc(x / np.sqrt(2.0)) - np.log(2)
    else:
        exact = student_hazard(x, eta), student_log_survival(x, eta)
    np.testing.assert_allclose(hazards, exact[0], rtol=3e-5, atol=1e-30)
    np.testing.assert_allclose(hazards, exact[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(log_survivals, exact[1], rtol=5e-7, atol=5e-7)
