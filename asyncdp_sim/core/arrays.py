"""Names of arrays, for annotations."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Columns = dict[str, npt.NDArray[Any]]
Table = npt.NDArray[np.void]
"""A record array, whose columns its dtype names."""
