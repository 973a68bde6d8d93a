"""Mean ψ at the end against one swept number, with laws, bounds and other models beside it.

First of any sweep, then as single entries ask for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from analysis import one_panel
from asyncdp_sim.core.arrays import Array, Bools, Columns
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.words import MOST_NUMBERS, number, numbers
from asyncdp_sim.figures import sweep_figure
from asyncdp_sim.figures.drawer import LONGEST_AT_END, Declaration, Layer, measured
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import GRAY, RAISED, THEORY, looks
from asyncdp_sim.results import Cell, Sweep, not_a_result
from asyncdp_sim.scenario.paths import VARIANT, symbol
from asyncdp_sim.scenario.paths import axis as axis_name


@dataclass(frozen=True)
class Reference:
    """A reference beside the measured means: a law, a bound, or ψ of another model.

    Attributes
    ----------
    name : str
        In the legend and the caption, such as ``2.15·10⁹/(ε n_i)²``.
    column : str
        In the table.
    at : callable
        ψ in a cell of the sweep, from its values or its result; NaN where there is none.
    """

    name: str
    column: str
    at: Callable[[Cell], float]


def measured_over(psi: Array, law: Array) -> Array:
    """Return measured ψ over that of a reference, where it is positive and finite, as one row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = psi / law
    return np.asarray(ratio[np.isfinite(ratio) & (ratio > 0)])


def told_of_ratio(ratio: Array) -> str:
    """Return a caption's words on such ratios: their geometric mean and ends; none of none."""
    if len(ratio) == 0:
        return ""
    middle = number(float(np.exp(np.log(ratio).mean())))
    return f", measured over it {middle} ({number(ratio.min())} to {number(ratio.max())})"


CONSTANT = 2.1536e9
"""c in the bound c/(ε n_i)² that figures 5 and 6 of Async draw, n_i records of each of 3 banks."""


def _lending_law(cell: Cell) -> float:
    said = cell.result.scenario
    return CONSTANT / (float(said["privacy"]["epsilon"]) * float(said["owners"]["records"])) ** 2


LENDING = Reference("published bound 2.15·10⁹/(ε n_i)²", "law", _lending_law)
DRAWN: Mapping[str, tuple[Reference, ...]] = {"async-05": (LENDING,), "async-07": ()}
"""Entries beside whose surface a paper draws a bound, or none: in place of a fitted law."""


LEAST = 3  # cells that a slope is fitted to
MOST_SERIES = 7
LEAST_OF_SURFACE = 4  # values of either number of a surface
PROJECTED = 0.01
"""Share of the updates in which the projection onto Θ may act where a law without it is fitted."""
LINES: tuple[Any, ...] = ("-", "--", ":", "-.")


def projected(cell: Cell) -> float:
    """Return the share of a cell's updates in which the projection changed a model."""
    return float(np.nan_to_num(cell.result.projected))


def slope(x: Array, psi: Array) -> float:
    """Return a of ψ ∝ xᵃ, least squares of logarithms; NaN of fewer than three positive points."""
    positive = np.isfinite(psi) & (psi > 0)
    if np.count_nonzero(positive) < LEAST:
        return float("nan")
    return float(np.polyfit(np.log(x[positive]), np.log(psi[positive]), 1)[0])


@dataclass(frozen=True)
class PsiSeries(sweep_figure.Series):
    """The cells that share a marker; its name, such as ``n_i = 1,000``, is empty of one series.

    Attributes
    ----------
    path : str
        The swept number.
    by : str, optional
        What sets the series apart.
    references : tuple of Reference
        Each a line per series, in the series' colour; black where it is the same for all.
    named : str
        Column of the series' names, or ``by`` itself, which then has its values.
    """

    path: str
    by: str | None = None
    references: tuple[Reference, ...] = ()
    named: str = "series"

    @cached_property
    def x(self) -> Array:
        """The swept number, shape (J,)."""
        return np.array(self.at)

    @cached_property
    def psi(self) -> Array:
        """Mean over replicates and the ends of its 95 % interval; infinite where a run diverged.

        Shape (3, J).
        """
        return np.array([sweep_figure.mean_psi_at_end(result) for result in self.results]).T

    @cached_property
    def projected(self) -> Array:
        """Share of the updates in which the projection changed a model, shape (J,)."""
        return np.array(list(map(projected, self.cells)))

    @property
    def inside(self) -> Bools:
        """Where ψ is positive and finite, and Θ's box held hardly any model, shape (J,)."""
        free = self.projected <= PROJECTED
        return np.asarray(free & np.isfinite(self.psi[0]) & (self.psi[0] > 0))

    @property
    def slope(self) -> float:
        """Exponent of the power law through the means inside; NaN of fewer than three."""
        return slope(self.x[self.inside], self.psi[0][self.inside])

    def of(self, reference: Reference) -> Array:
        """Return a reference's ψ in the cells, shape (J,)."""
        return np.array([reference.at(cell) for cell in self.cells])


