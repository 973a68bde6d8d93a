"""Everything that applies to a directory, drawn into its ``figures/``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.figures.kit import captions
from asyncdp_sim.figures.kit.picture import Picture, save, write
from asyncdp_sim.figures.kit.small_multiples import Panel
from asyncdp_sim.figures.kit.source import Cell, Result, Sweep, open_directory
from asyncdp_sim.figures.runs import convergence, honest, utilisation
from asyncdp_sim.figures.runs.convergence import CurveLine
from asyncdp_sim.figures.spacetime import diagram
from asyncdp_sim.figures.sweeps import (
    adversaries,
    coalition,
    collaboration,
    collision_price,
    crossed,
    fairness,
    graphs,
    guarantees,
    networks,
    overview,
    rivals,
    settings,
    throughput,
)
from asyncdp_sim.figures.sweeps.sweep_figure import SweepFigure

Shown = tuple[Picture, Sequence[Result]]
MOST_LINES = 10
ENDS = 2  # records of a curve that is known at its ends alone
CHANGES: tuple[SweepFigure[Any], ...] = (overview.FIGURE, settings.FIGURE, crossed.FIGURE)
"""Pictures of what changes with the settings."""
BEYOND: tuple[SweepFigure[Any], ...] = (
    collaboration.FIGURE,
    coalition.FIGURE,
    fairness.FIGURE,
    collision_price.FIGURE,
)
"""Pictures of sweeps that ask one question; each says why it does not apply to another."""


@dataclass(frozen=True)
class Drawing:
    """Files that were drawn, and notes on what was not.

    Attributes
    ----------
    pictures : tuple of Path
        PNG files; each has a CSV beside it, and ``captions.md`` lists them.
    notes : tuple of str
        What was not drawn, and why.
    """

    pictures: tuple[Path, ...]
    notes: tuple[str, ...]


def draw(directory: Path, *, published: Mapping[Any, float] | None = None) -> list[Path]:
    """Draw all figures of a result or sweep directory; see :func:`draw_all`."""
    return list(draw_all(directory, published=published).pictures)


def draw_all(
    directory: Path,
    *,
    published: Mapping[Any, float] | None = None,
    why: str = "",
    folder: Path | None = None,
    share: tuple[int, int] = (0, 1),
) -> Drawing:
    """Draw all figures of a result or sweep directory.

    Parameters
    ----------
    directory : Path
    published : mapping, optional
        ψ after the last update as a paper reports it, by the value of the swept path (of a
        single result: by its ε), such as ``{0.1: 0.4, 1.0: 0.04, 10.0: 0.008}``.
    why : str
        Why these lie elsewhere than the curves, in a few words.
    folder : Path, optional
        Where to; ``<directory>/figures`` by default.
    share : (int, int)
        (i, m): every m-th picture from the i-th (from 0) on; others draw the rest.

    Raises
    ------
    ResultError
        If the directory is neither, or cannot be written to.
    """
    entries, notes = pictures(open_directory(directory), published=published, why=why)
    folder = _figures(directory) if folder is None else folder
    first, step = share
    paths = [save(picture, folder) for picture, _ in entries[first::step]]
    if first == 0:
        write(folder / "captions.md", captions.page(entries, notes).encode())
    return Drawing(tuple(paths), tuple(notes))


def add(directory: Path, entries: Sequence[Shown], study: str) -> list[Path]:
    """Add a study's pictures to the figures of a directory, and return where they are.

    Parameters
    ----------
    directory : Path
        A result or a sweep.
    entries : sequence of (Picture, sequence of Result)
    study : str
        Of which; its captions are in ``captions-of-<study>.md``.

    Raises
    ------
    ResultError
        If the directory is neither, or cannot be written to.
    """
    name, folder = str(_first(open_directory(directory)).scenario["id"]), _figures(directory)
    told = [(picture.of(name), results) for picture, results in entries]
    write(folder / f"captions-of-{study}.md", captions.page(told, ()).encode())
    return [save(picture, folder) for picture, _ in told]


def _figures(directory: Path) -> Path:
    """Return the folder of a directory's figures; a link is none, as it leads elsewhere."""
    folder = directory / "figures"
    if folder.is_symlink():
        given = f"a link to {folder.readlink()} in the place of figures"
        raise ResultError([Fault("", given, "allowed is a folder, or none yet")], str(directory))
    return folder


def pictures(
    opened: Result | Sweep, *, published: Mapping[Any, float] | None = None, why: str = ""
) -> tuple[list[Shown], list[str]]:
    """Return all pictures of a result or a sweep with the results that each shows, and notes.

    Parameters
    ----------
    opened : Result or Sweep
    published, why
        As of :func:`draw_all`.

    Raises
    ------
    ResultError
        If a table is damaged.
    """
    if isinstance(opened, Sweep):
        lines, fixed, notes = _of_sweep(opened)
        found = networks.networks(opened)
    else:
        epsilon = opened.scenario["privacy"].get("epsilon")
        lines, fixed, notes = [(epsilon, CurveLine(opened))], "", []
        found = [Panel(opened)] if opened.summary["updates"] > 0 else []
    name = str(_first(opened).scenario["id"])
    compared = _curves(lines, published or {}, why, notes)
    compared += honest.figures([line for _, line in lines], notes)
    entries: list[Shown] = []
    if isinstance(opened, Sweep):
        changes = _drawn(opened, (overview.FIGURE, overview.SECOND)) or _drawn(
            opened, (settings.FIGURE,)
        )
        changes += _drawn(opened, (crossed.FIGURE,))
        if len(changes) == 0:
            reasons = [each.why_not(opened) for each in CHANGES]
            notes.append(f"what changes with the settings: {'; '.join(map(str, reasons))}")
        entries += changes + _drawn(opened, (graphs.FIGURE,))
        entries += _of_channels(opened, notes) + _of_liars(opened, notes)
        entries += _drawn(opened, (guarantees.FIGURE,)) or _drawn(opened, (rivals.FIGURE,))
        entries += _drawn(opened, BEYOND)
    if found:
        entries += networks.drawn(found, notes)
    else:
        notes.append(f"{', '.join(each.name for each in networks.FIGURES)}: nothing was updated")
    entries += _of_events(found[0].result if found else _first(opened), notes)
    told = [(picture.of(name, fixed), shown) for picture, shown in compared]
    return told + [(picture.of(name), shown) for picture, shown in entries], notes


