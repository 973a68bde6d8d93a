"""Timing of updates: i_k over k (Async, figures 4 and 9) and over simulated time."""

from typing import Any

import numpy.typing as npt

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result, not_a_result
from asyncdp_sim.figures.kit.style import BLUE, FEW_OWNERS, TIME_AXIS, canvas, owner_ticks, style

SHOWN = 100
Window = dict[str, npt.NDArray[Any]]


def by_update(
    result: Result, *, replicate: int | None = None, first: int = 1, last: int | None = None
) -> Picture:
    """Draw i_k against k as stems.

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
    chosen = first_with_updates(result) if replicate is None else replicate
    rows = window(result, chosen, first, last)
    with style():
        figure, axes = canvas(height=2.6 if result.n_owners <= FEW_OWNERS else 3.6)
        at = result.participants.places(rows["owner"])
        axes.vlines(rows["k"], 0, at, color=BLUE, linewidth=0.8)
        axes.plot(rows["k"], at, "o", color=BLUE, markersize=3, clip_on=False)
        axes.set_ylim(0, 1.04 * result.n_owners)
        axes.set_xlim(rows["k"][0] - 1, rows["k"][-1] + 1)
        owner_ticks(axes, "y", result.participants)
        axes.set_xlabel("update $k$")
        axes.set_ylabel("owner $i_k$")
    shown = f"k = {rows['k'][0]} to {rows['k'][-1]} of replicate {chosen}"
    caption = f"Owner i_k that update k came from, for {shown}."
    return Picture("timing-by-update", figure, rows, caption, label([result]))


def by_time(
    result: Result, *, replicate: int | None = None, first: int = 1, last: int | None = None
) -> Picture:
    """Draw the instants of the updates, owner by owner; parameters as in :func:`by_update`.

    Raises
    ------
    ResultError
        As :func:`by_update`.
    """
    chosen = first_with_updates(result) if replicate is None else replicate
    rows = window(result, chosen, first, last)
    few = result.n_owners <= FEW_OWNERS
    with style():
        figure, axes = canvas(height=2.6 if few else 3.6)
        half = 0.32 if few else 0.014 * result.n_owners
        at = result.participants.places(rows["owner"])
        axes.vlines(rows["time"], at - half, at + half, color=BLUE, linewidth=1.2)
        if few:
            axes.hlines(
                range(1, result.n_owners + 1),
                *axes.get_xlim(),
                color="#dddddd",
                linewidth=0.6,
                zorder=0,
            )
        axes.set_ylim(0.7 - half, result.n_owners + 0.3 + half)
        end = float(rows["time"][-1])
        axes.set_xlim(0 if first == 1 else None, end * 1.01 if end > 0 else 1.0)
        owner_ticks(axes, "y", result.participants)
        axes.set_xlabel(TIME_AXIS)
        axes.set_ylabel("owner $i$")
    caption = (
        "Instants at which answers were applied, owner by owner, for updates "
        f"k = {rows['k'][0]} to {rows['k'][-1]} of replicate {chosen}."
    )
    return Picture("timing-by-time", figure, rows, caption, label([result]))


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
