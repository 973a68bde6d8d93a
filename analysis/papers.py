"""Pictures of the two papers, redrawn, and the grid of ψ by which their figures are judged.

The learner amid its owners, in Async's figures 1 (the star) and 2 (one owner i_k at a time, in
red); boxes of 25–75 % at every iteration (Collab, figures 2 and 7); and fit by size, ψ of owners
alone against n_i beside the joint model's (Async, figure 11).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from analysis import one_panel
from analysis.studies.psi_lines import PROJECTED, Reference, measured_over, projected
from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.convergence import CurveLine, ending, quartile_rows, quartiles
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.style import BLUE, FEW_OWNERS, THEORY, VERMILION, colours
from asyncdp_sim.figures.sweep_figure import OutcomeEstimate, mean_psi_at_end
from asyncdp_sim.figures.traces import first_with_updates, window
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result

RED, QUIET, LINE = "#d00000", "#777777", "#bbbbbb"
STEPS, ACROSS = 10, 5
MOST = 2 * FEW_OWNERS
"""More owners than that hide one another on a circle."""
ROOM = 1.3
TALL = Side(limits=(-ROOM, ROOM))


def structure(result: Result, *, name: str = "structure") -> Picture:
    """Draw the learner, its owners, and how many answers of each one were used.

    Parameters
    ----------
    result : Result
        Of at most 24 owners.
    name : str
        Of the picture's file.

    Raises
    ------
    ValueError
        If there are more owners.
    """
    places = _places(result.n_owners)
    owner, records, used = (result.of_owners(each)[0] for each in ("owner", "records", "updates"))
    marks = _star(places, widths=0.6 + 2.4 * used / max(1, used.max()))
    for (x, y), many, spoken in zip(1.17 * places, records, used, strict=True):
        side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
        look = {"xytext": (0, 0), "ha": side, "va": "bottom" if y > 0 else "top"}
        marks.append(Layer("note", x, y, name=f"{many:,} records\n{spoken:,} answers", look=look))
    most = int(np.argmax(used))
    title = f"Owner {owner[most]} gave most used answers: {used[most]:,} of {used.sum():,}"
    wide = Side(limits=(-1.6 * ROOM, 1.6 * ROOM))
    said = Declaration([Panel(marks, wide, TALL, bare=True)], (5.2, 3.4), title)
    caption = one_panel.text("structure", replicate=result.replicates[0])
    table = {"owner": owner, "records": records, "updates": used}
    return Picture(name, said, table, caption, label([result]))


def sequence(result: Result, *, first: int = 1, name: str = "sequence") -> Picture:
    """Draw ten updates one after the other, each with its owner i_k in red.

    Parameters
    ----------
    result : Result
        With updates, of at most 24 owners.
    first : int
        The first k.
    name : str
        Of the picture's file.

    Raises
    ------
    ResultError
        If the result kept no updates.
    ValueError
        If there are more owners.
    """
    places, chosen = _places(result.n_owners), first_with_updates(result)
    rows: Columns = window(result, chosen, first, first + STEPS - 1)
    down = -(-len(rows["k"]) // ACROSS)
    panels = [
        Panel(_star(places, spoke=int(spoke)), TALL, TALL,
              f"$k={k}$, $i_k={spoke}$\n$t_k={number(float(time))}$", bare=True)
        for k, time, spoke in zip(rows["k"], rows["time"], rows["owner"], strict=True)
    ]  # fmt: skip
    title = f"{len(np.unique(rows['owner']))} owners made these {len(panels)} updates"
    said = Declaration(panels, (7.2, 1.7 * down + 0.3), title, ACROSS)
    caption = one_panel.text("sequence", first=rows["k"][0], last=rows["k"][-1], replicate=chosen)
    return Picture(name, said, rows, caption, label([result]))


def _places(n_owners: int) -> Array:
    """Return where owners stand around the learner, from the top and clockwise, shape (N, 2)."""
    if n_owners > MOST:
        raise ValueError(f"at most {MOST} owners have room around a learner, given {n_owners}")
    angle = np.pi / 2 - 2 * np.pi * np.arange(n_owners) / n_owners
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _star(places: Array, *, spoke: int = 0, widths: Array | None = None) -> list[Layer]:
    """Return the learner's lines to its owners; of one that speaks now, in red."""
    small, marks = 11 if len(places) <= FEW_OWNERS else 8, list[Layer]()
    middle: dict[str, Any] = {"xytext": (0, 0), "ha": "center", "fontsize": 6.5, "zorder": 3}
    for owner, (x, y) in enumerate(places, start=1):
        red = owner == spoke
        broad = 0.7 if widths is None else float(widths[owner - 1])
        line = {"color": RED if red else LINE, "linewidth": 2.0 if red else broad, "zorder": 1}
        dot = {"marker": "o", "markersize": small, "color": RED if red else QUIET, "zorder": 2}
        marks += [
            Layer("line", [0, x], np.array([0, y]), look=line),
            Layer("line", [x], np.array([y]),
                  look=dot | {"markerfacecolor": RED if red else "white"}),
            Layer("note", x, y, name=f"{owner}",
                  look=middle | {"color": "white" if red else "black"}),
        ]  # fmt: skip
    square = {"marker": "s", "markersize": small, "color": "black", "zorder": 2}
    learner = Layer("line", [0], np.array([0.0]), look=square)
    return [*marks, learner, Layer("note", 0, 0, name="L", look=middle | {"color": "white"})]


