"""Parts of ψ at the end, stacked: bias, selection, transient and noise."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.figures.kit.lines import scale
from asyncdp_sim.figures.kit.numbers import known, wrapped
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label, row_labels
from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.figures.kit.style import BAND, BLUE, OKABE_ITO, panels, style
from asyncdp_sim.figures.runs.convergence import CurveLine

Array = npt.NDArray[np.float64]
PARTS = {
    "bias": OKABE_ITO[1],
    "selection": OKABE_ITO[4],
    "transient": OKABE_ITO[2],
    "noise": OKABE_ITO[0],
}
"""In the order of stacking."""
REST = "bias, selection and transient, not told apart"
NAME = 16  # letters of a cell's name in one line


def stacked(lines: Sequence[CurveLine]) -> Picture:
    """Draw the mean of ψ after the last update, and below it the shares of its parts.

    What is negative hangs below zero; the shares of a bar sum to 100 %.

    Parameters
    ----------
    lines : sequence of CurveLine
        Results with ``psi_split``; at least one.

    Raises
    ------
    ResultError
        If a result is damaged.
    """
    results = [line.result for line in lines]
    values = {name: np.array([_part(each, name) for each in results]) for name in PARTS}
    total = np.array([known(each.summary["psi_final"]["mean"]) for each in results])
    rest = total - np.nan_to_num(values["noise"])
    values[REST] = np.where(np.isnan(values["bias"]), rest, np.nan)
    errors = {
        name: np.array([_part(each, f"{name}_se") for each in results])
        for name in ("limit", "transient", "noise")
    }
    places = np.arange(len(lines))
    with style():
        figure, (above, below) = panels((1.0, 1.6), height=4.8)
        above.plot(places, total, "o", color=BLUE, markersize=5)
        for place, value in zip(places, total, strict=True):
            above.annotate(
                f"{value:.2g}", (place, value), (7, 0), textcoords="offset points", va="center"
            )
        scale(above, ylabel=r"mean $\psi$ at the end")
        stack(below, places, {name: 100 * part / total for name, part in values.items()})
        below.axhline(0, color="black", linewidth=0.8)
        below.set_ylabel(r"share of that mean (%)")
        below.set_xlim(-0.6, len(lines) - 0.4)
        below.set_xticks(places, [wrapped(line.name, NAME, 4) for line in lines])
        figure.legend(*below.get_legend_handles_labels(), loc="outside upper left", ncols=4)
    table: dict[str, npt.NDArray[Any]] = {
        "line": np.array([line.name for line in lines]),
        "psi_final_mean": total,
    }
    table |= {name: values[name] for name in PARTS}
    table |= {f"{name}_se": values for name, values in errors.items()}
    table |= row_labels([[result] for result in results], [1] * len(lines))
    return Picture("parts", figure, table, _caption(results), label(results))


def stack(axes: Axes, places: npt.NDArray[Any], shares: Mapping[str, Array]) -> None:
    """Draw bars that stack in the order given, up from 0 where positive and down where not.

    Parameters
    ----------
    axes : Axes
    places : array (B,)
        Where the bars stand.
    shares : mapping of array (B,)
        Heights by part; NaN counts as 0, and a part that is 0 in all bars is left out.
    """
    top, bottom = np.zeros(len(places)), np.zeros(len(places))
    for name, share in shares.items():
        height = np.nan_to_num(share)
        if not height.any():
            continue
        start = np.where(height >= 0, top, bottom)
        axes.bar(places, height, 0.6, bottom=start, color=PARTS.get(name, BAND), label=name)
        top, bottom = top + np.maximum(height, 0), bottom + np.minimum(height, 0)


def _caption(results: Sequence[Result]) -> str:
    said = (
        "Above: the mean over replicates of ψ after the last update. Below: its parts. Noise is "
        "what privacy adds to the same run without noise; transient is what that run loses if the "
        "same owners go on in the same order until nothing changes; bias is ψ of the mean of these "
        "limits, selection the rest of their mean ψ."
    )
    given = (each.summary["psi_split"].get("reason") for each in results)
    reasons = {str(reason) for reason in given if reason is not None}
    return said + "".join(f" Not told apart: {reason}." for reason in sorted(reasons))


def _part(result: Result, name: str) -> float:
    return known(result.summary["psi_split"].get(name))
