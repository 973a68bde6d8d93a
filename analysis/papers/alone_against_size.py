"""Fit by size: ψ of owners alone against n_i, and of the joint model as lines.

As Async, figure 11.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.one_panel import text
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.style import BLUE, THEORY, VERMILION
from asyncdp_sim.results import not_a_result

DASHES: tuple[Any, ...] = ("-", "--", "-.", ":")
MOST_NAMES = 12
"""Owners above a line that are named in the picture; the caption names three times as many."""


def by_size(
    lines: Sequence[CurveLine],
    names: Sequence[str] = (),
    expected: Sequence[float] = (),
    theory: str = "exact forecast",
) -> Picture:
    """Draw ψ(θ_i*) of every owner against n_i, and E ψ(θ_L,T) of every result as a line.

    Where ψ(θ_i*) lies above the line, the joint model fits all records better than the owner's own.
    Markers of owners above the last line are filled.

    Parameters
    ----------
    lines : sequence of CurveLine
        Results of the same owners that know θ_i* (``run.alone``); at least one.
    names : sequence of str
        What owners are called, one per owner; by default their numbers, from 1.
    expected : sequence of float
        E ψ of every line by an exact forecast, drawn beside it; NaN where there is none.
    theory : str
        What the legend calls that.

    Raises
    ------
    ResultError
        If a table is absent or damaged, or owners alone differ from result to result.
    """
    records, alone = of_owners(lines[0])
    for line in lines[1:]:
        if not np.array_equal(of_owners(line)[1], alone):
            raise not_a_result(line.result.directory, "other owners alone than the first result's")
    called = np.array(names if len(names) > 0 else [str(i + 1) for i in range(len(alone))])
    means = np.array([line.result.mean_psi for line in lines])
    worse = alone > means[:, None]
    look: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4}
    last, own = worse[-1], r"$\psi(\theta_i^*)$ of an owner alone"
    white = {"color": BLUE, "markerfacecolor": "white"}
    marks = [
        Layer("line", records[~last], alone[~last], name=own, look=look | white),
        Layer("line", records[last], alone[last], name=f"of one above the line{at(lines[-1])}",
             look=look | {"color": VERMILION}),
    ]  # fmt: skip
    for line, mean, dash in zip(lines, means, DASHES * len(lines), strict=False):
        plain = {"color": THEORY, "linestyle": dash, "linewidth": 1.2}
        if np.isfinite(mean):
            marks.append(Layer("level", y=mean, look=plain, end=line.name or r"E $\psi(\theta_L)$"))
    dots = {"color": VERMILION, "linestyle": ":", "linewidth": 1.0}
    marks += [Layer("level", y=v, name=theory, look=dots) for v in expected if np.isfinite(v)]
    if 0 < np.count_nonzero(last) <= MOST_NAMES:
        beside = {"xytext": (4, 3), "va": "baseline"}
        for x, y, name in zip(records[last], alone[last], called[last], strict=True):
            marks.append(Layer("note", x, y, name=str(name), look=beside))
    side = Side(rf"relative fitness $\psi$ {BETTER}", log=True)
    panel = Panel(marks, Side("records $n_i$ of an owner", log=True), side)
    fits = [f"{np.count_nonzero(row)}{at(line)}" for line, row in zip(lines, worse, strict=True)]
    title = f"The joint model fits all records better than {', '.join(fits)} of {len(alone)} own "
    said = Declaration([panel], (6.5, 4.2), f"{title}models")
    table = {
        "line": np.repeat([line.name for line in lines], len(alone)),
        "owner": np.tile(np.arange(1, len(alone) + 1), len(lines)),
        "name": np.tile(called, len(lines)),
        "records": np.tile(records, len(lines)),
        "psi_alone": np.tile(alone, len(lines)),
        "psi_final_mean": np.repeat(means, len(alone)),
        "fits_worse": worse.astype(int).ravel(),
        **row_labels([[line.result] for line in lines], len(alone)),
    }
    if len(expected) > 0:
        table["psi_final_expected"] = np.repeat(np.array(expected, dtype=float), len(alone))
    who = "; ".join(_who(line, called[row]) for line, row in zip(lines, worse, strict=True))
    caption = text("alone-against-size", owners=len(alone), who=who)
    results = [line.result for line in lines]
    return Picture("alone-against-size", said, table, caption, label(results))


def of_owners(line: CurveLine) -> tuple[Array, Array]:
    """Return n_i and ψ(θ_i*), owner by owner.

    Raises
    ------
    ResultError
        If the result does not know them.
    """
    records, alone = (line.result.of_owners(name)[0] for name in ("records", "psi_alone"))
    return records.astype(float), alone


def at(line: CurveLine) -> str:
    """Return where a line is, to be put behind other words."""
    return f" at {line.name}" if line.name else ""


def _who(line: CurveLine, above: npt.NDArray[Any]) -> str:
    """Return how many are above a line, and which."""
    if len(above) == 0:
        return f"{at(line)} none"
    listed = ", ".join(above[: 3 * MOST_NAMES])
    more = ", …" if len(above) > 3 * MOST_NAMES else ""
    return f"{at(line)} {len(above)} ({listed}{more})"
