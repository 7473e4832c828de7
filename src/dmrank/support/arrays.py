"""One name for each kind of array that functions take and return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Positions in an id map, or of rows: any whole numbers.
Codes: TypeAlias = NDArray[np.integer[Any]]
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
Float32s: TypeAlias = NDArray[np.float32]
#: Double precision.
Floats: TypeAlias = NDArray[np.float64]
#: Single or double precision.
AnyFloats: TypeAlias = NDArray[np.floating[Any]]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = NDArray[Any]
Arrays: TypeAlias = Mapping[str, NDArray[Any]]
