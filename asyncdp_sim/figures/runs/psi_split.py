"""Parts of ψ at the end, stacked: bias, selection, transient and noise."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.core.words import known
from asyncdp_sim.figures.kit.axes import BETTER, log_axis, wrapped
from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.figures.kit.style import BAND, BLUE, OKABE_ITO, plain_numbers, sheet, style
from asyncdp_sim.figures.runs.convergence import CurveLine
from asyncdp_sim.results import Result

Array = npt.NDArray[np.float64]
PARTS = {
    "bias": OKABE_ITO[1],
    "selection": OKABE_ITO[4],
    "transient": OKABE_ITO[2],
    "noise": OKABE_ITO[0],
}
"""In the order of stacking."""
REST = "bias, selection and transient, not separated"
NAME = 24  # letters of a cell's name in one line


def stacked(lines: Sequence[CurveLine]) -> Picture:
    """Draw the shares of the parts of mean ψ after the last update, and beside them that mean.

    What is negative stands left of zero; the shares of a bar sum to 100 %.

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
    values = {name: np.array([_part(run, name) for run in results]) for name in PARTS}
    total = np.array([known(run.summary["psi_final"]["mean"]) for run in results])
    rest = total - np.nan_to_num(values["noise"])
    values[REST] = np.where(np.isnan(values["bias"]), rest, np.nan)
    errors = {
        name: np.array([_part(run, f"{name}_se") for run in results])
        for name in ("limit", "transient", "noise")
    }
    places = np.arange(len(lines))
    names = [wrapped(line.name, NAME, 3) for line in lines]
    with style():
        figure = sheet(6.5, 1.5 + 0.45 * len(lines))
        shares, means = figure.subplots(1, 2, sharey=True, width_ratios=(2.0, 1.0))
        stack(shares, places, {name: 100 * part / total for name, part in values.items()})
        shares.axvline(0, color="black", linewidth=0.8)
        shares.set_xlabel(r"share of the mean $\psi$ at the end (%)")
        shares.set_yticks(places, names)
        shares.set_ylim(len(lines) - 0.4, -0.6)
        means.plot(total, places, "o", color=BLUE, markersize=5)
        for place, value in zip(places, total, strict=True):
            means.annotate(
                f"{value:.2g}", (value, place), (7, 0), textcoords="offset points",
                va="center", fontsize=8,
            )  # fmt: skip
        log_axis(means, "x")
        means.margins(x=0.2)
        plain_numbers(means, "x")
        means.set_xlabel(r"mean $\psi$ at the end" + f"\n{BETTER}")
        means.grid(axis="both")
        for axes in (shares, means):
            axes.tick_params(axis="y", length=0)
        figure.legend(*shares.get_legend_handles_labels(), loc="outside upper left", ncols=4)
    table: dict[str, npt.NDArray[Any]] = {
        "line": np.array([line.name for line in lines]),
        "psi_final_mean": total,
    }
    table |= {name: values[name] for name in PARTS}
    table |= {f"{name}_se": values for name, values in errors.items()}
    table |= row_labels([[result] for result in results], [1] * len(lines))
    return Picture("parts", figure, table, _caption(results), label(results))


def stack(axes: Axes, places: npt.NDArray[Any], shares: Mapping[str, Array]) -> None:
    """Draw bars that stack in the order given, right of 0 where positive and left where not.

    Parameters
    ----------
    axes : Axes
    places : array (B,)
        Where the bars stand.
    shares : mapping of array (B,)
        Lengths by part; NaN counts as 0, and a part that is 0 in all bars is left out.
    """
    right, left = np.zeros(len(places)), np.zeros(len(places))
    for name, share in shares.items():
        length = np.nan_to_num(share)
        if not length.any():
            continue
        start = np.where(length >= 0, right, left)
        axes.barh(places, length, 0.6, left=start, color=PARTS.get(name, BAND), label=name)
        right, left = right + np.maximum(length, 0), left + np.minimum(length, 0)


def _caption(results: Sequence[Result]) -> str:
    text = (
        "Left: the parts of the mean over replicates of ψ after the last update. Right: that mean. "
        "Noise: the increase over the same run without privacy noise. Transient: the decrease of "
        "that run's ψ if its sequence of owners is repeated until convergence. Bias: ψ of the mean "
        "of these limits. Selection: the rest of their mean ψ."
    )
    why = (result.summary["psi_split"].get("reason") for result in results)
    reasons = {str(reason) for reason in why if reason is not None}
    return text + "".join(f" Not separated: {reason}." for reason in sorted(reasons))


def _part(result: Result, name: str) -> float:
    return known(result.summary["psi_split"].get(name))
