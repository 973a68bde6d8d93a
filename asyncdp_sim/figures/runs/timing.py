"""Timing of updates: i_k over k (Async, figures 4 and 9) and over simulated time."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from asyncdp_sim.figures.kit.picture import Picture, Table
from asyncdp_sim.figures.kit.small_multiples import Panel, panelled
from asyncdp_sim.figures.kit.style import BLUE, FEW_OWNERS, owner_ticks, time_axis
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.units import unit_of

SHOWN = 100
HALF = 0.32  # of a stroke, in owners
TOGETHER = 3  # answers of an update, beyond which dots of many owners would make one block
Window = Table


def by_update(
    result: Result, *, replicate: int | None = None, first: int = 1, last: int | None = None
) -> Picture:
    """Draw i_k against k: stems, or marks alone where there are many owners.

    Parameters
    ----------
    result : Result
    replicate : int, optional
        Which one; the first by default.
    first, last : int, optional
        The window of k, both ends shown; 100 updates by default.

    Raises
    ------
    ResultError
        If the result kept no updates, or none of this replicate in this window.
    """
    return updates_of([Panel(result)], replicate=replicate, first=first, last=last)


def updates_of(
    shown: Sequence[Panel], *, replicate: int | None = None, first: int = 1, last: int | None = None
) -> Picture:
    """Draw i_k against k, a panel for each network; parameters as in :func:`by_update`."""
    head = "Owner i_k that update k came from"
    draw = partial(_by_update, replicate=replicate, first=first, last=last)
    return panelled("timing-by-update", shown, draw, head, height=_height(shown))


def by_time(
    result: Result, *, replicate: int | None = None, first: int = 1, last: int | None = None
) -> Picture:
    """Draw the instants of the updates, owner by owner; parameters as in :func:`by_update`.

    Raises
    ------
    ResultError
        As :func:`by_update`.
    """
    return instants_of([Panel(result)], replicate=replicate, first=first, last=last)


def instants_of(
    shown: Sequence[Panel], *, replicate: int | None = None, first: int = 1, last: int | None = None
) -> Picture:
    """Draw the updates' instants, a panel for each network; parameters as in :func:`by_update`."""
    head = "Instants at which answers were applied, owner by owner"
    draw = partial(_by_time, replicate=replicate, first=first, last=last)
    return panelled("timing-by-time", shown, draw, head, height=_height(shown))


def the_same_always(result: Result) -> bool:
    """Return whether all updates have answers of the same owners: nothing tells them apart."""
    replicate, k, owner = result.columns("updates", "replicate", "k", "owner")
    first = (replicate == replicate[:1]) & (k == k[:1])
    if len(np.unique(owner[first])) < len(np.unique(owner)):
        return False  # most networks: the first update tells, and nothing is sorted
    rows = np.unique(np.stack([replicate, k, owner]), axis=1)
    updates = len(np.unique(rows[:2], axis=1).T)
    return result.n_owners > 1 and len(rows.T) == updates * len(np.unique(owner))


def _by_update(
    axes: Axes, result: Result, replicate: int | None, first: int, last: int | None
) -> tuple[Window, str]:
    chosen = first_with_updates(result) if replicate is None else replicate
    rows = window(result, chosen, first, last)
    at = result.participants.places(rows["owner"])
    few = result.n_owners <= FEW_OWNERS
    if few:
        axes.vlines(rows["k"], 0, at, color=BLUE, linewidth=0.8)
    axes.plot(rows["k"], at, "o", color=BLUE, markersize=3 if few else 3.5, clip_on=False)
    axes.set_ylim(0 if few else 0.5, 1.04 * result.n_owners)
    axes.set_xlim(rows["k"][0] - 1, rows["k"][-1] + 1)
    if not few:
        axes.grid(axis="y")
    owner_ticks(axes, "y", result.participants)
    axes.set_xlabel("update $k$")
    axes.set_ylabel("owner $i_k$")
    return rows, f"{_window_words(rows, chosen)}{_spoke(rows, result)}"


def _by_time(
    axes: Axes, result: Result, replicate: int | None, first: int, last: int | None
) -> tuple[Window, str]:
    chosen = first_with_updates(result) if replicate is None else replicate
    rows = window(result, chosen, first, last)
    few = result.n_owners <= FEW_OWNERS
    at = result.participants.places(rows["owner"])
    together = len(at) > TOGETHER * len(np.unique(rows["k"]))
    if few or together:
        half, width = (HALF, 1.2) if few else (0.5, 0.6)
        axes.vlines(rows["time"], at - half, at + half, color=BLUE, linewidth=width)
    else:  # a stroke would be as low as a dot, and thinner
        axes.plot(rows["time"], at, "o", color=BLUE, markersize=3.5, clip_on=False)
    axes.grid(axis="y")
    axes.set_ylim(0.7 - HALF, result.n_owners + 0.3 + HALF)
    end = float(rows["time"][-1])
    axes.set_xlim(0 if first == 1 else None, end * 1.01 if end > 0 else 1.0)
    owner_ticks(axes, "y", result.participants)
    axes.set_xlabel(time_axis(unit_of([result.manifest["scenario"]]), axes))
    axes.set_ylabel("owner $i$")
    return rows, f"updates {_window_words(rows, chosen)}{_spoke(rows, result)}"


def _height(shown: Sequence[Panel]) -> float:
    """Return inches for so many owners, whose rows are told apart up to a page."""
    most = max(each.result.n_owners for each in shown)
    return 2.6 if most <= FEW_OWNERS else float(np.clip(0.032 * most, 3.6, 6.5))


def _window_words(rows: Window, chosen: int) -> str:
    return f"k = {rows['k'][0]} to {rows['k'][-1]} of replicate {chosen}"


def _spoke(rows: Window, result: Result) -> str:
    """Say how many owners spoke, where they are too many to be counted by eye."""
    if result.n_owners <= FEW_OWNERS:
        return ""
    return f", in which {len(np.unique(rows['owner']))} of {result.n_owners} owners spoke"


def window(result: Result, replicate: int, first: int, last: int | None) -> Window:
    """Return k, time and owner of one replicate's updates in a window of k.

    Raises
    ------
    ResultError
        If there are none.
    """
    final = first + SHOWN - 1 if last is None else last
    number, k, time, owner = result.columns("updates", "replicate", "k", "time", "owner")
    rows = (number == replicate) & (k >= first) & (k <= final)
    if not rows.any():
        given = f"no updates k = {first} to {final} of replicate {replicate}"
        raise not_a_result(result.directory, given)
    return {"k": k[rows], "time": time[rows], "owner": owner[rows]}


def first_with_updates(result: Result) -> int:
    """Return the first replicate in which something was updated; else the first of all."""
    (numbers,) = result.columns("updates", "replicate")
    return int(numbers[0]) if len(numbers) > 0 else result.replicates[0]
