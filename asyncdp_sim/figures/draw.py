"""All figures of a result, a sweep or a forecast, drawn into a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.errors import Fault, InputError, ResultError
from asyncdp_sim.core.files import is_dir
from asyncdp_sim.core.words import ranges
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
from asyncdp_sim.figures.picture import SCREEN, FileFormat, Paper, Shown, captions_page, save, write
from asyncdp_sim.figures.style import style_sheet
from asyncdp_sim.figures.sweep_figure import SweepFigure
from asyncdp_sim.results import Result, Sweep, open_directory

MOST_LINES = 10  # of a convergence figure
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
"""Entries whose picture stands in ``analysis.studies``, which is not installed.

``python -m tests.regenerate`` writes them.
"""


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
    notes, first_result = list[str](), first(opened)
    name, shared_settings = str(first_result.scenario["id"]), ""
    if isinstance(opened, Result):
        lines, others = [CurveLine(opened)], list[Shown]()
        if opened.has("gains"):
            others.append((gains.by_owner(opened), [opened]))
    else:
        lines, shared_settings = _compared(opened, notes)
        others = _of_sweep(opened, name, notes, studies or {})
    convergence_shown = _curves(lines, notes)
    others += networks.pictures(traces.ALL, opened, notes)
    if first_result.has_events:
        replicate = first_result.replicates[0]
        happened = spacetime.events_of(first_result, replicate)
        if len(happened) > 0:
            others.append((spacetime.diagram(first_result, happened=happened), [first_result]))
        else:
            notes.append(f"space time: nothing happened in replicate {replicate}")
    shown = [(picture.of(name, shared_settings), results) for picture, results in convergence_shown]
    return shown + [(picture.of(name), results) for picture, results in others], notes


def _of_sweep(sweep: Sweep, name: str, notes: list[str], studies: Studies) -> list[Shown]:
    """Return the pictures of a sweep that a result has not; say in ``notes`` which it lacks."""
    results, shown = [cell.result for cell in sweep.cells], list[Shown]()
    for figures in OF_SWEEPS:
        figure = next((figure for figure in figures if figure.why_not(sweep) is None), None)
        if figure is not None:
            shown.append((figure.picture(sweep), results))
    reasons = [figure.why_not(sweep) for figure in changes.ALL]
    if None not in reasons:
        notes.append(f"what changes with the settings: {'; '.join(map(str, reasons))}")
    return shown + of_entry(sweep, name, notes, studies)


def of_entry(sweep: Sweep, name: str, notes: list[str], studies: Studies) -> list[Shown]:
    """Return the picture of an entry's own question; say in ``notes`` why it does not apply.

    Parameters
    ----------
    sweep : Sweep
        Of the entry.
    name : str
        The entry's.
    notes : list of str
        A reason is appended.
    studies : mapping
        Pictures by the names of entries.
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
    updated = [line for line in lines if line.result.summary["updates"] > 0]
    if len(updated) < len(lines):
        without = f"{len(lines) - len(updated)} of {len(lines)} convergence curves"
        notes.append(f"{without}: nothing was updated")
    if len(updated) == 0:
        return []
    replicates = [line.result.columns("curve", "replicate")[0] for line in updated]
    if all(np.unique(column, return_counts=True)[1].max() <= ENDS for column in replicates):
        why = "ψ was recorded at the beginning and the end alone (run.record_every)"
        notes.append(f"convergence: {why}")
        return []
    results = [line.result for line in updated]
    shown: list[Shown] = [(convergence.by_update(updated), results)]
    if any(result.summary["simulated_time"] > 0 for result in results):
        shown.append((convergence.by_time(updated), results))
    else:
        notes.append("convergence over time: nothing takes any")
    return shown


def _compared(sweep: Sweep, notes: list[str]) -> tuple[list[CurveLine], str]:
    """Return lines of at most ten cells, and a label of the swept settings that these share.

    Of more cells, those are compared that differ from the first one in the first path alone.
    """
    cells, compared_paths = list(sweep.cells), sweep.paths
    if len(cells) > MOST_LINES:
        first_path, *rest = sweep.paths
        compared_paths, base = (first_path,), cells[0].values
        cells = [cell for cell in cells if all(cell.values[path] == base[path] for path in rest)]
        step = max(1.0, (len(cells) - 1) / (MOST_LINES - 1))
        places = range(min(len(cells), MOST_LINES))
        cells = [cells[round(step * place)] for place in places]
        note = f"{len(sweep.cells) - len(cells)} of {len(sweep.cells)} cells in the convergence"
        note += f" figures, which compare {first_path} with all else as in the first cell"
        notes.append(note)
    if sweep.missing:
        notes.append(f"cell{'s' * (len(sweep.missing) > 1)} {ranges(sweep.missing)}: no result")
    lines = [CurveLine(cell.result, cell.label(compared_paths)) for cell in cells]
    return lines, cells[0].label([path for path in sweep.paths if path not in compared_paths])


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
    """Return what :func:`draw_all` would put in ``decisions``, without drawing."""
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
