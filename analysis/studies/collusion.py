"""Collusion: what all other owners learn of the answers of the owner that is the learner.

The cells of ``owner-learner-collude`` of the catalogue are run again, transcribed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis import one_panel
from analysis.one_panel import TRUTH, written
from analysis.privacy.transcripts import HIDDEN, learned
from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer
from asyncdp_sim.figures.style import looks
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import load

EPSILON = "privacy.epsilon"
BEHIND = 10.0  # of the largest finite ε, where ∞ stands


@dataclass(frozen=True)
class Colluded(Series):
    """One line: the cells that differ in ε alone, in ascending order of the hidden owner's.

    Attributes
    ----------
    infinity : float
        Where ε = ∞ stands.
    """

    infinity: float


def select(sweep: Sweep) -> list[Colluded] | str:
    """Return a line for all that is swept beside ε, or why there is none."""
    if EPSILON not in sweep.paths:
        return f"{EPSILON} is not swept"
    budgets = [float(cell.result.of_owners("epsilon")[0][HIDDEN]) for cell in sweep.cells]
    epsilon = {cell.number: budget for cell, budget in zip(sweep.cells, budgets, strict=True)}
    others = [path for path in sweep.paths if path != EPSILON]
    return Colluded.grouped(
        sweep.cells, lambda cell: cell.label(others), lambda cell: epsilon[cell.number],
        infinity=BEHIND * max([each for each in budgets if np.isfinite(each)], default=1.0),
    )  # fmt: skip


def _rows(line: Colluded) -> Columns:
    scenarios = [load(result.directory / "scenario.toml")[0] for result in line.results]
    found = list(map(learned, scenarios))
    columns = {name: np.array([each[name] for each in found]) for name in found[0]}
    return line.rows("name", "epsilon") | columns


def declared(found: Sequence[Colluded], rows: Sequence[Columns]) -> Declaration:
    """Say the error of the mean gradient of a run against ε.

    Markers where measured, a line where noise says what to expect. Rounding errors at ε = ∞ are
    printed: drawn to scale, they would squeeze all else.
    """
    places = sorted({epsilon for line in found for epsilon in line.at})
    infinity = found[0].infinity
    at = [epsilon if np.isfinite(epsilon) else infinity for epsilon in places]
    marks, rounded = [Layer("level", y=1.0, look=TRUTH)], list[float]()
    marks.append(written(at[0], 1.0, "nothing is learned"))
    for line, table, look in zip(found, rows, looks(len(found), markersize=4.5), strict=True):
        noisy = np.isfinite(table["epsilon"]) & (table["averaged_noise"] > 0)
        x, thin = table["epsilon"][noisy], {"color": look["color"], "linewidth": 0.9}
        dots = look | {"linestyle": "none"}
        marks += [Layer("line", x, table["mean"][noisy], look=dots),
                  Layer("line", x, table["averaged_noise"][noisy], look=thin),
                  Layer("line", name=line.name, look=look | thin)]  # fmt: skip
        rounded += table["mean"][np.isinf(table["epsilon"]) & np.isfinite(table["mean"])].tolist()
    if len(rounded) > 0:
        said = f"▾ rounding error ≤ {max(rounded):.0e}"
        foot = {"xycoords": ("data", "axes fraction"), "rotation": 90, "ha": "center"}
        look = foot | {"xytext": (0, 2), "va": "bottom"}
        marks += [Layer("upright", infinity, look={"alpha": 0}),
                  Layer("note", infinity, 0, name=said, look=look)]  # fmt: skip
    across = {"ticks": at, "labels": list(map(number, places))}
    return one_panel.declared("collusion", learned_best(rows), marks, 3.5, across)


def learned_best(rows: Sequence[Columns]) -> str:
    """Return at which finite ε, and under which settings, a run's mean gradient is known best."""
    known = np.concatenate([table["mean"] for table in rows])
    epsilon, name = (np.concatenate([table[of] for table in rows]) for of in ("epsilon", "name"))
    finite = np.isfinite(epsilon) & np.isfinite(known)
    if not finite.any():
        return "Without noise colluding owners know every gradient but for rounding"
    best = int(np.argmin(np.where(finite, known, np.inf)))
    text = f"Colluding owners know the mean gradient within {100 * known[best]:.2g} % at best"
    return f"{text}, at ε = {number(float(epsilon[best]))} ({name[best]})"


FIGURE = SweepFigure("collusion", select, _rows, declared, lambda *_: one_panel.text("collusion"))
STUDIES = {"owner-learner-collude": FIGURE}
