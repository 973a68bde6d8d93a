"""Whom owner 1 learns with (Collab, figures 6 and 11): ψ over n_1 and ε_1 in four cases.

The others are small or large, and reluctant or eager.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures.kit.axes import key
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.figures.kit.style import BLUE, THEORY, sheet, style
from asyncdp_sim.figures.sweeps.psi_surface import PSI, draw_mesh, draw_surface, log10, measured_key
from asyncdp_sim.figures.sweeps.sweep_figure import Table, estimates
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result

Array = npt.NDArray[np.float64]
MESH: dict[str, Any] = {"color": THEORY, "linewidth": 0.7}
NUMBERS = ("(i)", "(ii)", "(iii)", "(iv)")


@dataclass(frozen=True, eq=False)
class Case:
    """Mean ψ over owner 1's records and budget, for other owners of one kind.

    Attributes
    ----------
    number : str
        (i) to (iv), as in the paper: small and reluctant, small and eager, large and reluctant,
        large and eager.
    name : str
        In words.
    n_others : int
        N − 1.
    records, epsilon : float
        Of each of the others.
    n1, epsilon1 : array (X,), array (Y,)
        Owner 1's, ascending.
    psi : array (X, Y, 3)
        Mean over replicates and the ends of its 95 % interval.
    results : sequence of Result
        Of which ψ is, in the same order.
    """

    number: str
    name: str
    n_others: int
    records: float
    epsilon: float
    n1: Array
    epsilon1: Array
    psi: Array
    results: Sequence[Result]

    @property
    def mean(self) -> Array:
        """Mean ψ, shape (X, Y)."""
        return np.asarray(self.psi[:, :, 0])

    @property
    def law(self) -> Array:
        """Σ 1/ε_i² / (Σ n_i)², to which Theorem 2 says ψ is proportional, shape (X, Y)."""
        shy = 1 / self.epsilon1**2 + self.n_others / self.epsilon**2
        return np.asarray(shy / (self.n1[:, None] + self.n_others * self.records) ** 2)


def cases(sweep: Sweep) -> tuple[Case, ...]:
    """Read the four cases of a sweep of ``owners.records`` and ``privacy.epsilon`` as lists.

    Raises
    ------
    ResultError
        Unless the others have two sizes and two budgets, and each case all n_1 and ε_1.
    """
    found = {_place(cell, sweep): cell for cell in sweep.cells}
    n1, records, epsilon1, epsilon = (sorted({place[i] for place in found}) for i in range(4))
    whole = len(n1) * len(records) * len(epsilon1) * len(epsilon)
    if len(records) != 2 or len(epsilon) != 2 or len(found) != whole:
        given = "a sweep that is no grid of owner 1's n and ε for two sizes and two budgets"
        raise not_a_result(sweep.directory, given)
    told: list[Case] = []
    for m, size in zip(records, ("small", "large"), strict=True):
        for r, manner in zip(epsilon, ("reluctant", "eager"), strict=True):
            results = [found[n, m, e, r].result for n in n1 for e in epsilon1]
            psi = np.array(list(map(mean_psi_at_end, results))).reshape(len(n1), len(epsilon1), 3)
            others = sweep.cells[0].result.n_owners - 1
            swept = (np.array(n1), np.array(epsilon1), psi, results)
            told.append(Case(NUMBERS[len(told)], f"{size}, {manner}", others, m, r, *swept))
    return tuple(told)


def scale(found: Sequence[Case]) -> float:
    """Return C of ψ ≈ C Σ 1/ε_i² / (Σ n_i)², the geometric mean over all finite cells."""
    ratios = np.concatenate([(case.mean / case.law).ravel() for case in found])
    return float(np.exp(np.log(ratios[np.isfinite(ratios) & (ratios > 0)]).mean()))


def four_cases(
    sweep: Sweep, *, name: str = "four-cases", view: tuple[float, float] = (22.0, 40.0)
) -> Picture:
    """Draw mean ψ over n_1 and ε_1, four panels below one another, Theorem 2's law as a mesh.

    Parameters
    ----------
    sweep : Sweep
    name : str
        Of the files.
    view : tuple of float
        Elevation and azimuth in degrees.

    Raises
    ------
    ResultError
        As :func:`cases`.
    """
    found = cases(sweep)
    constant = scale(found)
    with style():
        figure = sheet(4.6, 12.4, measured=False)
        heights = np.concatenate([log10(case.mean).ravel() for case in found])
        low, high = np.nanmin(heights), np.nanmax(heights)
        for place, case in enumerate(found):
            corner = (0.1, 0.755 - 0.2325 * place, 0.84, 0.2)
            axes: Any = figure.add_axes(corner, projection="3d")
            axes.view_init(*view)
            _panel(axes, case, constant)
            axes.set_zlim(low - 0.05 * (high - low), high + 0.05 * (high - low))
            for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
                _decades(axis)
            title = f"{case.number} {case.name}\n$n_j$ = {number(case.records)}, "
            axes.set_title(f"{title}$\\epsilon_j$ = {number(case.epsilon)}", fontsize=8, y=1.0)
        figure.text(0.13, 0.5, PSI, rotation=90, va="center", fontsize=8)
        keys = [
            measured_key(),
            key(r"Theorem 2: $C\,\Sigma\,\epsilon_i^{-2}/(\Sigma\,n_i)^2$", **MESH),
        ]
        figure.legend(handles=keys, loc="upper left", ncols=1)
    results = [cell.result for cell in sweep.cells]
    replicates = numbers(float(len(result.replicates)) for result in results)
    spread = np.concatenate([(case.mean / case.law / constant).ravel() for case in found])
    said = (
        f"Mean ψ after the last update of {replicates} replicates (markers and surface) against "
        "owner 1's records n_1 and budget ε_1, where the others are small or large, reluctant or "
        f"eager. Mesh: {number(constant)} Σ 1/ε_i² / (Σ n_i)², Theorem 2's law with the constant "
        f"of all cells; measured over it {number(spread.min())} to {number(spread.max())}."
    )
    return Picture(name, figure, _table(found, constant), said, label(results))


def _panel(axes: Any, case: Case, constant: float) -> None:
    across, along, psi = draw_surface(axes, case.n1, case.epsilon1, case.mean)
    axes.scatter(across, along, psi, color=BLUE, s=8, depthshade=False)
    draw_mesh(axes, case.n1, case.epsilon1, constant * case.law, **MESH)
    axes.set_xlabel("$n_1$", labelpad=-6)
    axes.set_ylabel("$\\epsilon_1$", labelpad=-6)
    axes.tick_params(labelsize=6, pad=-2)


def _place(cell: Cell, sweep: Sweep) -> tuple[float, float, float, float]:
    """Return n_1, the others' n, ε_1 and the others' ε."""
    said = cell.result.scenario
    pair: list[float] = []
    for given in (said["owners"].get("records"), said["privacy"].get("epsilon")):
        if not isinstance(given, list) or len(given) < 2 or len(set(given[1:])) != 1:
            what = "a cell without lists of records and budgets, alike for all owners but the first"
            raise not_a_result(sweep.directory, what)
        pair += [float(given[0]), float(given[1])]
    return pair[0], pair[1], pair[2], pair[3]


def _decades(axis: Any) -> None:
    """Put ticks at whole decades, at most six of them."""
    low, high = axis.get_view_interval()
    whole = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    axis.set_ticks(whole[:: max(1, int(np.ceil(len(whole) / 6)))])
    axis.set_major_formatter(lambda exponent, _: f"$10^{{{round(exponent)}}}$")


def _table(found: Sequence[Case], constant: float) -> Table:
    tables = []
    for case in found:
        n, epsilon = np.meshgrid(case.n1, case.epsilon1, indexing="ij")
        table: Table = {"case": np.repeat([case.number], n.size)}
        table |= {"records_1": n.ravel(), "epsilon_1": epsilon.ravel()}
        table |= {"records_others": np.repeat(case.records, n.size)}
        table |= {"epsilon_others": np.repeat(case.epsilon, n.size)}
        table |= estimates("psi_final_mean", case.psi.reshape(-1, 3))
        table |= row_labels([[result] for result in case.results], [1] * n.size)
        tables.append(table | {"law": constant * case.law.ravel()})
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
