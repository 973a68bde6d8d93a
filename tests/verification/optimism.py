"""A planted fault: privacy loss distributions taken on the optimistic side."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.privacy import composition
from asyncdp_sim.privacy.pairs import LaplacePair, LossCells

NAMES = ("together", "fine_step", "_orders", "charge_of", "answers_of", "_epsilon", "_told")
CACHED = tuple(getattr(composition, name) for name in NAMES)


def rounded_down(patch: pytest.MonkeyPatch) -> None:
    """Make every Laplace loss that is no multiple of the step the multiple below it."""
    right = LaplacePair.cells

    def cells(self: LaplacePair, step: float, count: int) -> LossCells:
        return replace(right(self, step, count), upper=np.zeros(count))

    forgotten()
    patch.setattr(LaplacePair, "cells", cells)


def forgotten() -> None:
    """Forget what was worked out, with the fault and without."""
    for each in CACHED:
        each.cache_clear()
