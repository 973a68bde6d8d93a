"""Throughput over offered load of shared channels, measured and as theory has it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from analysis.labels import label, put
from analysis.picture import Picture
from analysis.source import Cell, Result, Sweep, not_a_result
from analysis.style import canvas, colours, style
from analysis.words import as_float
from asyncdp_sim.network.channels import Aloha, Csma, Parallel, SlottedAloha
from asyncdp_sim.theory.curves import AccessCurve, access_curve, endless_curve

Array = npt.NDArray[np.float64]
LOAD, DELIVERED = "offered_load", "delivered_load"
NAMES = {
    "aloha": "pure ALOHA",
    "slotted-aloha": "slotted ALOHA",
    "csma": "CSMA",
    "tdma": "time division",
    "parallel": "parallel channels",
}
LOADS = np.geomspace(1e-3, 300.0, 400)
MARKERS = ("o", "s", "^", "D", "v", "P")


def measured(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose summary knows what was on air and what of it was delivered."""
    return [cell for cell in cells if _shares_a_channel(cell.result.summary)]


def against_load(sweep: Sweep) -> Picture:
    """Draw S, the share of time in surviving answers, against G, the transmissions on air.

    Raises
    ------
    ResultError
        If no cell knows its load.
    """
    cells = measured(sweep.cells)
    if len(cells) == 0:
        raise not_a_result(sweep.directory, f"cells without {LOAD}")
    groups: dict[str, list[Result]] = {}
    for cell in cells:
        groups.setdefault(str(cell.result.scenario["channel"]["kind"]), []).append(cell.result)
    points = {kind: _points(results) for kind, results in groups.items()}
    reach = max(float(rows[LOAD].max()) for rows in points.values())
    tables: list[dict[str, npt.NDArray[Any]]] = []
    keys: list[list[Any]] = []
    with style():
        figure, axes = canvas(width=7.2, height=4.2)
        for kind, shade, marker in zip(groups, colours(len(groups)), _markers(), strict=False):
            keys.append([_draw(axes, points[kind], shade, marker, NAMES.get(kind, kind))])
            rows = _rows("measured", kind, points[kind][LOAD], points[kind][DELIVERED])
            tables.append(rows | points[kind])
            for curve, dashes in _curves(groups[kind]):
                offered, delivered = curve.points(LOADS)
                kept = offered <= 1.1 * reach
                offered, delivered = offered[kept], delivered[kept]
                name = _named(curve)
                look: dict[str, Any] = {"color": shade, "linewidth": 1.2, "label": name}
                keys[-1] += axes.plot(offered, delivered, dashes, **look)
                tables.append(_rows(name.replace("$", ""), kind, offered, delivered))
        axes.set_xlim(0, 1.1 * reach)
        axes.set_ylim(0, None)
        axes.grid(axis="y")
        axes.set_xlabel("offered load $G$ (mean number of transmissions on air, erlang)")
        axes.set_ylabel("throughput $S$ (share of time in\nsurviving answers, erlang)")
        alike = len({len(some) for some in keys}) == 1 and len(keys) <= 3
        handles = [key for some in keys for key in some]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(keys) if alike else 2)
        put(figure, label([cell.result for cell in cells]))
    table = {name: np.concatenate([rows[name] for rows in tables]) for name in tables[0]}
    return Picture("throughput", figure, table, _caption(sweep, cells))


