"""Throughput over offered load of shared channels, measured and as theory has it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.words import as_float, number
from asyncdp_sim.figures.drawer import Declaration, Kind, Layer, Panel, Side
from asyncdp_sim.figures.picture import CAPTIONS, row_labels
from asyncdp_sim.figures.style import THEORY, looks
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure, estimates, of_summary
from asyncdp_sim.network.channels import label_of
from asyncdp_sim.results import Cell, Result, Sweep
from asyncdp_sim.theory.predict.channels import AccessCurve, access_curve, endless_curve

LOAD, DELIVERED = "offered_load", "delivered_load"
LOAD_PATHS = ("clock.rate", "owners.count")
"""What changes a channel's load and leaves it the same channel."""
LEAST = 3  # points of a group
LOADS = np.geomspace(1e-3, 300.0, 400)


def measured(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells whose summary knows what was on air and what of it was delivered."""
    loads = [[as_float(cell.result.summary.get(of)) for of in (LOAD, DELIVERED)] for cell in cells]
    return [
        cell
        for cell, (offered, delivered) in zip(cells, loads, strict=True)
        if offered is not None and offered > 0 and delivered is not None
    ]


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


@dataclass(frozen=True)
class Channel(Series):
    """Cells that differ in their load alone.

    Attributes
    ----------
    laws, common : tuple
        Laws of these cells, each with its style of line, and those that all groups share, which
        the first group alone has.
    reach : float
        Up to which load laws are drawn.
    """

    laws: tuple[tuple[AccessCurve, str], ...]
    common: tuple[tuple[AccessCurve, str], ...]
    reach: float


def select(sweep: Sweep) -> list[Channel] | str:
    """Return the groups with enough points, or in words why there are none."""
    every_group = groups(sweep).items()
    loaded = {name: cells for name, cells in every_group if len(cells) >= LEAST}
    if len(loaded) == 0:
        return f"fewer than {LEAST} cells differ in clock rate or number of owners alone"
    curves = [_curves([cell.result for cell in cells]) for cells in loaded.values()]
    shared = [law for law, _ in curves[0] if all(law in dict(group) for group in curves)]
    common = tuple((law, ":") for law in shared) if len(loaded) > 1 else ()
    every = [cell for cells in loaded.values() for cell in cells]
    reach = 1.1 * max(float(cell.result.summary[LOAD]) for cell in every)
    return [
        Channel(
            name, tuple(cell.number for cell in cells), tuple(cells),
            tuple(pair for pair in laws if (pair[0], ":") not in common),
            common if place == 0 else (), reach,
        )
        for place, ((name, cells), laws) in enumerate(zip(loaded.items(), curves, strict=True))
    ]  # fmt: skip


def declared(found: Sequence[Channel], rows: Sequence[Columns]) -> Declaration:
    """Say S, the share of time in surviving answers, against G, the transmissions on air."""
    points, curves = list[Layer](), list[Layer]()
    kinds: tuple[tuple[str, Kind], ...] = ((LOAD, "rows"), (DELIVERED, "line"))
    for channel, table, look in zip(found, rows, looks(len(found)), strict=True):
        many = len(channel.cells)
        at = {name: column[:many] for name, column in table.items()}
        for of, kind in kinds:
            measured = {"linestyle": "none", "elinewidth": 1.2, "zorder": 4, "markersize": 6}
            measured |= look | {"markeredgecolor": "white", "markeredgewidth": 0.6}
            low, high = at[f"{of}_low"], at[f"{of}_high"]
            name = f"{channel.name}: measured" if kind == "line" else ""
            points.append(Layer(kind, at[LOAD], at[DELIVERED], low, high, name, look=measured))
        for law, dashes in (*channel.laws, *channel.common):
            drawn = table["series"] == _named(law).replace("$", "")
            tone = THEORY if (law, dashes) in channel.common else look["color"]
            line = {"linestyle": dashes, "linewidth": 1.2, "color": tone}
            curves.append(Layer("line", table[LOAD][drawn], table[DELIVERED][drawn],
                               name=_named(law), look=line))  # fmt: skip
    across = Side("offered load $G$ (erlang)", limits=(0, found[0].reach))
    side = Side("throughput $S$ (erlang)", limits=(0, None), grid=True)
    panel = Panel([*points, *curves], across, side)
    return Declaration([panel], (7.2, 3.9), busiest(rows))


def busiest(rows: Sequence[Columns]) -> str:
    """Return where most was delivered, and on which channel where there are several."""
    series, kind, load, delivered = (
        np.concatenate([table[name] for table in rows])
        for name in ("series", "channel", LOAD, DELIVERED)
    )
    best = int(np.argmax(np.where(series == "measured", delivered, -np.inf)))
    what = f"Throughput is largest, {number(delivered[best])} erlang"
    on = f" on {label_of(kind[best])}" if len(set(kind)) > 1 else ""
    return f"{what},{on} at an offered load of {number(load[best])} erlang"


def _rows(channel: Channel) -> Columns:
    """Return what was measured, a row for each cell, and below it the laws."""
    results, kind = channel.results, _kind(channel.cells[0])
    table = _series("measured", kind, len(results))
    for name in (LOAD, DELIVERED):
        table |= estimates(name, map(of_summary(name), results))
    tables = [table | row_labels([[result] for result in results])]
    for law, _ in (*channel.laws, *channel.common):
        offered, delivered = law.points(LOADS)
        kept = offered <= channel.reach
        curve = _series(_named(law).replace("$", ""), kind, int(kept.sum()))
        for name, values in ((LOAD, offered), (DELIVERED, delivered)):
            curve |= estimates(name, np.array([(value, np.nan, np.nan) for value in values[kept]]))
        tables.append(curve | row_labels([[]], int(kept.sum())))
    return {name: np.concatenate([part[name] for part in tables]) for name in tables[0]}


def _series(name: str, kind: str, rows: int) -> Columns:
    return {"series": np.full(rows, name), "channel": np.full(rows, kind)}


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


FIGURE = SweepFigure("throughput", select, _rows, declared, lambda *_: CAPTIONS["throughput"])
