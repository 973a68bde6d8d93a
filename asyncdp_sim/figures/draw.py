"""Everything that applies to a result, a sweep or a forecast: what it is, drawn into a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
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
    Paper,
    Shown,
    captions_page,
    save,
    write,
)
from asyncdp_sim.figures.style import style_sheet
from asyncdp_sim.figures.sweep_figure import SweepFigure
from asyncdp_sim.results import Result, Sweep, open_directory

MOST_LINES = 10
ENDS = 2  # records of a curve that is known at its ends alone
OF_SWEEPS: tuple[tuple[SweepFigure[Any], ...], ...] = (
    changes.ALL,
    (throughput.FIGURE,),
    (break_even.FIGURE, break_even.WAYS),
)
"""Pictures of sweeps, of each group the first that applies; a new one joins by its line here."""


Studies = Mapping[str, SweepFigure[Any]]
"""By the name of an entry of the catalogue: the picture of its own question."""
IN_CLONE = (
    "async-05", "async-06", "async-07", "async-10", "availability-and-fairness", "bias-of-absence",
    "collab-03", "collab-06", "collab-08", "collab-11", "correlated-noise", "hide-the-owner",
    "owner-learner-collude", "privacy-over-distance", "steps-against-staleness", "whom-to-ask",
    "wifi-contention",
)  # fmt: skip
"""Entries whose picture stands in ``analysis.studies``, which is not installed."""


def pictures(
    opened: Result | Sweep, studies: Studies | None = None
) -> tuple[list[Shown], list[str]]:
    """Return all pictures that a result or a sweep has, and notes on those that it lacks.

    Parameters
    ----------
    opened : Result or Sweep
    studies : mapping, optional
        Pictures of single entries.

    Raises
    ------
    ResultError
        If a table is damaged.
    """
    drawn, notes, fixed = first(opened), list[str](), ""
    name, entries = str(drawn.scenario["id"]), list[Shown]()
    if isinstance(opened, Result):
        lines = [CurveLine(opened)]
        if opened.has("gains"):
            entries.append((gains.by_owner(opened), [opened]))
    else:
        lines, fixed = _compared(opened, notes)
        results = [cell.result for cell in opened.cells]
        for figures in OF_SWEEPS:
            able = (figure for figure in figures if figure.why_not(opened) is None)
            entries += [(figure.picture(opened), results) for figure in islice(able, 1)]
        reasons = [figure.why_not(opened) for figure in changes.ALL]
        if None not in reasons:
            notes.append(f"what changes with the settings: {'; '.join(map(str, reasons))}")
        entries += of_entry(opened, name, notes, studies or {})
    compared = _curves(lines, notes)
    entries += networks.pictures(traces.ALL, opened, notes)
    if drawn.has_events:
        entries.append((spacetime.diagram(drawn), [drawn]))
    shown = [(picture.of(name, fixed), results) for picture, results in compared]
    return shown + [(picture.of(name), results) for picture, results in entries], notes


def of_entry(sweep: Sweep, name: str, notes: list[str], studies: Studies) -> list[Shown]:
    """Return the picture of an entry's own question; say in ``notes`` why it does not apply.

    Parameters
    ----------
    sweep : Sweep
    name : str
        The entry's.
    notes : list of str
        Grows.
    studies : mapping
        Where to look for it.
    """
    figure = studies.get(name)
    if figure is None:
        if name in IN_CLONE:
            notes.append(f"the study of {name}: in a clone `python -m scenarios {name}` draws it")
        return []
    try:
        picture = figure.picture(sweep)
    except InputError as error:
        notes.extend(f"the study of {name}: {line}" for line in error.lines())
        return []
    return [(picture, [cell.result for cell in sweep.cells])]


def first(opened: Result | Sweep) -> Result:
    """Return a result, or that of a sweep's first cell."""
    return opened if isinstance(opened, Result) else opened.cells[0].result


def _curves(lines: Sequence[CurveLine], notes: list[str]) -> list[Shown]:
    """Return the convergence figures."""
    marked = [line for line in lines if line.result.summary["updates"] > 0]
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
    results = [line.result for line in marked]
    planned: list[Shown] = [(convergence.by_update(marked), results)]
    if any(result.summary["simulated_time"] > 0 for result in results):
        planned.append((convergence.by_time(marked), results))
    else:
        notes.append("convergence over time: nothing takes any")
    return planned


def _compared(sweep: Sweep, notes: list[str]) -> tuple[list[CurveLine], str]:
    """Return at most ten cells to compare by what sets them apart, and what all of them have."""
    cells, (path, *rest), apart = list(sweep.cells), sweep.paths, sweep.paths
    if len(cells) > MOST_LINES:
        base, apart = cells[0].values, (path,)
        cells = [cell for cell in cells if all(cell.values[o] == base[o] for o in rest)]
        step = max(1.0, (len(cells) - 1) / (MOST_LINES - 1))
        places = range(min(len(cells), MOST_LINES))
        cells = [cells[round(step * place)] for place in places]
        note = f"{len(sweep.cells) - len(cells)} of {len(sweep.cells)} cells in the convergence"
        note += f" figures, which compare {path} with all else as in the first cell"
        notes.append(note)
    if sweep.missing:
        notes.append(f"cells {', '.join(map(str, sweep.missing))}: not finished")
    lines = [CurveLine(cell.result, cell.label(apart)) for cell in cells]
    return lines, cells[0].label([path for path in sweep.paths if path not in apart])


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
    drawn, notes = pictures(opened, studies)
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
