"""Everything that applies to a result, a sweep or a forecast: what it is, drawn into a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.errors import Fault, InputError, ResultError
from asyncdp_sim.core.files import is_dir
from asyncdp_sim.figures import (
    break_even,
    changes,
    convergence,
    gains,
    networks,
    spacetime,
    throughput,
    traces,
)
from asyncdp_sim.figures.break_even import decisions
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.picture import (
    SCREEN,
    FileFormat,
    LazyFigure,
    Paper,
    Shown,
    captions_page,
    save,
    write,
)
from asyncdp_sim.figures.style import style_sheet
from asyncdp_sim.figures.sweep_figure import SweepFigure
from asyncdp_sim.results import Cell, Result, Sweep, open_directory

MOST_LINES = 10
ENDS = 2  # records of a curve that is known at its ends alone
OF_SWEEPS: tuple[tuple[SweepFigure[Any], ...], ...] = (
    changes.ALL,
    (throughput.FIGURE,),
    (break_even.FIGURE, break_even.WAYS),
)
"""Pictures of sweeps, of each group the first that applies; a new one joins by its line here."""


# What the catalogue's papers report, and where the pictures of their own questions are.
Studies = Mapping[str, SweepFigure[Any]]
"""By the name of an entry of the catalogue: the picture of its own question."""
FINAL_PSI: dict[str, Mapping[float, float]] = {
    # Async, figure 3: where the medians end, read off the plot. The law of figure 5, published
    # beside it, gives 3.4, 0.034 and 0.00034 at the same settings: the two disagree.
    "lending-convergence": {0.1: 0.4, 1.0: 0.04, 10.0: 0.008},
}
"""By entry: the published ψ(θ_L,T) for each value of the first swept path."""
ELSEWHERE = {
    "lending-convergence": (
        "read off the paper's figure 3. The law in its figure 5 gives 3.4, 0.034 and 0.00034 "
        "instead. The curves for ε = 0.1 and 1 end at this law; for ε = 10 the run is too short"
    ),
}
"""By entry: why the published points lie elsewhere than our curves."""
IN_CLONE = (
    "async-05", "async-06", "async-07", "async-10", "availability-and-fairness", "bias-of-absence",
    "collab-03", "collab-06", "collab-08", "collab-11", "correlated-noise", "hide-the-owner",
    "owner-learner-collude", "privacy-over-distance", "steps-against-staleness", "whom-to-ask",
    "wifi-contention",
)  # fmt: skip
"""Entries whose picture stands in ``analysis.studies``, which is not installed."""


def plan(
    opened: Result | Sweep, studies: Studies | None = None
) -> tuple[list[LazyFigure], list[str]]:
    """Return all pictures that a result or a sweep has, and notes on those that it lacks.

    Parameters
    ----------
    opened : Result or Sweep
    studies : mapping, optional
        Pictures of entries of the catalogue, by their names.

    Raises
    ------
    ResultError
        If a table is damaged.
    """
    if isinstance(opened, Sweep):
        lines, fixed, notes = _of_sweep(opened)
    else:
        epsilon = opened.scenario["privacy"].get("epsilon")
        lines, fixed, notes = [(epsilon, CurveLine(opened))], "", []
    name = str(first(opened).scenario["id"])
    compared = _curves(lines, name, notes)
    compared += _held_out([line for _, line in lines], notes)
    figures: list[LazyFigure] = []
    if isinstance(opened, Result) and opened.has("gains"):
        figures.append(LazyFigure(partial(gains.by_owner, opened), [opened]))
    if isinstance(opened, Sweep):
        results = [cell.result for cell in opened.cells]
        for group in OF_SWEEPS:
            able = (figure for figure in group if figure.why_not(opened) is None)
            if (chosen := next(able, None)) is not None:
                figures.append(LazyFigure(partial(chosen.picture, opened), results))
        reasons = [figure.why_not(opened) for figure in changes.ALL]
        if None not in reasons:
            notes.append(f"what changes with the settings: {'; '.join(map(str, reasons))}")
        figures += of_entry(opened, name, notes, studies or {})
    figures += networks.pictures(traces.ALL, opened, notes)
    event_result = first(opened)
    if event_result.has_events:
        figures.append(LazyFigure(partial(spacetime.diagram, event_result), [event_result]))
    planned = [picture.of(name, fixed) for picture in compared]
    return planned + [picture.of(name) for picture in figures], notes


def of_entry(sweep: Sweep, name: str, notes: list[str], studies: Studies) -> list[LazyFigure]:
    """Return the picture of an entry's own question; say in ``notes`` why it does not apply.

    Parameters
    ----------
    sweep : Sweep
    name : str
        The entry's.
    notes : list of str
        Appended to.
    studies : mapping
        Where to look for it.
    """
    figure = studies.get(name)
    if figure is None:
        if name in IN_CLONE:
            notes.append(f"the study of {name}: in a clone `python -m scenarios {name}` draws it")
        return []
    try:
        picture = figure.picture(sweep)  # now, not when it is shown: a refusal becomes a note
    except InputError as error:
        notes.extend(f"the study of {name}: {line}" for line in error.lines())
        return []
    return [LazyFigure(lambda: picture, [cell.result for cell in sweep.cells])]


def first(opened: Result | Sweep) -> Result:
    """Return a result, or that of a sweep's first cell."""
    return opened if isinstance(opened, Result) else opened.cells[0].result


