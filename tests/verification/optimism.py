"""A planted fault: privacy loss distributions taken on the optimistic side."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.privacy.accountants import charges, losses
from asyncdp_sim.privacy.accountants.pairs import LaplacePair, Lattice

CACHED: tuple[Callable[..., Any], ...] = (
    losses.together,
    losses._converged,
    charges.charge_of,
    charges.answers_of,
)


def rounded_down(patch: pytest.MonkeyPatch) -> None:
    """Make every Laplace loss that is no multiple of the interval the multiple below it."""

    def lattice(self: LaplacePair, interval: float) -> Lattice:
        steps = self._steps(interval)
        ends = interval * np.arange(-steps, steps + 1)
        below = np.exp((ends - ends[-1]) / 2) / 2  # P(loss ≤ each) of Lap(0, 1/ε) moved by 1
        masses = np.concatenate([np.diff(below), [0.5]])
        masses[0] += below[0]
        return Lattice(interval, -steps, masses)

    forgotten()
    patch.setattr(LaplacePair, "lattice", lattice)


def forgotten() -> None:
    """Forget what was worked out, with the fault and without."""
    for each in CACHED:
        each.cache_clear()  # type: ignore[attr-defined]