def by_iteration(lines: Sequence[CurveLine], *, name: str = "boxes") -> Picture:
    """Draw quartiles of ψ at every recorded iteration, in the manner of Collab.

    Parameters
    ----------
    lines : sequence of CurveLine
        One colour each; at least one.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    shades = colours(len(lines))
    found = [quartiles(line.result, "k") for line in lines]
    marks, median = list[Layer](), {"color": THEORY, "linewidth": 1.0}
    for (k, (low, middle, high)), line, shade in zip(found, lines, shades, strict=True):
        box = {"color": shade, "alpha": 0.6, "linewidth": 2.2}
        boxes = "25–75 %" if shade == shades[0] else ""
        marks += [Layer("strokes", k, None, low, high, boxes, look=box),
                  Layer("line", k, middle, name="median", look=median),
                  Layer("line", y=middle[-1:], end=line.name, look={"color": shade})]  # fmt: skip
    ends = [float(psi[1, -1]) for _, psi in found]
    said = ", ".join(f"{number(end)} at {line.name}" for end, line in zip(ends, lines, strict=True))
    table = quartile_rows(lines, "k", relative_fitness=found)
    results, x = [line.result for line in lines], {"limits": (0, max(k[-1] for k, _ in found))}
    title = ending(table, "k", "ψ")
    picture = one_panel.captioned("boxes", title, marks, table, results, 4.0, x, ends=said)
    return replace(picture, name=name)


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
    fits = [f"{np.count_nonzero(row)}{at(line)}" for line, row in zip(lines, worse, strict=True)]
    title = f"The joint model fits all records better than {', '.join(fits)} of {len(alone)} own "
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
    results, name = [line.result for line in lines], "alone-against-size"
    return one_panel.captioned(
        name, f"{title}models", marks, table, results, 4.2, owners=len(alone), who=who
    )


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


def _who(line: CurveLine, above: Sequence[str]) -> str:
    """Return how many are above a line, and which."""
    if len(above) == 0:
        return f"{at(line)} none"
    listed = ", ".join(above[: 3 * MOST_NAMES])
    more = ", …" if len(above) > 3 * MOST_NAMES else ""
    return f"{at(line)} {len(above)} ({listed}{more})"


LEAST = 2  # values of either number


@dataclass(frozen=True, eq=False)
class Grid:
    """Mean ψ at the end on a grid of two swept numbers, both ascending.

    Attributes
    ----------
    x, y : array (X,), array (Y,)
    cells : dict
        The cell at each place (row, column) of the grid.
    paths : tuple of str
        Of x and y.
    """

    x: Array
    y: Array
    cells: dict[tuple[int, int], Cell]
    paths: tuple[str, str]

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that are shown."""
        return tuple(cell.result for cell in self.cells.values())

    def of(self, value: Callable[[Cell], float | OutcomeEstimate], *more: int) -> Array:
        """Return what cells have on the grid, shape (X, Y, …); NaN where a cell is missing."""
        values = np.full((len(self.x), len(self.y), *more), np.nan)
        for place, cell in self.cells.items():
            values[place] = value(cell)
        return values

    @cached_property
    def psi(self) -> Array:
        """Mean over replicates and the ends of its 95 % interval, shape (X, Y, 3).

        Infinite where a run diverged.
        """
        return self.of(lambda cell: mean_psi_at_end(cell.result), 3)

    @property
    def mean(self) -> Array:
        """Mean ψ, shape (X, Y)."""
        return np.asarray(self.psi[:, :, 0])

    @cached_property
    def projected(self) -> Array:
        """Share of the updates in which the projection changed a model, shape (X, Y)."""
        return self.of(projected)

    @property
    def inside(self) -> Bools:
        """Where ψ is positive and finite, and Θ's box held hardly any model, shape (X, Y)."""
        return (self.projected <= PROJECTED) & np.isfinite(self.mean) & (self.mean > 0)


def grid(sweep: Sweep, x: str, y: str) -> Grid:
    """Read mean ψ at the end over two swept paths.

    Raises
    ------
    ResultError
        If they are not swept over two positive numbers or more each, if a third path is, or if a
        cell's curve is absent or damaged.
    """
    for path in (x, y):
        if path not in sweep.paths:
            raise not_a_result(sweep.directory, f"a sweep that does not vary {path}")
    across, along = _ascending(sweep, x), _ascending(sweep, y)
    cells = {}
    for cell in sweep.cells:
        place = (across.index(float(cell.values[x])), along.index(float(cell.values[y])))
        if place in cells:
            raise not_a_result(sweep.directory, f"several cells with one {x} and {y}")
        cells[place] = cell
    return Grid(np.array(across), np.array(along), cells, (x, y))


def slopes(found: Grid) -> tuple[float, float]:
    """Return a and b of ψ ∝ xᵃ yᵇ, least squares of logarithms inside; NaN of too few cells."""
    rows, columns = np.nonzero(found.inside)
    design = np.stack([np.ones(len(rows)), np.log(found.x[rows]), np.log(found.y[columns])], 1)
    if len(rows) < design.shape[1] or np.linalg.matrix_rank(design) < design.shape[1]:
        return np.nan, np.nan
    fitted = np.linalg.lstsq(design, np.log(found.mean[rows, columns]), rcond=None)[0]
    return float(fitted[1]), float(fitted[2])


def ratios(found: Grid, reference: Reference) -> Array:
    """Return mean ψ over the reference inside, where that is positive and finite, as one row."""
    return measured_over(found.mean[found.inside], found.of(reference.at)[found.inside])


def _ascending(sweep: Sweep, path: str) -> list[float]:
    """Return a path's values, each once and in ascending order."""
    values = {cell.values[path] for cell in sweep.cells}
    able = all(isinstance(v, int | float | np.number) and 0 < v < np.inf for v in values)
    if not able or len(values) < LEAST:
        reason = f"{path} without {LEAST} values that are positive numbers"
        raise not_a_result(sweep.directory, reason)
    return sorted(map(float, values))
