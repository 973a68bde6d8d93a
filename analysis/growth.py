"""Growth of time and memory with the size of a problem, with fitted exponents."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10, nan, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from asyncdp_sim.figures.kit.axes import log_axis
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.style import BAND, MARKERS, OKABE_ITO, small_panels, style
from asyncdp_sim.privacy.label import Label

Array = npt.NDArray[np.float64]

NOTHING_PRIVATE = Label(
    text="Times and memory of runs on synthetic data: nothing private is shown.",
    private=True,
    epsilon_true=0.0,
    delta=0.0,
    timing_accounted=True,
    not_for_release=False,
)
MEMORY = "memory"
"""The part of a panel that is measured in bytes, on the right-hand axis."""


@dataclass(frozen=True, eq=False)
class Growth:
    """Cost of one part of the work at growing sizes, all else fixed.

    Attributes
    ----------
    part : str
        Which; ``MEMORY`` is that of all parts together.
    sizes : array (J,)
        > 0, ascending.
    costs : array (J,)
        Seconds, or bytes of ``MEMORY``; > 0.
    """

    part: str
    sizes: Array
    costs: Array


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent.

    Attributes
    ----------
    value : float
        b of cost ∝ size^b.
    error : float
        Its standard error; NaN with fewer than three points.
    """

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Panel:
    """The costs that depend on one size.

    Attributes
    ----------
    symbol, axis : str
        The size's letter, and its name with what is fixed.
    growths : sequence of Growth
    slopes : sequence of float
        Exponents that are drawn for reference.
    """

    symbol: str
    axis: str
    growths: Sequence[Growth]
    slopes: Sequence[float]


def exponent(growth: Growth) -> Exponent:
    """Fit log cost = a + b log size by least squares over the upper half of the sizes.

    With J sizes these are the ⌈J/2⌉ largest; the standard error takes the residuals to be
    independent and alike.

    Raises
    ------
    ValueError
        With fewer than two points.
    """
    half = len(growth.sizes) // 2
    x, y = np.log(growth.sizes[half:]), np.log(growth.costs[half:])
    if len(x) < 2:
        raise ValueError(f"an exponent needs two points, not {len(x)}")
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x)
    slope = float(x @ y) / spread
    left = y - slope * x
    error = sqrt(float(left @ left) / (len(x) - 2) / spread) if len(x) > 2 else nan
    return Exponent(slope, error)


def growth(panels: Sequence[Panel], measured_on: str) -> Picture:
    """Draw costs against sizes, both logarithmic, a panel for each size.

    Parameters
    ----------
    panels : sequence of Panel
    measured_on : str
        The machine, for the caption.
    """
    parts = list(dict.fromkeys(g.part for p in panels for g in p.growths if g.part != MEMORY))
    looks = dict(zip(parts, zip(OKABE_ITO, MARKERS, strict=False), strict=False))
    with style():
        figure, shown = small_panels(len(panels), room=0.55 * ((len(panels) + 1) // 2) + 0.6)
        for axes, panel in zip(shown, panels, strict=True):
            _draw(axes, panel, looks)
    caption = (
        "What simulating and learning cost as one size grows and the others stay: best wall time "
        "in one process (full), and peak memory of all parts together (grey, open, right-hand "
        "axis). Exponents: least squares of logarithms over the upper half of the sizes, ± one "
        "standard error; thin lines: fits. Dashed: slopes for reference (left axis). "
        f"{measured_on}"
    )
    return Picture("how-cost-grows", figure, _table(panels), caption, NOTHING_PRIVATE)


def _draw(axes: Axes, panel: Panel, looks: dict[str, tuple[str, str]]) -> None:
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.spines["right"].set_color(BAND)
    keys = []
    for each in panel.growths:
        fit = exponent(each)
        name = f"{each.part} {_power(panel.symbol, fit)}"
        if each.part == MEMORY:
            where, scaled = right, each.costs / 2**20
            look: dict[str, Any] = {"color": BAND, "marker": "o", "markerfacecolor": "white"}
        else:
            where, scaled = axes, each.costs
            colour, marker = looks[each.part]
            look = {"color": colour, "marker": marker}
        keys += where.plot(each.sizes, scaled, **look, markersize=3.8, linestyle="none", label=name)
        upper = each.sizes[len(each.sizes) // 2 :]
        middle = np.exp(np.log(upper).mean())
        level = np.exp(np.log(scaled[len(each.sizes) // 2 :]).mean())
        where.plot(upper, level * (upper / middle) ** fit.value, color=look["color"], linewidth=0.9)
    for each_axes in (axes, right):
        log_axis(each_axes, "xy")
    _roomy(axes, [g.costs for g in panel.growths if g.part != MEMORY])
    _roomy(right, [g.costs / 2**20 for g in panel.growths if g.part == MEMORY])
    _references(axes, panel)
    axes.set_xlabel(panel.axis)
    axes.set_ylabel("time (s)")
    right.set_ylabel("memory (MiB)", color="#666666")
    right.tick_params(axis="y", colors="#666666", which="both")
    axes.grid(axis="y")
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    axes.legend(
        handles=keys, loc="lower left", bbox_to_anchor=(-0.2, 1.0), ncols=2, fontsize=6.8,
        handletextpad=0.0, columnspacing=0.5, borderpad=0.1, labelspacing=0.25,
    )  # fmt: skip


def _roomy(axes: Axes, costs: Sequence[Array]) -> None:
    """Show whole decades, at least two, with a tick at each or at every other."""
    if len(costs) == 0:
        axes.set_axis_off()
        return
    all_costs = np.concatenate(costs)
    low, high = np.floor(np.log10(all_costs.min())), np.ceil(np.log10(all_costs.max()))
    high = max(high, low + 2)
    axes.set_ylim(10.0**low, 10.0**high)
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())


def _references(axes: Axes, panel: Panel) -> None:
    """Draw the reference slopes as a fan in the lower right corner."""
    sizes = np.concatenate([each.sizes for each in panel.growths])
    low, high = axes.get_ylim()
    end, tall = float(sizes.max()), log10(high / low)
    reach = 0.3 * log10(end / float(sizes.min()))  # decades across
    reach = min(reach, 0.4 * tall / max(panel.slopes))
    bottom = low * 10 ** (0.05 * tall)
    for slope in panel.slopes:
        top = bottom * 10 ** (reach * slope)
        axes.plot([end / 10**reach, end], [bottom, top], "--", color="#888888", linewidth=0.8)
        axes.annotate(
            f"{slope:g}", (end, top), xytext=(2, 0), textcoords="offset points",
            ha="left", va="center", fontsize=6.5, color="#666666",
        )  # fmt: skip


def _power(symbol: str, fit: Exponent) -> str:
    error = "" if fit.error != fit.error else f" \\pm {fit.error:.2f}"
    return f"${symbol}^{{\\,{fit.value:.2f}{error}}}$"


def _table(panels: Sequence[Panel]) -> dict[str, npt.NDArray[Any]]:
    rows = []
    for panel in panels:
        for each in panel.growths:
            fit = exponent(each)
            unit = "bytes" if each.part == MEMORY else "seconds"
            for size, cost in zip(each.sizes.tolist(), each.costs.tolist(), strict=True):
                rows.append((panel.symbol, each.part, size, cost, unit, fit.value, fit.error))
    names = ("size_of", "part", "size", "cost", "unit", "exponent", "exponent_error")
    columns = zip(*rows, strict=True)
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}