def _first(opened: Result | Sweep) -> Result:
    return opened if isinstance(opened, Result) else opened.cells[0].result


def _curves(
    lines: Sequence[tuple[Any, CurveLine]],
    published: Mapping[Any, float],
    why: str,
    notes: list[str],
) -> list[Shown]:
    """Draw the convergence figures; a line's published end point goes by its value."""
    known = {str(value): psi for value, psi in published.items()}
    marked = [replace(line, published=known.pop(str(value), None)) for value, line in lines]
    marked = [line for line in marked if line.result.summary["updates"] > 0]
    if len(marked) < len(lines):
        notes.append(f"{len(lines) - len(marked)} convergence curves: nothing was updated")
    if len(marked) == 0:
        return []
    if not any(map(_recorded_between, marked)):
        notes.append(
            "convergence: ψ was recorded at the beginning and the end alone (run.record_every)"
        )
        return []
    notes += [
        f"published ψ = {psi:g}: no line has the value {value}" for value, psi in known.items()
    ]
    results = [line.result for line in marked]
    drawn: list[Shown] = [(convergence.by_update(marked, why=why), results)]
    if any(result.summary["simulated_time"] > 0 for result in results):
        drawn.append((convergence.by_time(marked, why=why), results))
    else:
        notes.append("convergence over time: nothing takes any")
    return drawn


def _recorded_between(line: CurveLine) -> bool:
    """Return whether ψ is known between the beginning and the end: else a line has no course."""
    (k,) = line.result.columns("curve", "k")
    return len(np.unique(k)) > ENDS


def _of_sweep(sweep: Sweep) -> tuple[list[tuple[Any, CurveLine]], str, list[str]]:
    """Return a sweep's lines by swept value, what all of them have while others vary, and notes."""
    cells, paths, notes = _compared(sweep)
    if sweep.missing:
        notes.append(f"cells {', '.join(map(str, sweep.missing))}: not finished")
    lines = [(c.values[paths[0]], CurveLine(c.result, c.label(paths))) for c in cells]
    return lines, cells[0].label([path for path in sweep.paths if path not in paths]), notes


def _compared(sweep: Sweep) -> tuple[list[Cell], tuple[str, ...], list[str]]:
    """Choose the cells to compare in one figure, and the paths that tell them apart."""
    if len(sweep.cells) <= MOST_LINES:
        return list(sweep.cells), sweep.paths, []
    base = sweep.cells[0].values
    path, *others = sweep.paths
    cells = [cell for cell in sweep.cells if all(cell.values[o] == base[o] for o in others)]
    if len(cells) > MOST_LINES:
        step = (len(cells) - 1) / (MOST_LINES - 1)
        cells = [cells[round(step * place)] for place in range(MOST_LINES)]
    note = f"{len(sweep.cells) - len(cells)} of {len(sweep.cells)} cells in the convergence figures"
    return cells, (path,), [f"{note}, which compare {path} with all else as in the first cell"]


def _of_events(result: Result, notes: list[str]) -> list[Shown]:
    """Draw what needs one result and its events, where it kept them: who sent what, and when."""
    if not result.has("events"):
        return []
    over_time = utilisation.over_time(result)
    found = [diagram.diagram(result), over_time]
    if utilisation.is_constant(over_time):
        found.remove(over_time)
        notes.append("utilisation: it and who is online are the same all the time")
    return [(picture, [result]) for picture in found]


def _of_channels(sweep: Sweep, notes: list[str]) -> list[Shown]:
    """Draw throughput over load, where enough cells differ in their load alone."""
    found = throughput.groups(sweep)
    kept = throughput.large(found)
    if len(kept) < len(found):
        which = "throughput over load" if not kept else f"{len(found) - len(kept)} of its groups"
        reason = (
            f"fewer than {throughput.LEAST} cells differ in clock rate or number of owners alone"
        )
        notes.append(f"{which}: {reason}")
    if len(kept) == 0:
        return []
    return [
        (throughput.against_load(sweep), [cell.result for some in kept.values() for cell in some])
    ]


def _of_liars(sweep: Sweep, notes: list[str]) -> list[Shown]:
    """Draw ψ against the number of owners that lie, where that is swept."""
    if adversaries.OWNERS not in sweep.paths:
        return []
    return _drawn_or_told(sweep, adversaries.FIGURE, "ψ against owners that lie", notes)


def _drawn_or_told(
    sweep: Sweep, figure: SweepFigure[Any], what: str, notes: list[str]
) -> list[Shown]:
    """Draw a figure, or note why a sweep does not have it."""
    reason = figure.why_not(sweep)
    if reason is not None:
        notes.append(f"{what}: {reason}")
    return _drawn(sweep, (figure,))


def _drawn(sweep: Sweep, figures: Sequence[SweepFigure[Any]]) -> list[Shown]:
    """Draw those figures that a sweep has."""
    results = [cell.result for cell in sweep.cells]
    return [(each.picture(sweep), results) for each in figures if each.why_not(sweep) is None]