def _curves(
    lines: Sequence[tuple[Any, CurveLine]], name: str, notes: list[str]
) -> list[LazyFigure]:
    """Return the convergence figures; what a paper reports of the entry goes by its value."""
    points = {str(value): psi for value, psi in FINAL_PSI.get(name, {}).items()}
    why = ELSEWHERE.get(name, "")
    marked = [replace(line, published=points.pop(str(value), None)) for value, line in lines]
    marked = [line for line in marked if line.result.summary["updates"] > 0]
    if len(marked) < len(lines):
        notes.append(f"{len(lines) - len(marked)} convergence curves: nothing was updated")
    if len(marked) == 0:
        return []
    recorded = [line.result.columns("curve", "replicate")[0] for line in marked]
    if all(np.unique(row, return_counts=True)[1].max() <= ENDS for row in recorded):
        notes.append(
            "convergence: ψ was recorded at the beginning and the end alone (run.record_every)"
        )
        return []
    notes += [
        f"published ψ = {psi:g}: no line has the value {value}" for value, psi in points.items()
    ]
    results = [line.result for line in marked]
    planned = [LazyFigure(partial(convergence.by_update, marked, why=why), results)]
    if any(result.summary["simulated_time"] > 0 for result in results):
        planned.append(LazyFigure(partial(convergence.by_time, marked, why=why), results))
    else:
        notes.append("convergence over time: nothing takes any")
    return planned


def _of_sweep(sweep: Sweep) -> tuple[list[tuple[Any, CurveLine]], str, list[str]]:
    """Return a sweep's lines by swept value, the swept settings that they share, and notes."""
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
    path, *rest = sweep.paths
    cells = [cell for cell in sweep.cells if all(cell.values[o] == base[o] for o in rest)]
    if len(cells) > MOST_LINES:
        step = (len(cells) - 1) / (MOST_LINES - 1)
        cells = [cells[round(step * place)] for place in range(MOST_LINES)]
    note = f"{len(sweep.cells) - len(cells)} of {len(sweep.cells)} cells in the convergence figures"
    return cells, (path,), [f"{note}, which compare {path} with all else as in the first cell"]


