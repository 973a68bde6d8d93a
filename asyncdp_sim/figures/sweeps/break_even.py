"""ψ of the joint model against ε, and ψ of each owner's own model as a line: who gains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import draw_line, key, legend, number_ticks, scale
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end, owner_table
from asyncdp_sim.figures.kit.picture import row_labels
from asyncdp_sim.figures.kit.style import BLUE, VERMILION, canvas
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends, estimates
from asyncdp_sim.results import Result, Sweep

Array = npt.NDArray[np.float64]
EPSILON = "privacy.epsilon"
LEAST = 2  # owners, and values of ε
OWN: dict[str, Any] = {"color": "#777777", "linewidth": 0.8}


@dataclass(frozen=True)
class JointModel(Series):
    """The cells of a sweep over ε alone, in ascending order."""

    @property
    def alone(self) -> Array:
        """ψ of each owner's own model, shape (N,)."""
        return _alone(self.results[0])

    @property
    def break_even(self) -> Array:
        """The ε from which on the joint model has the smaller ψ, shape (N,); ∞ where there is none.

        Between two swept ε the logarithm of ψ is interpolated over the logarithm of ε.
        """
        psi = np.log(_joint(self)[0])
        return np.array([_crossing(np.log(self.at), psi, own) for own in np.log(self.alone)])


def select(sweep: Sweep) -> list[JointModel] | str:
    """Return the sweep's joint models, or in words why they are not compared with own models."""
    if tuple(sweep.varying) != (EPSILON,):
        return f"{EPSILON} is not swept alone"
    cells = [cell for cell in sweep.cells if np.isscalar(cell.values[EPSILON])]
    cells = [cell for cell in cells if 0 < float(cell.values[EPSILON]) < np.inf]
    if not all("profits_psi" in cell.result.summary for cell in cells):
        return "owners alone are not known: run.alone"
    first = _alone(cells[0].result) if len(cells) > 0 else np.array([])
    if min(len(cells), len(first)) < LEAST:
        return f"fewer than {LEAST} owners or values of ε"
    if not all(np.array_equal(_alone(cell.result), first) for cell in cells):
        return "owners are not the same in all cells"
    return [JointModel.ordered("", cells, lambda cell: float(cell.values[EPSILON]))]


def panels(found: Sequence[JointModel], _: Sequence[Table]) -> Figure:
    """Draw ψ against ε with 95 % intervals, a level line for each owner, and the break-even ε."""
    [joint] = found
    figure, axes = canvas(width=7.2, height=3.9)
    for own in joint.alone:
        axes.axhline(own, zorder=0, **OWN)
    look: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 4.5, "linewidth": 1.4}
    draw_line(axes, joint.at, _joint(joint), **look)
    keys = [
        key("joint model: mean and 95 % interval", **look),
        key("own models: one line per owner, without noise", **OWN),
    ]
    half = float(np.median(joint.break_even))
    if joint.at[0] < half < np.inf:
        mark: dict[str, Any] = {"color": VERMILION, "linestyle": "--", "linewidth": 1.2}
        axes.axvline(half, **mark)
        keys.append(key(f"from $\\epsilon$ = {half:.2g} on, half of the owners gain", **mark))
    scale(axes, "xy", ylabel="$\\psi$ at the end: loss above the least\n(lower is better)")
    axes.set_xlabel("privacy budget $\\epsilon$ per owner")
    number_ticks(axes, joint.at)
    axes.set_title(decision(joint).replace(". ", ".\n", 1), loc="left", fontsize=9)
    legend(figure, keys)
    return figure


def _rows(joint: JointModel) -> Table:
    """Return what is drawn: a row for every ε and owner."""
    owners, alone = len(joint.alone), joint.alone
    many = len(joint.at)
    psi = np.repeat(_joint(joint), owners, axis=1)
    table: Table = {"epsilon": np.repeat(joint.at, owners)}
    table |= estimates("psi_final_mean", psi.T)
    shared = owner_table(joint.results[0].participants) | {"psi_alone": alone}
    shared |= {"break_even_epsilon": joint.break_even}
    table |= {name: np.tile(column, many) for name, column in shared.items()}
    table["gains"] = (table["psi_alone"] > ends(table, "psi_final_mean")[0]).astype(int)
    return table | row_labels([[result] for result in joint.results], [owners] * many)


def _caption(found: Sequence[JointModel], _: Sequence[Table]) -> str:
    return (
        "Mean ψ after the last update against ε (markers; strokes: 95 % intervals over "
        "replicates). Each gray line is ψ of one owner's own model, trained without noise; an "
        "owner gains where the joint model is below its line, as it then fits all records better. "
        f"{decision(found[0])}"
    )


def decision(joint: JointModel) -> str:
    """Return how many owners gain at the ends of the axis, and from which ε on half of them do."""
    owners, half = len(joint.alone), float(np.median(joint.break_even))
    low, high = (int((joint.alone > psi).sum()) for psi in _joint(joint)[0][[0, -1]])
    counts = (
        f"At ε = {number(joint.at[0])}, {low} of {owners} owners gain by joining; "
        f"at ε = {number(joint.at[-1])}, {high} do."
    )
    if half == np.inf:
        return f"{counts} Do not join at these ε: fewer than half of the owners gain."
    return f"{counts} Join if ε may be {half:.2g} or more: then half of the owners gain."


def _crossing(epsilon: Array, psi: Array, own: float) -> float:
    """Return the ε behind which ψ stays below an owner's own; all three are logarithms."""
    below = psi < own
    if not below[-1]:
        return np.inf
    if below.all():
        return float(np.exp(epsilon[0]))
    last = int(np.flatnonzero(~below)[-1])
    if not np.isfinite(psi[last]):
        return float(np.exp(epsilon[last + 1]))
    share = (psi[last] - own) / (psi[last] - psi[last + 1])
    return float(np.exp(epsilon[last] + share * (epsilon[last + 1] - epsilon[last])))


def _joint(joint: JointModel) -> Array:
    """Return mean ψ of the joint models and the ends of its interval, shape (3, J)."""
    return np.array([mean_psi_at_end(result) for result in joint.results]).T


def _alone(result: Result) -> Array:
    return np.asarray(result.of_owners("psi_alone").mean(axis=0))


FIGURE = SweepFigure("break-even", select, _rows, panels, _caption)
