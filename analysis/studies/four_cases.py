"""Whom owner 1 learns with (Collab, figures 6 and 11): ψ over n_1 and ε_1 in four cases.

The others are small or large, and reluctant or eager.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from analysis import one_panel
from analysis.papers import Grid
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, measured
from asyncdp_sim.figures.picture import row_labels
from asyncdp_sim.figures.style import GRAY, looks
from asyncdp_sim.figures.sweep_figure import SweepFigure, estimates
from asyncdp_sim.results import Cell, Sweep, not_a_result

CASES = (
    ("(i)", "small, reluctant"),
    ("(ii)", "small, eager"),
    ("(iii)", "large, reluctant"),
    ("(iv)", "large, eager"),
)
"""As in the paper: the size of the others, then their budget."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Case(Grid):
    """Mean ψ over owner 1's records and budget, for other owners of one kind.

    Attributes
    ----------
    number, name : str
        As in ``CASES``.
    n_others : int
        N − 1.
    records, epsilon : float
        Of each of the others.
    constant : float
        C of ψ ≈ C Σ 1/ε_i² / (Σ n_i)², the geometric mean over the finite cells of all cases.
    """

    number: str
    name: str
    n_others: int
    records: float
    epsilon: float
    constant: float = 1.0

    @property
    def law(self) -> Array:
        """Σ 1/ε_i² / (Σ n_i)², to which Theorem 2 says ψ is proportional, shape (X, Y)."""
        shy = 1 / self.y**2 + self.n_others / self.epsilon**2
        return np.asarray(shy / (self.x[:, None] + self.n_others * self.records) ** 2)


def cases(sweep: Sweep) -> list[Case]:
    """Read the four cases of a sweep of ``owners.records`` and ``privacy.epsilon`` as lists.

    Raises
    ------
    ResultError
        Unless the others have two sizes and two budgets, and each case all n_1 and ε_1.
    """
    places = {_place(cell, sweep): cell for cell in sweep.cells}
    n1, records, epsilon1, epsilon = (sorted({place[i] for place in places}) for i in range(4))
    whole = len(n1) * len(records) * len(epsilon1) * len(epsilon)
    if len(records) != 2 or len(epsilon) != 2 or len(places) != whole:
        given = "a sweep that is no grid of owner 1's n and ε for two sizes and two budgets"
        raise not_a_result(sweep.directory, given)
    found = [
        Case(
            np.array(n1), np.array(epsilon1),
            {(i, j): places[n, m, e, r] for i, n in enumerate(n1) for j, e in enumerate(epsilon1)},
            ("records_1", "epsilon_1"), number=name, name=words, records=m, epsilon=r,
            n_others=sweep.cells[0].result.n_owners - 1,
        )
        for (name, words), (m, r) in zip(CASES, product(records, epsilon), strict=True)
    ]  # fmt: skip
    ratios = np.concatenate([(case.mean / case.law).ravel() for case in found])
    constant = np.exp(np.log(ratios[np.isfinite(ratios) & (ratios > 0)]).mean())
    return [replace(case, constant=float(constant)) for case in found]


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


def declared(found: Sequence[Case], rows: Sequence[Columns]) -> Declaration:
    """Say mean ψ over n_1, a line for each ε_1, a panel for each case; Theorem 2's law beside."""
    return Declaration(
        [
            Panel(
                _lines(case), one_panel.side("four-cases", "x"), one_panel.side("four-cases", "y"),
                f"{case.number} {case.name}\n$n_j$ = {number(case.records)}, "
                f"$\\epsilon_j$ = {number(case.epsilon)}",
            )
            for case in found
        ],
        (7.2, 6.0), beside_theorem(rows), shared="y",
    )  # fmt: skip


def beside_theorem(rows: Sequence[Columns]) -> str:
    """Return by which factors measured ψ differs from Theorem 2's law."""
    ratio = np.concatenate([table["psi_final_mean"] / table["law"] for table in rows])
    return f"Measured ψ is {number(ratio.min())} to {number(ratio.max())} times Theorem 2's law"


def _lines(case: Case) -> list[Layer]:
    marks, drawn = list[Layer](), looks(len(case.y), markersize=4.0, linestyle="none")
    for epsilon, psi, law, look in zip(case.y, case.psi.transpose(1, 2, 0),
                                       case.constant * case.law.T, drawn, strict=True):  # fmt: skip
        name = f"$\\epsilon_1$ = {number(epsilon)}"
        line = {"color": look["color"], "linewidth": 0.9, "zorder": 1}
        marks += [measured(case.x, psi, name=name, **look), Layer("line", case.x, law, look=line)]
    named = r"Theorem 2: $C\,\Sigma\,\epsilon_i^{-2}/(\Sigma\,n_i)^2$"
    return [*marks, Layer("line", name=named, look={"color": GRAY, "linewidth": 0.9})]


def _rows(case: Case) -> Columns:
    n, epsilon = np.meshgrid(case.x, case.y, indexing="ij")
    table: Columns = {"case": np.repeat([case.number], n.size)}
    table |= {"records_1": n.ravel(), "epsilon_1": epsilon.ravel()}
    table |= {"records_others": np.repeat(case.records, n.size)}
    table |= {"epsilon_others": np.repeat(case.epsilon, n.size)}
    table |= estimates("psi_final_mean", case.psi.reshape(-1, 3))
    table |= row_labels([[result] for result in case.results])
    return table | {"law": case.constant * case.law.ravel()}


def _caption(found: Sequence[Case], _: Sequence[Columns]) -> str:
    replicates = numbers(float(len(run.replicates)) for case in found for run in case.results)
    return one_panel.text("four-cases", replicates=replicates, constant=number(found[0].constant))


FIGURE = SweepFigure("four-cases", cases, _rows, declared, _caption)
STUDIES = {"collab-06": FIGURE, "collab-11": FIGURE}
