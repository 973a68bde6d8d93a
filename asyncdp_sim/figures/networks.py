"""Pictures of networks: one, or small multiples with the same panel for each of several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.drawer import Declaration, Panel
from asyncdp_sim.figures.picture import LazyFigure, Picture, label, listed, row_labels
from asyncdp_sim.results import Cell, Result, Sweep

ACROSS = 2
LOW = 0.62  # height of one of several panels, over that of one alone
SEED = "run.seed"
MOST = 6
"""Panels of one picture."""


@dataclass(frozen=True)
class DrawnNetwork:
    """A network that is drawn, and what sets it apart; a network alone has no name.

    Attributes
    ----------
    result : Result
        That is drawn.
    name : str
    others : sequence of Result
        Of the same network, for which it stands: they share its updates.
    """

    result: Result
    name: str = ""
    others: Sequence[Result] = ()

    @property
    def results(self) -> list[Result]:
        """All results whose updates are drawn."""
        return [self.result, *self.others]


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
        What all panels show, as the caption begins.
    declared : callable
        From a result, and whether its panel is small, to what is drawn.
    why_not : callable
        From a result to why it has no such picture; None if it has.
    height : callable
        From the most owners of a network to the inches of a panel that stands alone.
    one_scale : str
        Axes that all panels have alike, ``y`` or ``xy``, unless one panel's would end at a
        twentieth of them or before.
    """

    name: str
    head: str
    declared: Callable[..., Drawn]
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
        return self.picture([DrawnNetwork(result)])

    def picture(self, shown: Sequence[DrawnNetwork]) -> Picture:
        """Draw a panel for each of these networks; at least one."""
        alone, height = len(shown) == 1, self.height(max(n.result.n_owners for n in shown))
        rows = -(-len(shown) // ACROSS)
        size = (6.5, height) if alone else (7.2, LOW * height * rows + 0.6)
        drawn = [self.declared(network.result, small=not alone) for network in shown]
        panels = [
            replace(panel, title=f"{network.name}: {panel.title}" if network.name else panel.title)
            for (_, panel, _), network in zip(drawn, shown, strict=True)
        ]
        declared = Declaration(panels, size, shared=self.one_scale)
        if alone:
            one = [replace(panels[0], title="")]
            declared = replace(declared, panels=one, title=panels[0].title)
        tables = [
            table | row_labels([network.results], len(next(iter(table.values()))))
            for (table, *_), network in zip(drawn, shown, strict=True)
        ]
        table = _stacked(tables, [network.name for network in shown])
        named = [
            f"{network.name}: {sentence}" if network.name else sentence
            for network, (*_, sentence) in zip(shown, drawn, strict=True)
        ]
        caption = f"{self.head}: {named[0]}."
        if len(shown) > 1:
            caption = f"{self.head}, a panel for each network. {'. '.join(named)}."
        results = [result for network in shown for result in network.results]
        if len(results) > len(shown):
            caption += " Cells with the same network have one panel."
        return Picture(self.name, declared, table, caption, label(results), exact=False)


def no_updates(result: Result) -> str | None:
    """Return why a picture of updates does not apply; None if it does."""
    return None if result.has("updates") else "no updates.parquet was kept"


def untimed(result: Result) -> str | None:
    """Return why a picture of times does not apply; None if it does."""
    still = result.summary["simulated_time"] == 0
    return no_updates(result) or ("nothing takes time" if still else None)


def _stacked(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    """Return tables as one, with a column for the network; what one lacks is NaN there."""
    if len(tables) == 1:
        return tables[0]
    sizes = [len(next(iter(table.values()))) for table in tables]
    stacked: Columns = {"network": np.repeat(list(names), sizes)}
    for column in dict.fromkeys(column for table in tables for column in table):
        parts = (
            table[column].tolist() if column in table else [np.nan] * size
            for table, size in zip(tables, sizes, strict=True)
        )
        stacked[column] = np.array(list(chain.from_iterable(parts)))
    return stacked


def networks(sweep: Sweep) -> list[DrawnNetwork]:
    """Return a cell for each network in which something was updated, named by what sets it apart.

    Cells whose learning alone differs share one, the first that kept its updates, and of several
    seeds the first stands for all.
    """
    groups = _of_one_law(sweep)
    chosen = [
        next((cell for cell in cells if cell.result.has("updates")), cells[0])
        for cells in groups.values()
    ]
    names = _names(sweep, list(groups.values())) if len(groups) > 1 else [""] * len(groups)
    return [
        DrawnNetwork(cell.result, name, [member.result for member in cells if member is not cell])
        for cell, name, cells in zip(chosen, names, groups.values(), strict=True)
    ]


def _of_one_law(sweep: Sweep) -> dict[object, list[Cell]]:
    """Return the cells by network, whatever its seed."""
    groups: dict[object, list[Cell]] = {}
    for cell in sweep.cells:
        if cell.result.summary["updates"] > 0:
            groups.setdefault(cell.result.network_digest or cell.number, []).append(cell)
    if SEED not in sweep.paths:
        return groups
    paths = [path for path in sweep.paths if path != SEED]
    alike: dict[object, list[Cell]] = {}
    for cells in groups.values():
        values = tuple(sorted({str(cell.values[path]) for cell in cells}) for path in paths)
        alike.setdefault(str(values), cells)
    return alike


def spread(found: Sequence[DrawnNetwork]) -> tuple[list[DrawnNetwork], list[str]]:
    """Return at most six of these networks, evenly spread, and the names of the others."""
    if len(found) <= MOST:
        return list(found), []
    step = (len(found) - 1) / (MOST - 1)
    places = {round(step * place) for place in range(MOST)}
    kept = [panel for place, panel in enumerate(found) if place in places]
    return kept, [panel.name for place, panel in enumerate(found) if place not in places]


def pictures(
    figures: Sequence[NetworkFigure], found: Sequence[DrawnNetwork], notes: list[str]
) -> list[LazyFigure]:
    """Return all that networks show, constant panels left out; note what is not drawn, and why."""
    planned: list[LazyFigure] = []
    missing: dict[str, list[str]] = {}
    for figure in figures:
        reasons = [figure.why_not(panel.result) for panel in found]
        for reason in dict.fromkeys(reasons):
            if reason is not None:
                where = _where(found, [why == reason for why in reasons])
                missing.setdefault(f"{reason}{where}", []).append(figure.name.replace("-", " "))
        able = [network for network, reason in zip(found, reasons, strict=True) if reason is None]
        kept, left_out = spread(able)
        if left_out:
            missing.setdefault(
                f"{len(kept)} of {len(able)} networks are drawn, without "
                f"{listed(left_out, '; ')} (a cell's own directory has its pictures)", []
            ).append(figure.name.replace("-", " "))  # fmt: skip
        if kept:
            results = [result for network in kept for result in network.results]
            planned.append(LazyFigure(partial(figure.picture, kept), results))
    notes += [f"{', '.join(names)}: {reason}" for reason, names in missing.items()]
    return planned


def _names(sweep: Sweep, groups: Sequence[Sequence[Cell]]) -> list[str]:
    """Return each network's values of the paths that tell it from all others.

    Where none does so alone, of those whose values are not the same in all; where even these leave
    two alike, of all paths in the network's first cell.
    """
    apart = [path for path in sweep.paths if _tells_apart(path, groups)]
    single = [path for path in sweep.paths if all(len(_said(path, g)) == 1 for g in groups)]
    differing = [p for p in sweep.paths if len({tuple(sorted(_said(p, g))) for g in groups}) > 1]
    for paths in (apart or single, differing):
        names = [", ".join(" or ".join(_said(path, cells)) for path in paths) for cells in groups]
        if len(set(names)) == len(names):
            return names
    return [cells[0].label(sweep.paths) for cells in groups]


def _said(path: str, cells: Sequence[Cell]) -> list[str]:
    """Return the values that cells have of a path, in words, each once."""
    return list(dict.fromkeys(cell.label([path]) for cell in cells))


def _tells_apart(path: str, groups: Sequence[Sequence[Cell]]) -> bool:
    """Return whether no two groups have a value in common, or each has one and these differ."""
    several = [set(_said(path, cells)) for cells in groups]
    if all(len(names) == 1 for names in several):
        return len(set().union(*several)) > 1
    return sum(map(len, several)) == len(set().union(*several))


def _where(found: Sequence[DrawnNetwork], which: Sequence[bool]) -> str:
    """Say of which networks, where there are others."""
    if len(found) == 1:
        return ""
    if all(which):
        return " in any network"
    names = [panel.name for panel, is_it in zip(found, which, strict=True) if is_it]
    return f" ({listed(names, '; ')})"
