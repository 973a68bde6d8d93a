"""Throughput over offered load of shared channels, measured and as theory has it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from asyncdp_sim.core.words import as_float
from asyncdp_sim.figures.kit.axes import ACROSS, legend, strokes, wrapped
from asyncdp_sim.figures.kit.outcomes import of_summary
from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.figures.kit.style import MARKERS, THEORY, canvas, colours, style
from asyncdp_sim.figures.sweeps.sweep_figure import Table, ends, estimates
from asyncdp_sim.network.channels import label_of
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result
from asyncdp_sim.theory.predict.channels import AccessCurve, access_curve, endless_curve

Array = npt.NDArray[np.float64]
LOAD, DELIVERED = "offered_load", "delivered_load"
LOAD_PATHS = ("clock.rate", "owners.count")
"""What changes a channel's load and leaves it the same channel."""
LEAST = 3  # points of a group
LOADS = np.geomspace(1e-3, 300.0, 400)


def measured(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose summary knows what was on air and what of it was delivered."""
    return [cell for cell in cells if _shares_a_channel(cell.result.summary)]


def groups(sweep: Sweep) -> dict[str, list[Cell]]:
    """Return the cells that know their load, by what else is swept than the load.

    Of cells that share one network, the first stands for all. A group's name is its kind of
    channel where that tells the groups apart, else the values in which they differ.
    """
    one_each = {c.result.network_digest or c.number: c for c in measured(sweep.cells)[::-1]}
    cells = list(one_each.values())[::-1]
    paths = [
        path
        for path in sweep.paths
        if path not in LOAD_PATHS and len({str(cell.values[path]) for cell in cells}) > 1
    ]
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.label(paths), []).append(cell)
    kinds = [_kind(group[0]) for group in by_name.values()]
    if len(set(kinds)) == len(kinds):
        return {label_of(kind): group for kind, group in zip(kinds, by_name.values(), strict=True)}
    return by_name


def large(found: Mapping[str, list[Cell]]) -> dict[str, list[Cell]]:
    """Return the groups with enough points to show how throughput changes with the load."""
    return {name: cells for name, cells in found.items() if len(cells) >= LEAST}


def against_load(sweep: Sweep) -> Picture:
    """Draw S, the share of time in surviving answers, against G, the transmissions on air.

    Raises
    ------
    ResultError
        If no three cells that know their load differ in nothing else.
    """
    loaded = large(groups(sweep))
    if len(loaded) == 0:
        raise not_a_result(sweep.directory, f"no {LEAST} cells that differ in {LOAD} alone")
    results = {name: [cell.result for cell in cells] for name, cells in loaded.items()}
    points = {name: _points(group) for name, group in results.items()}
    curves = {name: _curves(group) for name, group in results.items()}
    common = [law for law, _ in next(iter(curves.values()))] if len(loaded) > 1 else []
    common = [law for law in common if all(law in dict(group) for group in curves.values())]
    reach = max(float(rows[LOAD].max()) for rows in points.values())
    tables: list[Table] = []
    measured_keys: list[Any] = []
    law_keys: list[Any] = []
    with style():
        figure, axes = canvas(width=7.2, height=4.2 + 0.16 * max(0, len(loaded) - 3))

        def draw_law(law: AccessCurve, kind: str, dashes: str, shade: str) -> None:
            offered, delivered = law.points(LOADS)
            kept = offered <= 1.1 * reach
            name = _named(law)
            look: dict[str, Any] = {"color": shade, "linewidth": 1.2, "label": name}
            law_keys.extend(axes.plot(offered[kept], delivered[kept], dashes, **look))
            curve = _rows(name.replace("$", ""), kind, offered[kept], delivered[kept])
            tables.append(curve | row_labels([[]], [int(kept.sum())]))

        shades = colours(len(loaded))
        for name, shade, marker in zip(loaded, shades, MARKERS * 4, strict=False):
            kind = _kind(loaded[name][0])
            measured_keys.append(_draw(axes, points[name], shade, marker, name))
            series = _rows("measured", kind, points[name][LOAD], points[name][DELIVERED])
            shown = [[result] for result in results[name]]
            tables.append(series | points[name] | row_labels(shown, [1] * len(shown)))
            for law, dashes in curves[name]:
                if law not in common:
                    draw_law(law, kind, dashes, shade)
        for law in common:
            draw_law(law, _kind(next(iter(loaded.values()))[0]), ":", THEORY)
        axes.set_xlim(0, 1.1 * reach)
        axes.set_ylim(0, None)
        axes.grid(axis="y")
        axes.set_xlabel("offered load $G$ (transmissions on air, erlang)")
        axes.set_ylabel("throughput $S$ (erlang)")
        keys = measured_keys + law_keys
        longest = max(len(str(handle.get_label())) for handle in keys)
        legend(figure, keys, 1 if longest > ACROSS // 2 else 2)
    table = {name: np.concatenate([rows[name] for rows in tables]) for name in tables[0]}
    text = _caption(sweep, sum(map(len, loaded.values())))
    every = [result for group in results.values() for result in group]
    return Picture("throughput", figure, table, text, label(every), exact=False)


def _shares_a_channel(summary: Mapping[str, Any]) -> bool:
    offered, delivered = (as_float(summary.get(name)) for name in (LOAD, DELIVERED))
    return offered is not None and offered > 0 and delivered is not None


def _kind(cell: Cell) -> str:
    return str(cell.result.scenario["channel"]["kind"])


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
    """Return the population of a law and, for an infinite one, its formula; for a figure."""
    if curve.n_owners is not None:
        return f"exact for {curve.n_owners} owners"
    return ", ".join(["infinite population", *filter(None, curve.words)])


def _points(results: Sequence[Result]) -> Table:
    table: Table = {}
    for name in (LOAD, DELIVERED):
        table |= estimates(name, map(of_summary(name), results))
    return table


def _draw(axes: Axes, rows: Table, shade: str, marker: str, name: str) -> ErrorbarContainer:
    xerr, yerr = (strokes(*ends(rows, of)) for of in (LOAD, DELIVERED))
    return axes.errorbar(
        rows[LOAD], rows[DELIVERED], xerr=xerr, yerr=yerr, fmt=marker, color=shade,
        markersize=5, markeredgecolor="white", markeredgewidth=0.6, elinewidth=1.2,
        label=wrapped(f"{name}: measured"), zorder=4,
    )  # fmt: skip


def _rows(series: str, kind: str, offered: Array, delivered: Array) -> Table:
    none = np.full(len(offered), np.nan)
    named = {"series": np.full(len(offered), series), "channel": np.full(len(offered), kind)}
    bounds = {f"{of}_{side}": none for of in (LOAD, DELIVERED) for side in ("low", "high")}
    return named | {LOAD: offered, DELIVERED: delivered} | bounds


def _caption(sweep: Sweep, n_cells: int) -> str:
    of_all = "" if n_cells == len(sweep.cells) else f" of {len(sweep.cells)}"
    return (
        "Throughput S, the share of time in answers that survive, against offered load G, the mean "
        f"number of transmissions on air, for {n_cells}{of_all} cells; strokes: 95 % intervals "
        "over replicates, where there are several. Curves: an infinite population of Poisson "
        "attempts, and where all runs obey it the exact law for their owners, while no "
        "budget is spent (solid). Attempts that find the channel busy are not on air and do not "
        "count in G."
    )
