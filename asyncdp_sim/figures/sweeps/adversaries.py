"""Damage by owners that lie: ψ at the end against how many of them there are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.numbers import number, wrapped
from asyncdp_sim.figures.kit.outcomes import psi_at_end
from asyncdp_sim.figures.kit.source import Cell, Result, Sweep
from asyncdp_sim.figures.kit.style import (
    MARKERS,
    THEORY,
    colours,
    plain_numbers,
    small_panels,
)
from asyncdp_sim.figures.sweeps.sweep_figure import SweepFigure, Table, key, strokes

Array = npt.NDArray[np.float64]
PSI = "psi_final_median"
OWNERS, FACTOR = "adversary.owners", "adversary.factor"
MOST_SERIES = 8
MOST_PANELS = 4
WIDTH = 44  # letters of a name in the legend
ASIDE = 0.05  # by how much each line stands beside the one before, so that equal ones are seen


@dataclass(frozen=True)
class Varied:
    """The panels of this picture, and the path that sets its lines apart.

    Attributes
    ----------
    factors : tuple of float
        One panel each; empty where the lies' factor is not swept.
    other : str, optional
        What sets the lines apart.
    """

    factors: tuple[float, ...]
    other: str | None


@dataclass(frozen=True)
class LiarSeries:
    """One line of a panel: its cells, from the fewest owners that lie to the most."""

    name: str
    factor: float | None
    cells: tuple[Cell, ...]

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that are shown."""
        return tuple(cell.result for cell in self.cells)


def varied(sweep: Sweep) -> Varied | str:
    """Return what is drawn against the number of liars, or in words why nothing is."""
    values = {p: list(dict.fromkeys(c.values[p] for c in sweep.cells)) for p in sweep.paths}
    values = {path: some for path, some in values.items() if len(some) > 1}
    if len({liars(cell) for cell in sweep.cells if OWNERS in cell.values}) < 2:
        return f"{OWNERS} is not swept over two numbers of owners or more"
    factors = values.pop(FACTOR, [])
    others = [path for path in values if path != OWNERS]
    if len(others) > 1 or len(factors) > MOST_PANELS:
        return f"too much is swept besides {OWNERS}: {', '.join([*others, FACTOR])}"
    if others and len(values[others[0]]) > MOST_SERIES:
        return f"{others[0]} has {len(values[others[0]])} values, more than {MOST_SERIES} lines"
    return Varied(tuple(sorted(map(float, factors))), others[0] if others else None)


def liars(cell: Cell) -> int:
    """Return how many owners lie in a cell; the list stands as JSON text there."""
    given = cell.values[OWNERS]
    return len(json.loads(given) if isinstance(given, str) else given)


def select(sweep: Sweep) -> list[LiarSeries] | str:
    """Return the lines of all panels, or in words why nothing is drawn against liars."""
    axis = varied(sweep)
    if isinstance(axis, str):
        return axis
    names = list(dict.fromkeys(_name(cell, axis) for cell in sweep.cells))
    found = []
    for factor in axis.factors or (None,):
        cells = [c for c in sweep.cells if factor is None or c.values[FACTOR] == factor]
        for name in names:
            line = sorted((c for c in cells if _name(c, axis) == name), key=liars)
            found.append(LiarSeries(name, factor, tuple(line)))
    return found


def panels(found: Sequence[LiarSeries], rows: Sequence[Table]) -> Figure:
    """Draw the median of ψ after the last update against the number of owners that lie."""
    names = list(dict.fromkeys(each.name for each in found))
    factors = list(dict.fromkeys(each.factor for each in found))
    looks = list(zip(colours(len(names)), MARKERS * 2, strict=False))
    shown = [wrapped(name, WIDTH) for name in names]
    room = 0.16 * sum(name.count("\n") + 1 for name in shown) / 2 if len(names) > 1 else 0.0
    figure, several = small_panels(len(factors), room + 0.9)
    for axes, factor in zip(several, factors, strict=True):
        part = [(e, some) for e, some in zip(found, rows, strict=True) if e.factor == factor]
        for place, ((_, some), look) in enumerate(zip(part, looks, strict=False)):
            _draw(axes, some, *look, ASIDE * (place - (len(names) - 1) / 2))
        _finish(axes, [cell for each, _ in part for cell in each.cells], factor)
    top = max(axes.get_ylim()[1] for axes in several)
    for axes in several:
        axes.set_ylim(min(other.get_ylim()[0] for other in several), top)
    several[0].set_ylabel("$\\psi$ at the end (median)")
    if len(names) > 1:
        keys = [key(name, *look) for name, look in zip(shown, looks, strict=False)]
        figure.legend(handles=[*keys, _turn_key()], loc="outside upper left", ncols=2)
    return figure


_CAPTION = (
    "Median of the relative fitness ψ of the last model against the number of owners that lie, "
    "with 95 % intervals (of fewer than six replicates their whole range); ψ and θ* are of all "
    "owners' records, those of liars too. Dashed: where lies outweigh honest answers, for alike "
    "owners, if every answer is taken. Lines stand a little beside one another."
)


def _draw(axes: Axes, rows: Table, shade: str, marker: str, aside: float) -> None:
    """Draw one line; what is not finite is left out."""
    psi = np.array([rows[f"{PSI}{end}"] for end in ("", "_low", "_high")])
    value, low, high = np.where(np.isfinite(psi), psi, np.nan)
    axes.errorbar(
        rows["liars"] + aside, value, yerr=strokes(value, low, high), fmt=marker, linestyle="-",
        color=shade, markersize=4, linewidth=1.1, elinewidth=1.2, capsize=2,
    )  # fmt: skip


def _finish(axes: Axes, cells: Sequence[Cell], factor: float | None) -> None:
    """Scale and name the axes, and mark where lies outweigh honest answers."""
    adversary: Mapping[str, object] = cells[0].result.scenario["adversary"]
    axes.set_yscale("log")
    plain_numbers(axes)
    most = max(liars(cell) for cell in cells)
    turn = cells[0].result.n_owners / (1 + float(str(adversary["factor"])))
    if adversary["kind"] == "flip" and turn <= most:
        axes.axvline(turn, color=THEORY, linestyle="--", linewidth=0.9, zorder=0)
    axes.set_xticks(sorted({liars(cell) for cell in cells}))
    axes.set_xlabel("owners that lie" if factor is None else _said(adversary))
    axes.grid(axis="y")


def _said(adversary: Mapping[str, object]) -> str:
    sign = "−" if adversary["kind"] == "flip" else ""
    return f"owners that send {sign}{number(float(str(adversary['factor'])))} × the answer"


def _name(cell: Cell, axis: Varied) -> str:
    return "" if axis.other is None else cell.label([axis.other])


def _turn_key() -> Line2D:
    name = "lies outweigh answers"
    return Line2D([], [], color=THEORY, linestyle="--", linewidth=0.9, label=name)


def _rows(line: LiarSeries) -> Table:
    """Return what is drawn of one line: a row for every number of owners that lie."""
    psi = np.array([psi_at_end(cell.result) for cell in line.cells]).reshape(-1, 3)
    return {
        "series": np.repeat([line.name], len(psi)),
        "factor": np.full(len(psi), np.nan if line.factor is None else line.factor),
        "liars": np.array([liars(cell) for cell in line.cells], dtype=np.int64),
        PSI: psi[:, 0],
        f"{PSI}_low": psi[:, 1],
        f"{PSI}_high": psi[:, 2],
    }


FIGURE = SweepFigure(
    "liars", select, lambda found: list(map(_rows, found)), panels, lambda *_: _CAPTION
)
