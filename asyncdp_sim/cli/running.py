"""``asyncdp run`` and ``sweep``; ``plot``, ``report``, ``compare``: figures, pages, differences."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import typer

from asyncdp_sim.cli import terminal
from asyncdp_sim.cli.catalogue import announce_sweep
from asyncdp_sim.cli.terminal import keeping, note, note_all, show
from asyncdp_sim.core.errors import blaming
from asyncdp_sim.core.files import is_dir, is_file
from asyncdp_sim.core.progress import drawn

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
        with keeping(partial(_keeps_figures, place)):
            draw(place, file_format, width, style_sheet)


def _keeps_figures(place: Path) -> str:
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


def run_command(
    file: Path,
    out: Path | None = None,
    seed: int | None = None,
    replicates: int | None = None,
    workers: int = 1,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    settings: Sequence[str] = (),
    allow_code: bool = False,
    events: bool = False,
    details: bool = False,
    material: float | None = None,
    own_best: str = "any",
    plotting: bool = False,
) -> None:
    """Simulate a scenario, train the model, and write a result directory."""
    from asyncdp_sim.results.manifest import default_directory
    from asyncdp_sim.runs.run import finished_or_free, run, write
    from asyncdp_sim.theory.predict.all import size_notes

    judging = terminal.as_judging(material, own_best)
    extra = [f"run.seed={seed}"] * (seed is not None)
    extra += [f"run.replicates={replicates}"] * (replicates is not None)
    settings = [*settings, *extra, *terminal.who(only, without)]
    scenario, notes = terminal.load_scenario(file, settings, allow_code)
    notes += terminal.base_notes(file, scenario)
    swept = len(scenario.sweep) > 0
    scenario = scenario.base()
    with blaming(file):
        directory = default_directory(scenario) if out is None else out
    with terminal.keeping(lambda: _kept(directory)):
        with blaming(file), drawn("fewer --replicates take less") as progress:
            done = finished_or_free(scenario, directory, events=events, judging=judging)
            if not done:
                terminal.note_all(size_notes(scenario, events=events))
                outcome = run(
                    scenario, workers=workers, events=events, progress=progress, gains=judging
                )
                write(outcome, directory)
        terminal.show_result(directory, notes, done=done, details=details)
        if plotting:
            draw(directory)
    further = [] if plotting else [("to draw it", ["plot", directory])]
    if swept:
        further.append(("to run its sweep", ["sweep", file, *terminal.as_options(settings)]))
    terminal.next_steps(*further, *terminal.of_a_result(directory))


def _kept(directory: Path) -> str:
    """Say what is kept: a result appears whole, before it is drawn."""
    present = is_file(directory / "manifest.json")
    return f"the result is kept in {directory}" if present else terminal.NOTHING_KEPT


def sweep_command(
    file: Path,
    out: Path | None = None,
    workers: int = 1,
    address: str | None = None,
    only_status: bool = False,
    mixed_versions: bool = False,
    details: bool = False,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    settings: Sequence[str] = (),
    allow_code: bool = False,
    plotting: bool = False,
) -> None:
    """Run all cells of a sweep, or those that remain.

    Each cell has a directory of its own within that of the sweep.
    """
    from asyncdp_sim.results.manifest import default_directory
    from asyncdp_sim.sweeps.status import require_sweep, status
    from asyncdp_sim.sweeps.sweep import sweep

    if is_dir(file):
        if out is not None:
            both = f"given --out with the directory of a sweep, {file}"
            raise typer.BadParameter(f"{both}; allowed is --out with a scenario file")
        require_sweep(file)
        file, out = file / "scenario.toml", file
    settings = [*settings, *terminal.who(only, without)]
    scenario, notes = terminal.load_scenario(file, settings, allow_code)
    with blaming(file):
        place = default_directory(scenario) if out is None else out
        if only_status:
            terminal.show(status(scenario, place).lines())
            return
    if len(settings) == 0:
        announce_sweep(str(file))
    ran = False

    def kept() -> str:
        if not is_file(place / "scenario.toml"):
            return terminal.NOTHING_KEPT
        come = status(scenario, place)
        return f"{come.done} of {come.cells} cells are kept in {place}"

    with terminal.keeping(kept):
        with blaming(file), drawn("more --workers and fewer run.replicates take less") as progress:

            def told(doing: str, done: float, total: float | None) -> None:
                nonlocal ran
                ran = True
                if progress is not None:
                    progress(doing, done, total)

            result = sweep(
                scenario,
                place,
                workers=workers,
                address=address,
                mixed_versions=mixed_versions,
                progress=told,
            )
        if result.done > 0:
            if plotting:
                print_fit(place)
            terminal.show_result(place, notes, done=not ran, details=details)
            if plotting:
                draw(place, fit_printed=True)
    if result.done > 0:
        further = [] if plotting else [("to draw it", ["plot", place])]
        terminal.next_steps(*further, *terminal.of_a_result(place))
    if len(result.failed) > 0:
        wrong = [f"{file}: {line}" for line in result.errors()]
        if result.done == 0 and not is_dir(place):
            wrong.append(f"{file}: all cells failed; nothing is kept in {place}")
        terminal.show(wrong, err=True)
        raise typer.Exit(4 if result.machine else 2)
