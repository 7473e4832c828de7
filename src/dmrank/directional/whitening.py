"""Many small triangular systems at once."""

from __future__ import annotations

import numpy as np

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Bools, Floats


@cached
def whiten(covariances: Floats, kept: Bools, columns: Floats) -> Floats:
    """Return L⁻¹X of each row, with Σ = L Lᵀ over the entries that are kept and 0 in the others.

    NumPy would call LAPACK once per row, which costs more than such a small system.

    Parameters
    ----------
    covariances : float64 array, n × K × K
        Σ, positive definite.
    kept : bool array, n × K
        Which entries count.
    columns : float64 array, n × K × C
        X.
    """
    n, K, C = columns.shape
    whitened = np.zeros((n, K, C))
    root = np.empty((K, K))
    for row in range(n):
        for i in range(K):
            if not kept[row, i]:
                continue
            for c in range(C):
                whitened[row, i, c] = columns[row, i, c]
            for j in range(i):
                if not kept[row, j]:
                    continue
                element = covariances[row, i, j]
                for k in range(j):
                    if kept[row, k]:
                        element -= root[i, k] * root[j, k]
                root[i, j] = element / root[j, j]
                for c in range(C):
                    whitened[row, i, c] -= root[i, j] * whitened[row, j, c]
            element = covariances[row, i, i]
            for k in range(i):
                if kept[row, k]:
                    element -= root[i, k] ** 2
            root[i, i] = np.sqrt(element)
            for c in range(C):
                whitened[row, i, c] /= root[i, i]
    return whitened
