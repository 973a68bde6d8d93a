"""``asyncdp plot``, ``report``, ``compare``: figures of results, one page of all, differences."""

import json
from functools import partial
from pathlib import Path
from typing import Literal

import typer

from asyncdp_sim.cli.terminal import keeping, note, note_all, show

FileFormat = Literal["png", "pdf", "svg"]


def plot_command(
    places: list[Path],
    file_format: FileFormat = "png",
    width: float | None = None,
    style_sheet: Path | None = None,
) -> None:
    """Draw the figures of results into DIR/figures.

    Each figure has a table of its numbers next to it. The paths are printed.
    """
    for place in places:
        with keeping(partial(_kept, place)):
            draw(place, file_format, width, style_sheet)


def _kept(place: Path) -> str:
    return f"{place} keeps its results and the figures drawn so far; the others are missing"


def print_fit(place: Path) -> None:
    """Print how well the joint model fits beside own models, where a sweep shows it."""
    from asyncdp_sim.figures.draw import decided_by

    show([f"fit: {text}" for text in decided_by(place)])


def draw(
    place: Path,
    file_format: FileFormat = "png",
    width: float | None = None,
    style_sheet: Path | None = None,
    *,
    fit_printed: bool = False,
) -> None:
    """Draw a result, a sweep or a forecast, and print the paths of its figures.

    Parameters
    ----------
    place : Path
        A directory, or a forecast's JSON file.
    file_format : str
    width : float, optional
        Inches.
    style_sheet : Path, optional
        A matplotlib style sheet.
    fit_printed : bool
        Whether the lines of :func:`print_fit` are on the screen already.
    """
    from asyncdp_sim.figures.draw import draw_named

    drawing = draw_named(place, file_format, width, style_sheet)
    if not fit_printed:
        show([f"fit: {text}" for text in drawing.decisions])
    for path in drawing.pictures:
        typer.echo(path)
    for text in drawing.notes:
        note(f"{place}: not drawn: {text}")


def report_command(places: list[Path], out: Path | None = None) -> None:
    """Write a page about a result, a sweep, a forecast or a comparison.

    The page is a single HTML file, and needs no network.
    """
    from asyncdp_sim.reports import write_report

    typer.echo(f"report in {write_report(places, out)}")


def compare_command(
    directories: list[Path], as_json: bool = False, out: Path | None = None
) -> None:
    """Compare results and their scenarios.

    Differences have intervals. Replicates of the same seed are compared in pairs.
    """
    from asyncdp_sim.comparisons.comparison import compare
    from asyncdp_sim.results.write import require_free

    if out is not None:
        require_free(out)
    result = compare(directories)
    drawn: list[Path] = []
    if out is not None:
        from asyncdp_sim.figures.convergence import draw_comparison

        drawn = draw_comparison(result.results, out)
    pictures = [f"drawn: {path}" for path in drawn]
    if as_json:
        typer.echo(json.dumps(result.content(), ensure_ascii=False, indent=1))
        note_all(pictures)
    else:
        show([*result.lines(), *pictures])
