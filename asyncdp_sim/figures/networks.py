"""Networks of a sweep: a cell for each, and why a picture leaves one out."""

from collections.abc import Sequence
from functools import partial

from asyncdp_sim.figures import gaps, shares, staleness, timing
from asyncdp_sim.figures.axes import listed
from asyncdp_sim.figures.picture import LazyFigure
from asyncdp_sim.figures.small_multiples import Panel
from asyncdp_sim.results import Cell, Sweep

SEED = "run.seed"
MOST = 6
"""Panels of one picture."""
FIGURES = (timing.BY_UPDATE, timing.BY_TIME, gaps.FIGURE, staleness.FIGURE, shares.FIGURE)
"""Pictures of a run's network, alone or in a sweep; a new one joins by its line here."""


def networks(sweep: Sweep) -> list[Panel]:
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
        Panel(cell.result, name, [member.result for member in cells if member is not cell])
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


def spread(found: Sequence[Panel]) -> tuple[list[Panel], list[str]]:
    """Return at most six of these networks, evenly spread, and the names of the others."""
    if len(found) <= MOST:
        return list(found), []
    step = (len(found) - 1) / (MOST - 1)
    places = {round(step * place) for place in range(MOST)}
    kept = [panel for place, panel in enumerate(found) if place in places]
    return kept, [panel.name for place, panel in enumerate(found) if place not in places]


def pictures(found: Sequence[Panel], notes: list[str]) -> list[LazyFigure]:
    """Return all that networks show, constant panels left out; note what is not drawn, and why."""
    planned: list[LazyFigure] = []
    missing: dict[str, list[str]] = {}
    for figure in FIGURES:
        reasons = [figure.why_not(panel.result) for panel in found]
        for reason in dict.fromkeys(reasons):
            if reason is not None:
                where = _where(found, [panel == reason for panel in reasons])
                missing.setdefault(f"{reason}{where}", []).append(figure.name.replace("-", " "))
        able = [panel for panel, reason in zip(found, reasons, strict=True) if reason is None]
        kept, left_out = spread(able)
        if left_out:
            missing.setdefault(
                f"{len(kept)} of {len(able)} networks are drawn, without "
                f"{listed(left_out, '; ')} (a cell's own directory has its pictures)", []
            ).append(figure.name.replace("-", " "))  # fmt: skip
        if kept:
            results = [result for panel in kept for result in panel.results]
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


def _where(found: Sequence[Panel], which: Sequence[bool]) -> str:
    """Say of which networks, where there are others."""
    if len(found) == 1:
        return ""
    if all(which):
        return " in any network"
    names = [panel.name for panel, is_it in zip(found, which, strict=True) if is_it]
    return f" ({listed(names, '; ')})"
