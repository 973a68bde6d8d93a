"""The ± of every owner's error: over runs, and over what stands in for its own rows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.may_be_off import MayBeOff
from asyncdp_sim.forecasts.worth.errors import Errors

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HalfWidths:
    """Half widths of 95 % intervals of owners' expected errors, at the scenario's budgets.

    Attributes
    ----------
    joined : array (N,)
        Of the private model, in the mean over runs.
    alone : array (N,)
        Of the owner's own model: 0 where its rows are its own, for it takes no noise.
    gain : array (N,)
        Of the difference of the two.
    """

    joined: Array
    alone: Array
    gain: Array


def intervals(found: Errors, off: MayBeOff | None) -> HalfWidths:
    """Return the ± of what is told of every owner.

    That of a mean over runs, √(w² + v²) with v the half width over redraws of the stand-in, where
    rows stand in for the owners' own: what is random in runs is independent of the rows.

    Parameters
    ----------
    found : Errors
    off : MayBeOff, optional
        How far figures of the stand-in may be off; None where there is none.
    """
    runs, gain = found.of_runs(found.given), found.half_width(found.given)
    if off is None:
        return HalfWidths(runs, np.zeros(len(runs)), gain)
    joined = np.hypot(runs, off.errors_half_width)
    return HalfWidths(joined, np.array(off.alone_half_width), gain)


__all__ = ["HalfWidths", "intervals"]
