"""Nothing at all."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.data.tables.encodings.kind import Cells, Codes, EncodingKind

if TYPE_CHECKING:
    import pandas as pd


class Drop(EncodingKind):
    """No feature."""

    as_written = False

    kind: Literal["drop"] = "drop"

    @property
    @override
    def single(self) -> bool:
        return False

    @property
    @override
    def makes_nothing(self) -> bool:
        return True

    @override
    def learn(self, public: "pd.Series", name: str, decimal: str) -> Codes:
        def read(column: "pd.Series") -> Cells:
            return Cells([], np.zeros(len(column), dtype=np.bool_))

        return Codes((), read, (), lambda _missing, _misfits: None)
