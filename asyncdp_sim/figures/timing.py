"""Timing of updates: i_k over k (Async, figures 4 and 9) and over simulated time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.units import unit_of
from asyncdp_sim.figures.small_multiples import NetworkFigure, Panel, no_updates, untimed
from asyncdp_sim.figures.style import BLUE, FEW_OWNERS, owner_ticks, time_axis
from asyncdp_sim.results import Result, not_a_result

SHOWN = 100
HALF = 0.32  # of a stroke, in owners
TOGETHER = 3  # answers of an update, beyond which dots of many owners would make one block


def the_same_always(result: Result) -> bool:
    """Return whether all updates have answers of the same owners, so that none differ."""
    replicate, k, owner = result.columns("updates", "replicate", "k", "owner")
    first = (replicate == replicate[:1]) & (k == k[:1])
    if len(np.unique(owner[first])) < len(np.unique(owner)):
        return False  # most networks: the first update tells, and nothing is sorted
    rows = np.unique(np.stack([replicate, k, owner]), axis=1)
    updates = len(np.unique(rows[:2], axis=1).T)
    return result.n_owners > 1 and len(rows.T) == updates * len(np.unique(owner))


def _by_update(axes: Axes, result: Result) -> tuple[Columns, str]:
    """Draw i_k against k: stems, or marks alone where there are many owners."""
    rows, at, text = _window(result)
    few = result.n_owners <= FEW_OWNERS
    if few:
        axes.vlines(rows["k"], 0, at, color=BLUE, linewidth=0.8)
    axes.plot(rows["k"], at, "o", color=BLUE, markersize=3 if few else 3.5, clip_on=False)
    axes.set(
        ylim=(0 if few else 0.5, 1.04 * result.n_owners), xlim=(rows["k"][0] - 1, rows["k"][-1] + 1)
    )
    if not few:
        axes.grid(axis="y")
    owner_ticks(axes, "y", result.participants)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set(xlabel="update $k$", ylabel="owner $i_k$")
    return rows, text


def _by_time(axes: Axes, result: Result) -> tuple[Columns, str]:
    """Draw the instants of the updates, owner by owner."""
    rows, at, text = _window(result)
    few = result.n_owners <= FEW_OWNERS
    together = len(at) > TOGETHER * len(np.unique(rows["k"]))
    if few or together:
        half, width = (HALF, 1.2) if few else (0.5, 0.6)
        axes.vlines(rows["time"], at - half, at + half, color=BLUE, linewidth=width)
    else:  # a stroke would be as low as a dot, and thinner
        axes.plot(rows["time"], at, "o", color=BLUE, markersize=3.5, clip_on=False)
    axes.grid(axis="y")
    axes.set_ylim(0.7 - HALF, result.n_owners + 0.3 + HALF)
    end = float(rows["time"][-1])
    axes.set_xlim(0, end * 1.01 if end > 0 else 1.0)
    owner_ticks(axes, "y", result.participants)
    axes.set(xlabel=time_axis(unit_of([result.manifest["scenario"]]), axes), ylabel="owner $i$")
    return rows, f"updates {text}"


def _window(result: Result) -> tuple[Columns, npt.NDArray[Any], str]:
    """Return the first updates of a replicate, their owners' places, and both in words.

    Of many owners, who cannot be counted by eye, it is said how many spoke.
    """
    chosen, n_owners = first_with_updates(result), result.n_owners
    rows = window(result, chosen, 1, SHOWN)
    text = f"k = {rows['k'][0]} to {rows['k'][-1]} of replicate {chosen}"
    if n_owners > FEW_OWNERS:
        text += f", in which {len(np.unique(rows['owner']))} of {n_owners} owners spoke"
    return rows, result.participants.places(rows["owner"]), text


def _height(shown: Sequence[Panel]) -> float:
    """Return the height in inches: rows of owners are legible, up to one page."""
    most = max(panel.result.n_owners for panel in shown)
    return 2.6 if most <= FEW_OWNERS else float(np.clip(0.032 * most, 3.6, 6.5))


def window(result: Result, replicate: int, first: int, last: int) -> Columns:
    """Return k, time and owner of one replicate's updates in a window of k.

    Raises
    ------
    ResultError
        If there are none.
    """
    number, k, time, owner = result.columns("updates", "replicate", "k", "time", "owner")
    rows = (number == replicate) & (k >= first) & (k <= last)
    if not rows.any():
        reason = f"no updates k = {first} to {last} of replicate {replicate}"
        raise not_a_result(result.directory, reason)
    return {"k": k[rows], "time": time[rows], "owner": owner[rows]}


def first_with_updates(result: Result) -> int:
    """Return the first replicate in which something was updated; else the first of all."""
    (numbers,) = result.columns("updates", "replicate")
    return int(numbers[0]) if len(numbers) > 0 else result.replicates[0]


def _why_not(result: Result) -> str | None:
    reason = no_updates(result)
    if reason is None and the_same_always(result):
        return "every update has answers of the same owners"
    return reason


BY_UPDATE = NetworkFigure(
    "timing-by-update", "Owner i_k that update k came from", _by_update, _why_not, height=_height
)
BY_TIME = NetworkFigure(
    "timing-by-time",
    "Instants at which answers were applied, owner by owner",
    _by_time,
    untimed,
    height=_height,
)
