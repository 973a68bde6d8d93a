"""Pictures of a run's network, or of a sweep's networks with a panel for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.drawer import Declaration, Panel
from asyncdp_sim.figures.picture import Picture, Shown, label, listed, row_labels
from asyncdp_sim.figures.style import TICKS_OF_A_CLOCK, UNITS
from asyncdp_sim.results import Cell, Result, Sweep

MOST = 6
"""Panels of one picture."""
LOW = 0.62
"""Height of one of several panels, over that of one alone."""
SEED = "run.seed"


@dataclass(frozen=True)
class DrawnNetwork:
    """A network that is drawn.

    Attributes
    ----------
    results : sequence of Result
        That have it; the first is drawn.
    name : str
        What sets it apart from others that are drawn.
    """

    results: Sequence[Result]
    name: str = ""


Drawn = tuple[Columns, Panel, str]
"""The numbers of one result as columns, its panel, whose title is the answer, and its caption."""


@dataclass(frozen=True)
class NetworkFigure:
    """A picture of networks, with a panel for each.

    Attributes
    ----------
    name : str
        Of the files.
    head : str
        What is shown, as the caption begins.
    declared : callable
        From a result to what is drawn.
    why_not : callable
        From a result to why it has no such picture; None if it has.
    height : callable
        From the most owners of a network to the inches of a panel that stands alone.
    one_scale : str
        Axes that all panels have alike, ``y`` or ``xy``.
    """

    name: str
    head: str
    declared: Callable[[Result], Drawn]
    why_not: Callable[[Result], str | None]
    height: Callable[[int], float] = lambda _: 3.6
    one_scale: str = ""

    def of(self, result: Result) -> Picture:
        """Draw one network.

        Raises
        ------
        ResultError
            If the result kept no updates, or has none.
        """
        return self.picture([DrawnNetwork([result])])

    def picture(self, networks: Sequence[DrawnNetwork]) -> Picture:
        """Draw a panel for each of these networks; at least one."""
        declared = [self.declared(network.results[0]) for network in networks]
        tables = [
            table | row_labels([network.results], len(next(iter(table.values()))))
            for (table, *_), network in zip(declared, networks, strict=True)
        ]
        results = [result for network in networks for result in network.results]
        height = self.height(max(network.results[0].n_owners for network in networks))
        if len(networks) == 1:
            [(_, panel, sentence)], [table] = declared, tables
            drawn = Declaration([replace(panel, title="")], (6.5, height), panel.title)
            caption = f"{self.head}: {sentence}."
            if len(results) > 1:
                caption += f" {len(results)} cells have this network."
        else:
            names = [network.name for network in networks]
            panels = []
            for name, (_, panel, _) in zip(names, declared, strict=True):
                across = replace(panel.x, name=panel.x.name.replace(TICKS_OF_A_CLOCK, UNITS))
                panels.append(replace(panel, x=across, title=f"{name}: {panel.title}"))
            size = (7.2, LOW * height * -(-len(panels) // 2) + 0.6)
            drawn, table = Declaration(panels, size, shared=self.one_scale), _stacked(tables, names)
            panels_say = (f"{n}: {said}" for n, (*_, said) in zip(names, declared, strict=True))
            caption = f"{self.head}, a panel for each network. {'. '.join(panels_say)}."
        return Picture(self.name, drawn, table, caption, label(results), exact=False)


def _stacked(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    """Return tables as one, with a column for the network; what one lacks is NaN there."""
    sizes = [len(next(iter(table.values()))) for table in tables]
    stacked: Columns = {"network": np.repeat(list(names), sizes)}
    for column in dict.fromkeys(column for table in tables for column in table):
        parts = (
            table.get(column, np.full(size, np.nan)).tolist()
            for table, size in zip(tables, sizes, strict=True)
        )
        stacked[column] = np.array([value for part in parts for value in part])
    return stacked


def no_updates(result: Result) -> str | None:
    """Return why a picture of updates does not apply; None if it does."""
    return None if result.has("updates") else "no updates.parquet was kept"


def untimed(result: Result) -> str | None:
    """Return why a picture of times does not apply; None if it does."""
    still = result.summary["simulated_time"] == 0
    return no_updates(result) or ("nothing takes time" if still else None)


def of(opened: Result | Sweep) -> list[DrawnNetwork]:
    """Return the networks in which something was updated, of each first who kept its updates.

    Of several seeds of one network the first stands for all.
    """
    if isinstance(opened, Result):
        return [DrawnNetwork([opened])] if opened.summary["updates"] > 0 else []
    groups: dict[object, list[Cell]] = {}
    for cell in opened.cells:
        if cell.result.summary["updates"] > 0:
            groups.setdefault(cell.result.network_digest or cell.number, []).append(cell)
    named: dict[str, list[Result]] = {}
    for name, cells in zip(_names(opened, [*groups.values()]), groups.values(), strict=True):
        results = sorted((cell.result for cell in cells), key=lambda one: not one.has("updates"))
        named.setdefault(name, results)
    return [DrawnNetwork(results, name) for name, results in named.items()]


def _names(sweep: Sweep, groups: Sequence[Sequence[Cell]]) -> list[str]:
    """Return what sets networks apart: values of swept paths that are not the same in all.

    A seed is none. Two networks with the same values there have the first cell's of all paths.
    """
    swept = [path for path in sweep.paths if path != SEED]
    values = {
        path: [" or ".join(dict.fromkeys(cell.label([path]) for cell in cells)) for cells in groups]
        for path in swept
    }
    apart = [path for path in swept if len(set(values[path])) > 1]
    names = [", ".join(values[path][place] for path in apart) for place in range(len(groups))]
    if SEED in sweep.paths or len(set(names)) == len(names):
        return names
    return [cells[0].label(swept) for cells in groups]


def pictures(
    figures: Sequence[NetworkFigure], opened: Result | Sweep, notes: list[str]
) -> list[Shown]:
    """Return all that networks show, at most six of them; note what is not drawn, and why."""
    networks, planned, missing = of(opened), list[Shown](), dict[str, list[str]]()
    for figure in figures:
        reasons = [figure.why_not(network.results[0]) for network in networks]
        able = [network for network, why in zip(networks, reasons, strict=True) if why is None]
        step = max(1.0, (len(able) - 1) / (MOST - 1))
        drawn = [able[round(step * place)] for place in range(min(len(able), MOST))]
        lacking = dict.fromkeys(reason for reason in reasons if reason is not None)
        if len(networks) == 0:
            lacking["nothing was updated"] = None
        if len(drawn) < len(able):
            lacking[f"{len(drawn)} of {len(able)} networks are drawn; asyncdp plot DIR/CELL"] = None
        for reason in lacking:
            where = [n.name for n, why in zip(networks, reasons, strict=True) if why == reason]
            some = f" ({listed(where, '; ')})" if 0 < len(where) < len(networks) else ""
            missing.setdefault(f"{reason}{some}", []).append(figure.name.replace("-", " "))
        if len(drawn) > 0:
            results = [result for network in drawn for result in network.results]
            planned.append((figure.picture(drawn), results))
    notes += [f"{', '.join(names)}: {reason}" for reason, names in missing.items()]
    return planned
