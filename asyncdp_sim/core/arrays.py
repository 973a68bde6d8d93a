"""Names of arrays: of numbers, of whole numbers, of what is or is not; and tables of columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Table = dict[str, npt.NDArray[Any]]