def interval(summary: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the 95 % interval that a summary gives for one of its figures; NaN without one."""
    pair = (summary.get("intervals") or {}).get(name)
    if isinstance(pair, list) and len(pair) == 2:
        low, high = (as_float(value) for value in pair)
        if low is not None and high is not None:
            return low, high
    middle, half = as_float(summary.get(name)), as_float(summary.get(f"{name}_ci95"))
    if middle is not None and half is not None:
        return middle - half, middle + half
    return float("nan"), float("nan")


def _shares_a_channel(summary: Mapping[str, Any]) -> bool:
    offered, delivered = (as_float(summary.get(name)) for name in (LOAD, DELIVERED))
    return offered is not None and offered > 0 and delivered is not None


def _markers() -> Sequence[str]:
    return MARKERS * 4


def _curves(results: Sequence[Result]) -> list[tuple[AccessCurve, str]]:
    """Return the laws of one kind of channel, each with its style of line.

    Dotted for an infinite population, as a yardstick; solid where all the runs obey one law.
    """
    obeyed = list(dict.fromkeys(result.theory(access_curve) for result in results))
    exact = obeyed[0] if len(obeyed) == 1 and isinstance(obeyed[0], AccessCurve) else None
    endless = dict.fromkeys(result.theory(endless_curve) for result in results)
    dotted = [curve for curve in endless if isinstance(curve, AccessCurve) and curve != exact]
    style = "-" if exact is None else ":"
    return [(curve, style) for curve in dotted[:3]] + ([] if exact is None else [(exact, "-")])


def _named(curve: AccessCurve) -> str:
    """Return whom a law holds for and, for an infinite population, its formula; for a figure."""
    if curve.n_owners is not None:
        return f"exact for {curve.n_owners} owners"
    channel, said = curve.channel, "infinite population"
    if isinstance(channel, Parallel):
        said, channel = f"{said}, {channel.channels} channels", channel.each
    elif isinstance(channel, Aloha):
        exponent = "2G" if channel.capture_ratio is None else "2Gz/(1+z)"
        said = f"{said}, $Ge^{{-{exponent}}}$"
    elif isinstance(channel, SlottedAloha):
        said = f"{said}, $Ge^{{-G}}$"
    if isinstance(channel, Csma):
        said = f"{said}, $a$ = {channel.propagation_delay / curve.airtime:.3g} airtimes"
    return said


def _points(results: Sequence[Result]) -> dict[str, Array]:
    rows: dict[str, list[float]] = {}
    for summary in (result.summary for result in results):
        for name in (LOAD, DELIVERED):
            low, high = interval(summary, name)
            middle = as_float(summary[name])
            for column, value in ((name, middle), (f"{name}_low", low), (f"{name}_high", high)):
                rows.setdefault(column, []).append(float("nan") if value is None else value)
    return {name: np.array(values) for name, values in rows.items()}


def _draw(
    axes: Axes, rows: Mapping[str, Array], shade: str, marker: str, name: str
) -> ErrorbarContainer:
    errors = [
        np.nan_to_num(np.abs(rows[f"{of}_{side}"] - rows[of])) for of in (LOAD, DELIVERED)
        for side in ("low", "high")
    ]  # fmt: skip
    return axes.errorbar(
        rows[LOAD], rows[DELIVERED], xerr=errors[:2], yerr=errors[2:], fmt=marker, color=shade,
        markersize=5, markeredgecolor="white", markeredgewidth=0.6, elinewidth=1.2,
        label=f"{name}: measured", zorder=4,
    )  # fmt: skip


def _rows(series: str, kind: str, offered: Array, delivered: Array) -> dict[str, npt.NDArray[Any]]:
    none = np.full(len(offered), np.nan)
    named = {"series": np.full(len(offered), series), "channel": np.full(len(offered), kind)}
    bounds = {f"{of}_{side}": none for of in (LOAD, DELIVERED) for side in ("low", "high")}
    return named | {LOAD: offered, DELIVERED: delivered} | bounds


def _caption(sweep: Sweep, cells: Sequence[Cell]) -> str:
    some = "" if len(cells) == len(sweep.cells) else f" of {len(sweep.cells)}"
    return (
        "Throughput S, the share of time in answers that survive, against offered load G, the mean "
        f"number of transmissions on air, for {len(cells)}{some} cells; strokes: 95 % intervals "
        "over replicates, where there are several. Curves: an infinite population of Poisson "
        "attempts, and where all runs obey it the exact law for their owners, while no "
        "budget is spent (solid). Attempts that find the channel busy are not on air and do not "
        "count in G."
    )