def series_of(
    sweep: Sweep,
    x: str,
    by: str | None = None,
    chosen: Sequence[float] | None = None,
    most: float = MOST_SERIES,
    references: Sequence[Reference] = (),
) -> list[PsiSeries]:
    """Read mean ψ at the end against a swept number, a series for each value of another.

    Parameters
    ----------
    sweep : Sweep
    x : str
        Swept path with positive values.
    by : str, optional
        What sets the series apart; needed where two paths vary.
    chosen : sequence of float, optional
        The values of ``by`` to show. By default all of a few, else first, middle and last.
    most : float
        How many are a few.
    references : sequence of Reference

    Raises
    ------
    ResultError
        If ``x`` or ``by`` is not swept so, if another path varies too, or if a cell's curve is
        absent or damaged.
    """
    for path in (x,) if by is None else (x, by):
        if path not in sweep.paths:
            raise not_a_result(sweep.directory, f"a sweep that does not vary {path}")
    apart = [] if by is None else [by]
    cells = [
        cell for cell in sweep.cells if chosen is None or by is None or cell.values[by] in chosen
    ]
    series = PsiSeries.grouped(
        cells, lambda c: c.label(apart), lambda c: float(c.values[x]),
        path=x, by=by, references=tuple(references),
    )  # fmt: skip
    if chosen is None and len(series) > most:
        series = [series[0], series[len(series) // 2], series[-1]]
    if len(series) == 0:
        raise not_a_result(sweep.directory, f"no cell with the chosen values of {by}")
    for line in series:
        if len(set(line.at)) < len(line.at) or not (0 < line.at[0] <= line.at[-1] < np.inf):
            reason = f"several cells of one series with one {x}, or one that is not positive"
            raise not_a_result(sweep.directory, reason)
    return series


def lines(
    name: str, select: Callable[[Sweep], Sequence[PsiSeries] | str]
) -> sweep_figure.SweepFigure[PsiSeries]:
    """Return the figure of mean ψ at the end against a swept number, with 95 % intervals."""
    return sweep_figure.SweepFigure(name, select, _rows, _declared, _caption)


def surface(sweep: Sweep, x: str, y: str, references: Sequence[Reference]) -> Picture:
    """Draw mean ψ over two swept numbers: against y, a line for each x.

    Raises
    ------
    ResultError
        As :func:`series_of`, and if ψ is finite and positive nowhere.
    """
    return lines("surface", partial(_over_two, x=x, y=y, references=references)).picture(sweep)


def _over_two(
    sweep: Sweep, x: str, y: str, references: Sequence[Reference] | None = None
) -> list[PsiSeries] | str:
    series = series_of(sweep, y, x, most=np.inf)
    if not any((np.isfinite(line.psi[0]) & (line.psi[0] > 0)).any() for line in series):
        return "no cell with a finite mean ψ"
    laws = tuple(beside(series, x, y) if references is None else references)
    return [replace(line, references=laws, named=x) for line in series]


def _select_surface(sweep: Sweep) -> list[PsiSeries] | str:
    """Return the lines of a sweep over two positive numbers, or in words why there are none."""
    if len(sweep.varying) != 2:
        return "two settings are not swept"
    x, y = sorted(sweep.varying, key=lambda path: path == "privacy.epsilon")  # ε last
    if min(len(values) for values in sweep.varying.values()) < LEAST_OF_SURFACE:
        return f"fewer than {LEAST_OF_SURFACE} values of {x} or {y}"
    if not all(
        sweep_figure.is_number(value) for values in sweep.varying.values() for value in values
    ):
        return f"{x} or {y} is no number"
    try:
        return _over_two(sweep, x, y)
    except ResultError as error:
        return "; ".join(error.lines())


def beside(found: Sequence[PsiSeries], x: str, y: str) -> list[Reference]:
    """Return what a sweep's surface is held against.

    What a paper draws beside it, else the fitted law c (x y)⁻², as privacy's cost falls with
    records and with ε; c is fitted to the cells inside. Owner 1's own model is known with
    ``run.alone`` (Async, figure 7).
    """
    cells = [cell for line in found for cell in line.cells]
    name, laws = str(cells[0].result.scenario["id"]), list[Reference]()

    def square(cell: Cell) -> float:
        return float(cell.values[x] * cell.values[y]) ** 2

    logs = [
        np.log(psi * square(cell))
        for line in found
        for psi, cell, free in zip(line.psi[0], line.cells, line.inside, strict=True)
        if free
    ]
    if name in DRAWN:
        laws += DRAWN[name]
    elif {x, y} == {"owners.records", "privacy.epsilon"} and len(logs) > 0:
        c = float(np.exp(np.mean(logs)))
        factor, _, power = f"{c:.3g}".partition("e")
        factor += f"·10{str(int(power)).translate(RAISED)}" if power != "" else ""
        laws.append(Reference(f"fitted law {factor}/(ε n_i)²", "law", lambda e: c / square(e)))
    if all("profits_psi" in cell.result.summary for cell in cells):
        alone = "own model of owner 1, without noise"
        laws.append(Reference(alone, "psi_alone", lambda e: float(
            e.result.of_owners("psi_alone")[:, 0].mean())))  # fmt: skip
    return laws


def _declared(found: Sequence[PsiSeries], rows: Sequence[Columns]) -> Declaration:
    drawn = looks(len(found), markersize=5, linestyle="none")
    if len(found) == 1:
        drawn[0]["color"] = THEORY
    marks, dot = [], {"color": GRAY, "marker": "o", "linestyle": "none"}
    if len(found) > 1 and max(len(item.name) for item in found) <= LONGEST_AT_END:
        marks.append(Layer("line", name="mean and 95 % interval", look=dot))
    for item, look in zip(found, drawn, strict=True):
        name = "" if len(found) > 1 else item.name or "measured"
        marks.append(measured(item.x, item.psi, name=name, end=item.name if not name else "",
                              **look, elinewidth=1.5))  # fmt: skip
        held, hollow = ~item.inside, look | {"markerfacecolor": "white", "zorder": 3}
        marks.append(Layer("line", item.x[held], item.psi[0][held], look=hollow))
    if not all(item.inside.all() for item in found):
        named = "model at the bounds of $\\Theta$"
        marks.append(Layer("line", name=named, look=dot | {"markerfacecolor": "white"}))
    for reference, dash in zip(found[0].references, LINES * 2, strict=False):
        values = [item.of(reference) for item in found]
        shared = len(found) == 1 or all(np.array_equal(values[0], line) for line in values)
        plain: dict[str, Any] = {"linestyle": dash, "linewidth": 1.1, "zorder": 1}
        for place in range(1 if shared else len(found)):
            tone = THEORY if shared else drawn[place]["color"]
            marks.append(Layer("line", found[place].x, values[place], look={"color": tone} | plain))
        tone = THEORY if shared else GRAY
        marks.append(Layer("line", name=reference.name, look={"color": tone} | plain))
    places = {place for item in found for place in item.at}
    ticks = sorted(places) if len(places) <= MOST_NUMBERS else None
    x, least = {"name": axis_name(found[0].path), "ticks": ticks}, "mean ψ at the end"
    title = sweep_figure.least_in_words(
        rows, "psi_final_mean", least, found[0].named, found[0].path
    )
    return one_panel.declared("psi-lines", title + beside_law(rows), marks, 3.9, x)


def beside_law(rows: Sequence[Columns]) -> str:
    """Return by which factors measured ψ differs from the law beside it, if there is one."""
    if "law" not in rows[0]:
        return ""
    psi, law, share = (
        np.concatenate([table[name] for table in rows])
        for name in ("psi_final_mean", "law", "projected")
    )
    ratio = measured_over(psi[share <= PROJECTED], law[share <= PROJECTED])
    if len(ratio) == 0:
        return ""
    return f"; measured ψ is {number(ratio.min())} to {number(ratio.max())} times the line"


def _rows(each: PsiSeries) -> Columns:
    """Return what is drawn of one series: a row for every cell."""
    table = each.rows(each.named, each.path, psi_final_mean=sweep_figure.mean_psi_at_end)
    if each.named == each.by:
        table[each.named] = np.array([cell.values[each.by] for cell in each.cells])
    table["projected"] = each.projected
    return table | {reference.column: each.of(reference) for reference in each.references}


def _caption(found: Sequence[PsiSeries], _: Sequence[Columns]) -> str:
    x, by = found[0].path, found[0].by
    results = [cell.result for item in found for cell in item.cells]
    text = (
        f"Mean ψ after the last update of {numbers(float(len(r.replicates)) for r in results)} "
        f"replicates (markers; error bars: 95 % intervals of the mean) against {x}"
    )
    text += "" if by is None else f", a series for each {by}"
    for item in found[0].references:
        psi = np.concatenate([series.psi[0][series.inside] for series in found])
        law = np.concatenate([series.of(item)[series.inside] for series in found])
        text += f"; line: {item.name}{told_of_ratio(measured_over(psi, law))}"
    fitted = [f"{item.name or 'all'} {item.slope:.2f}" for item in found if np.isfinite(item.slope)]
    if fitted:
        text += f". Fitted exponents of {symbol(x)}: {', '.join(fitted)}"
    held = sum(int(np.count_nonzero(item.projected > PROJECTED)) for item in found)
    if held > 0:
        text += (
            f"; open: {held} of {len(results)} cells in which the projection onto Θ changed a "
            f"model in more than {100 * PROJECTED:g} % of the updates, left out of ratios and fits"
        )
    left = sum(int(np.count_nonzero(~np.isfinite(item.psi[0]))) for item in found)
    if left > 0:
        text += f"; {left} cells without a finite mean are left out"
    return f"{text}."


FIGURE = lines("surface", _select_surface)
"""Of any sweep over two numbers."""

EPSILON, OWNERS = "privacy.epsilon", "owners.count"


def hospital_law(epsilon: float) -> float:
    """Return 0.9/ε + 0.6/ε², as figure 10 of Async draws it; n, N and f(θ*) are in both numbers."""
    return 0.9 / epsilon + 0.6 / epsilon**2


HOSPITAL = Reference(
    "0.9/ε + 0.6/ε², as published", "law",
    lambda cell: hospital_law(float(cell.values[EPSILON])),
)  # fmt: skip


def markers(
    sweep: Sweep,
    x: str,
    by: str | None = None,
    *,
    chosen: Sequence[float] | None = None,
    references: Sequence[Reference] = (),
    name: str = "markers",
) -> Picture:
    """Draw mean ψ of a sweep against x; parameters as in ``series_of``, whose errors it raises."""
    found = partial(series_of, x=x, by=by, chosen=chosen, references=references)
    return lines(name, found).picture(sweep)


def alone(cell: Cell) -> float:
    """Return ψ of the median owner's own model, without noise."""
    return float(np.median(cell.result.of_owners("psi_alone")))


def by_noise(sweep: Sweep) -> list[PsiSeries]:
    """Return a series for each noise: variants begin with its name, and end with the owners'."""
    return PsiSeries.grouped(
        sweep.cells,
        lambda cell: str(cell.values[VARIANT]).partition(",")[0],
        lambda cell: float(cell.result.scenario["owners"]["count"]),
        path=OWNERS,
    )


OWN = Reference("own model of the median owner, without noise", "psi_alone", alone)
BY_BUDGET = partial(series_of, x=EPSILON, by="owners.records", references=(LENDING,))
MEAN_BY_BUDGET = partial(series_of, x=EPSILON, references=(HOSPITAL,))
CORRELATED_NOISE = lines("correlated-noise", by_noise)
HIDE_THE_OWNER = lines(
    "hide-the-owner", partial(series_of, x=OWNERS, by=VARIANT, references=(OWN,))
)
STUDIES = dict.fromkeys(("async-05", "async-07", "collab-03", "collab-08"), FIGURE) | {
    "async-06": lines("by-budget", BY_BUDGET),
    "async-10": lines("mean-by-budget", MEAN_BY_BUDGET),
    "correlated-noise": CORRELATED_NOISE,
    "hide-the-owner": HIDE_THE_OWNER,
}
