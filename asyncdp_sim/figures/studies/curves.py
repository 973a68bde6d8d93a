"""Medians and quartiles of several panels in one table, and a curve of them with its band."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.figures.sweeps.sweep_figure import Table


def curve_rows(panel: str, line: str, x: npt.ArrayLike, quartiles: npt.ArrayLike) -> Table:
    """Return a line of a panel as columns: places (J,) and quartiles (3, J)."""
    columns = dict(zip(("low", "y", "high"), np.asarray(quartiles, dtype=float), strict=True))
    places = np.asarray(x, dtype=float)
    named = {"panel": np.repeat([panel], len(places)), "line": np.repeat([line], len(places))}
    return named | {"x": places} | columns


def curves(tables: Sequence[Table]) -> Table:
    """Return tables one below another."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def of_panel(table: Table, panel: str) -> dict[str, Table]:
    """Return the lines of a panel by their names."""
    names = dict.fromkeys(table["line"][table["panel"] == panel].tolist())
    lines = {name: (table["panel"] == panel) & (table["line"] == name) for name in names}
    return {
        name: {column: values[rows] for column, values in table.items()}
        for name, rows in lines.items()
    }


def draw_curve(axes: Axes, table: Table, look: Mapping[str, Any]) -> None:
    """Draw a median, its band, and a marker at its end."""
    bare = {name: value for name, value in look.items() if name != "marker"}
    axes.plot(table["x"], table["y"], **bare)
    axes.fill_between(
        table["x"], table["low"], table["high"], color=look["color"], alpha=0.15, linewidth=0
    )
    axes.plot(table["x"][-1:], table["y"][-1:], **look)
