"""The README's picture: how good a private model gets with time, for three budgets."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from asyncdp_sim.core.words import number, numbers
from asyncdp_sim.figures.kit.axes import log_axis, scale
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import canvas, colours, legible, style
from asyncdp_sim.figures.runs.convergence import CurveLine, draw_quartiles, quartile_rows, quartiles
from asyncdp_sim.results import Sweep, not_a_result
from asyncdp_sim.scenario.paths import VARIANT

SINCE = 0.5
"""Where the axis of time begins, in units: the first answers arrive there."""
ROOM = 30.0
"""How many times the last instant the frame reaches."""
DECADES = tuple(10.0**power for power in range(-3, 10))
QUESTION = "How close to the best model do three banks get, with every record hidden?"


def psi_against_time(sweep: Sweep, *, name: str = "three-budgets") -> Picture:
    """Draw ψ against time, a line for each budget, and say at its end what it comes to.

    Parameters
    ----------
    sweep : Sweep
        Of variants that differ in ε, and in what suits it.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If the sweep has no variants, or a curve is absent or damaged.
    """
    if sweep.paths != (VARIANT,):
        raise not_a_result(sweep.directory, "a sweep of something else than variants")
    lines = [CurveLine(cell.result, cell.label(sweep.paths)) for cell in sweep.cells]
    found = [quartiles(line.result, "time", SINCE) for line in lines]
    shades = colours(len(lines))
    with style():
        figure, axes = canvas(width=7.2, height=3.9)
        draw_quartiles(axes, found, shades)
        for line, (time, psi), shade in zip(lines, found, shades, strict=True):
            _say(axes, line, float(time[-1]), float(psi[1, -1]), shade)
        log_axis(axes, "x")
        scale(
            axes, ylabel="loss above the best model's\n($\\psi$: 1 is twice the least loss)",
        )  # fmt: skip
        end = max(float(time[-1]) for time, _ in found)
        _end_axis(axes, end)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda at, _: number(at)))
        axes.set_title(QUESTION, loc="left", fontsize=10.5, fontweight="bold")
        runs = numbers(float(len(line.result.replicates)) for line in lines)
        axes.text(
            1, 0.98, f"line: median of {runs} runs\nband: the middle half of them",
            transform=axes.transAxes, ha="right", va="top", fontsize=8, color="#444444",
        )  # fmt: skip
    ends = [float(psi[1, -1]) for _, psi in found]
    said = "; ".join(f"{line.name}: {_told(end)}" for line, end in zip(lines, ends, strict=True))
    caption = (
        f"{QUESTION} Median (line) and 25–75 % band over replicates of the relative fitness ψ of "
        "the central model against time. Each budget ε has the step, the length and the cap on "
        f"answers that suit it, found from public knowledge. At the end: {said}."
    )
    table = quartile_rows(lines, "time", relative_fitness=found)
    return Picture(name, figure, table, caption, label([line.result for line in lines]))


def _end_axis(axes: Axes, end: float) -> None:
    """End the axis of time where the last line ends; right of it is room for words alone."""
    axes.set_xlim(SINCE, ROOM * end)
    middle = 0.5 * np.log(end / SINCE) / np.log(ROOM * end / SINCE)
    axes.set_xlabel("time (unit: a bank's mean time between two answers)", x=middle)
    axes.spines["bottom"].set_bounds(SINCE, end)
    axes.xaxis.set_major_locator(FixedLocator([at for at in DECADES if SINCE <= at <= end]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: number(at)))
    axes.xaxis.set_minor_locator(NullLocator())


def _say(axes: Axes, line: CurveLine, time: float, psi: float, shade: str) -> None:
    """Mark where a line ends, and write there what its budget comes to."""
    look: dict[str, Any] = {"color": legible(shade), "fontsize": 9.5}
    axes.plot(time, psi, "o", color=shade, markersize=6)
    axes.annotate(
        f"{line.name}: {_told(psi)}", (time, psi), xytext=(14, 0), textcoords="offset points",
        va="center", **look,
    )  # fmt: skip


def _told(psi: float) -> str:
    """Return ψ in words of everyday: a share of the least loss."""
    if not np.isfinite(psi):
        return "diverged"
    if psi >= 1:
        return f"{number(round(1 + psi, 1))} times the least loss"
    return f"{100 * psi:.2g} % above the least loss"
