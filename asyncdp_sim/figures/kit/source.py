"""Results as pictures read them, and the columns that name owners in a picture's numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.results import Cell, Result, Sweep, not_a_result, open_directory
from asyncdp_sim.scenario import Participants
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.scenario.setting_words import symbol


def owner_table(owners: Participants) -> dict[str, npt.NDArray[Any]]:
    """Return the columns that say which owner a row is of: its number, and its whole name."""
    named = {} if len(owners.names) == 0 else {"name": np.array(owners.names)}
    return {"owner": np.array(owners.numbers), **named}


__all__ = [
    "VARIANT",
    "Cell",
    "Result",
    "Sweep",
    "not_a_result",
    "open_directory",
    "owner_table",
    "symbol",
]
