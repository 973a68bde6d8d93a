"""Rival ways of learning: ψ at the end, and the time that it took, against ε and N."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.numbers import as_float, number
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Cell, Result, Sweep, not_a_result
from asyncdp_sim.figures.kit.style import MARKERS, colours, style
from asyncdp_sim.figures.sweeps.sweep_figure import key, strokes
from asyncdp_sim.privacy.manifest_facts import PLAIN, mechanism_kind

Array = npt.NDArray[np.float64]
MOST_PANELS = 4


@dataclass(frozen=True)
class Entry:
    """A rival's best cell for one N and ε.

    Attributes
    ----------
    rival : str
        Algorithm, mechanism (but for Laplace noise), bound and budget.
    n_owners : int
        N.
    epsilon : float
        ε.
    cell : Cell
    psi : tuple of float
        Median of ψ of the last model over replicates, and its 95 % interval.
    time : float
        Median over replicates of the time of the last update (units).
    """

    rival: str
    n_owners: int
    epsilon: float
    cell: Cell
    psi: tuple[float, float, float]
    time: float


def entries(cells: Sequence[Cell]) -> list[Entry]:
    """Return the best cell of each rival for each N and ε: that of the least median ψ.

    Cells of one rival differ in settings that its budget does not pay for, such as the step.
    """
    found: dict[tuple[str, int, float], Entry] = {}
    for cell in cells:
        result = cell.result
        epsilon = as_float(result.scenario["privacy"].get("epsilon"))
        if epsilon is None or not np.isfinite(epsilon) or result.summary["updates"] == 0:
            continue
        key = (rival(result), result.n_owners, epsilon)
        value, low, high = psi_at_end(result)
        made = Entry(*key, cell, (value, low, high), _time(result))
        if key not in found or made.psi[0] < found[key].psi[0]:
            found[key] = made
    return list(found.values())


def rival(result: Result) -> str:
    """Return what sets a rival apart: how it learns, how records are hidden, who pays when."""
    privacy = result.scenario["privacy"]
    bound = privacy.get("sensitivity") or {"kind": "no bound"}
    mechanism = mechanism_kind(result.manifest)
    noise = [] if mechanism == PLAIN else [mechanism]
    kinds = [result.scenario["algorithm"]["kind"], *noise, bound["kind"], privacy["budget"]["kind"]]
    return ", ".join(kinds)


def rivals(sweeps: Sequence[Sweep]) -> Picture:
    """Draw two rows of panels, one column for each N: ψ at the end, and the time it took.

    Raises
    ------
    ResultError
        If there is nothing to compare, or a curve is absent or damaged.
    """
    found = entries([cell for sweep in sweeps for cell in sweep.cells])
    names = list(dict.fromkeys(each.rival for each in found))
    counts = sorted({each.n_owners for each in found})
    if len(names) < 2:
        raise not_a_result(sweeps[0].directory, "fewer than two rivals with an ε")
    if len(counts) > MOST_PANELS:
        given = f"{len(counts)} numbers of owners, more than {MOST_PANELS} panels"
        raise not_a_result(sweeps[0].directory, given)
    looks = dict(zip(names, zip(colours(len(names)), MARKERS * 2, strict=False), strict=False))
    with style():
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(2, len(counts), sharex=True, sharey="row", squeeze=False)
        budgets = sorted({each.epsilon for each in found})
        for column, n_owners in enumerate(counts):
            some = [each for each in found if each.n_owners == n_owners]
            for name, look in looks.items():
                _draw(grid[:, column], [each for each in some if each.rival == name], look)
            _scale(grid[:, column], budgets)
            grid[0, column].set_title(f"$N$ = {n_owners}", fontsize=9)
            grid[1, column].set_xlabel("privacy budget $\\epsilon$")
        grid[0, 0].set_ylabel("$\\psi$ at the end\n(median)")
        grid[1, 0].set_ylabel("time of the last update\n(units, median)")
        keys = [key(name, *look) for name, look in looks.items()]
        figure.legend(handles=keys, loc="outside upper left", ncols=2)
    said = (
        "ψ of the last model (median; strokes: its 95 % interval over replicates) and the time of "
        "the last update (median) against ε, for every number of owners; of each rival the best "
        "setting in hindsight, for which no budget is charged; ψ is relative to the optimum on "
        "the records as the run has them, which a bounded domain changes."
    )
    return Picture(
        "rivals",
        figure,
        _table(found, [p for s in sweeps for p in s.paths]),
        said,
        label([each.cell.result for each in found]),
    )


def _draw(both: npt.NDArray[Any], line: Sequence[Entry], look: tuple[str, str]) -> None:
    """Draw one rival's ψ and time for one N."""
    shade, marker = look
    line = sorted(line, key=lambda each: each.epsilon)
    epsilon = [each.epsilon for each in line]
    psi = np.array([each.psi for each in line]).reshape(-1, 3).T
    errors = strokes(*psi)
    plain = {"color": shade, "marker": marker, "markersize": 4, "linewidth": 1.1}
    above, below = both
    above.errorbar(epsilon, psi[0], yerr=errors, elinewidth=1.2, capsize=2, **plain)
    below.plot(epsilon, [each.time for each in line], **plain)


def _scale(both: npt.NDArray[Any], budgets: Sequence[float]) -> None:
    """Give both axes of an N logarithmic scales, and a tick to each ε."""
    for axes in both:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(budgets, [number(epsilon) for epsilon in budgets])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(axis="y")


def _time(result: Result) -> float:
    """Return the median over replicates of the time of the last update."""
    replicate, time = result.columns("curve", "replicate", "time")
    return float(np.median(time[np.flatnonzero(np.diff(replicate, append=-1) != 0)]))


def _table(found: Sequence[Entry], paths: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    rest = [path for path in dict.fromkeys(paths) if path != "owners.count"]
    columns = {
        "rival": [each.rival for each in found],
        "setting": [each.cell.label([p for p in rest if p in each.cell.values]) for each in found],
        "owners": [each.n_owners for each in found],
        "epsilon": [each.epsilon for each in found],
        "psi_final_median": [each.psi[0] for each in found],
        "psi_final_median_low": [each.psi[1] for each in found],
        "psi_final_median_high": [each.psi[2] for each in found],
        "time": [each.time for each in found],
    }
    return {name: np.array(values) for name, values in columns.items()}