def _held_out(lines: Sequence[CurveLine], notes: list[str]) -> list[LazyFigure]:
    """Return the picture of held-out rows, where there are any; note what it leaves out."""
    asked = [line for line in lines if "held_out_final" in line.result.summary]
    moved = [line for line in asked if line.result.summary["updates"] > 0]
    if len(moved) < len(asked):
        left = len(asked) - len(moved)
        notes.append(f"{left} of {len(asked)} results in held-out: nothing was updated")
    results = [line.result for line in moved]
    return [LazyFigure(partial(convergence.held_out, moved), results)] if moved else []


@dataclass(frozen=True)
class Drawing:
    """Files that were drawn, and notes on what was not.

    Attributes
    ----------
    pictures : tuple of Path
        Files of one format; each has a CSV beside it, and ``captions.md`` lists them.
    notes : tuple of str
        What was not drawn, and why.
    decisions : tuple of str
        How the joint model fits beside own models, where a picture shows it.
    """

    pictures: tuple[Path, ...]
    notes: tuple[str, ...]
    decisions: tuple[str, ...] = ()


def draw_all(
    directory: Path,
    *,
    folder: Path | None = None,
    paper: Paper = SCREEN,
    studies: Studies | None = None,
) -> Drawing:
    """Draw all figures of a result or sweep directory.

    Parameters
    ----------
    directory : Path
    folder : Path, optional
        Where to; ``<directory>/figures`` by default.
    paper : Paper
        Format of the files, and the width at which they are printed.
    studies : mapping, optional
        Pictures of entries of the catalogue, by the entry's name.

    Raises
    ------
    ResultError
        If the directory is neither, or cannot be written to.
    """
    opened = open_directory(directory)
    planned, notes = plan(opened, studies)
    drawn = [figure.shown() for figure in planned]
    folder = _figures(directory) if folder is None else folder
    paths = [save(picture, folder, paper) for picture, _ in drawn]
    write(folder / "captions.md", captions_page(drawn, notes, paper.format).encode())
    return Drawing(tuple(paths), tuple(notes), decisions(opened))


def decided_by(directory: Path) -> tuple[str, ...]:
    """Return how the joint model fits beside own models, where a figure shows it, undrawn."""
    return decisions(open_directory(directory))


def _figures(directory: Path) -> Path:
    """Return the folder of a directory's figures; a link is none, as it leads elsewhere."""
    folder = directory / "figures"
    if folder.is_symlink():
        link = f"a link to {folder.readlink()} in the place of figures"
        raise ResultError([Fault("", link, "allowed is a folder, or none yet")], str(directory))
    return folder


def pictures(opened: Result | Sweep) -> tuple[list[Shown], list[str]]:
    """Return all pictures of a result or a sweep, drawn, and notes on those that it lacks.

    Raises
    ------
    ResultError
        If a table is damaged.
    """
    planned, notes = plan(opened)
    return [figure.shown() for figure in planned], notes


def draw_named(
    path: Path,
    file_format: FileFormat = "png",
    width: float | None = None,
    sheet: Path | None = None,
) -> Drawing:
    """Draw a result's or a sweep's directory, or a file that ends in ``.json`` as a forecast.

    Parameters
    ----------
    path : Path
    file_format, width
        As of :class:`~asyncdp_sim.figures.picture.Paper`.
    sheet : Path, optional
        A matplotlib style sheet, applied over the style of all figures.

    Raises
    ------
    ResultError
        If it is none of them, the sheet cannot be read, or nothing can be written.
    """
    paper = Paper(file_format, width)
    with style_sheet(sheet):
        if path.suffix == ".json" and not is_dir(path):
            return Drawing(tuple(draw_forecast(path, paper)), ())
        return draw_all(path, paper=paper)


def draw_forecast(file: Path, paper: Paper = SCREEN) -> list[Path]:
    """Draw what ``asyncdp forecast --json`` printed into a folder of that name beside the file.

    Raises
    ------
    ResultError
        If the file is no forecast, or nothing can be written.
    """
    drawn = gains.pictures(gains.read(file))
    return [save(picture.of(file.stem), file.with_suffix(""), paper) for picture in drawn]
