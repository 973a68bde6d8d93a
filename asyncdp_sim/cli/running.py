"""``asyncdp run``, ``sweep`` and ``rehearse``: simulated, or executed by real processes."""

from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import (
    AllowCode,
    File,
    Only,
    Out,
    Place,
    Plot,
    Settings,
    Without,
    Workers,
    as_options,
    load_scenario,
    positive,
    who,
    whole_number,
)
from asyncdp_sim.cli.plotting import draw
from asyncdp_sim.cli.screen import (
    NOTHING_KEPT,
    keeping,
    next_steps,
    note,
    note_all,
    of_a_result,
    show,
    show_result,
)
from asyncdp_sim.core.errors import blaming
from asyncdp_sim.core.files import is_dir, is_file
from asyncdp_sim.core.progress import drawn


def run_command(
    file: File,
    out: Out = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            parser=whole_number,
            metavar="N",
            help="Set run.seed (default: as in the scenario).",
        ),
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option(
            "--replicates",
            parser=whole_number,
            metavar="N",
            help="Set run.replicates (default: as in the scenario).",
        ),
    ] = None,
    workers: Workers = 1,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
    events: Annotated[
        bool, typer.Option("--events", help="Write all events to events.parquet.")
    ] = False,
    plotting: Plot = False,
) -> None:
    """Simulate a scenario, train the model, and write a result directory."""
    from asyncdp_sim.results.provenance import default_directory
    from asyncdp_sim.runs import finished, run, write
    from asyncdp_sim.theory.predict.size import size_notes

    extra = [f"run.seed={seed}"] * (seed is not None)
    extra += [f"run.replicates={replicates}"] * (replicates is not None)
    settings = [*settings, *extra, *who(only, without)]
    scenario, text = load_scenario(file, settings, allow_code)
    swept = len(scenario.sweep) > 0
    if swept:
        text.append(f"{file} has a sweep over {', '.join(scenario.sweep)}: this is its base cell")
    scenario = scenario.base()
    with blaming(file):
        directory = default_directory(scenario) if out is None else out
    with keeping(lambda: _kept(directory)):
        with blaming(file), drawn("fewer --replicates take less") as progress:
            done = finished(scenario, directory, events=events)
            if not done:
                note_all(size_notes(scenario, events=events))
                write(run(scenario, workers=workers, events=events, progress=progress), directory)
        show_result(directory, text, done=done)
        if plotting:
            draw(directory)
    further = [] if plotting else [("to see it", ["plot", directory])]
    if swept:
        further.append(("to run its sweep", ["sweep", file, *as_options(settings)]))
    next_steps(*further, *of_a_result(directory))


def rehearse_command(
    file: File,
    out: Out = None,
    unit: Annotated[
        float | None,
        typer.Option(
            "--unit",
            parser=positive,
            metavar="SECONDS",
            help="Let a time unit take this many seconds (default: as many as make the "
            "rehearsal take about a minute).",
        ),
    ] = None,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Run a scenario with real processes over TCP, and compare with its simulation.

    The learner and each owner are processes on this machine. They wait for simulated times, and
    drop messages where the scenario loses them.
    """
    from asyncdp_sim.core.words import aligned
    from asyncdp_sim.rehearsals import rehearse
    from asyncdp_sim.rehearsals.compare import beside, cost
    from asyncdp_sim.results.provenance import default_directory
    from asyncdp_sim.runs import finished, write

    scenario, text = load_scenario(file, [*settings, *who(only, without)], allow_code)
    if len(scenario.sweep) > 0:
        text.append(f"{file} has a sweep over {', '.join(scenario.sweep)}: this is its base cell")
    scenario = scenario.base()
    with blaming(file):
        place = default_directory(scenario)
        directory = place.with_name(f"{place.name}-rehearsed") if out is None else out
    lines = list[str]()
    with keeping(lambda: NOTHING_KEPT):
        with blaming(file), drawn() as progress:
            done = finished(scenario, directory, events=False, measured=True)
            if not done:
                result = rehearse(scenario, unit=unit, progress=progress, announce=note)
                write(result.measured, directory)
                lines = [*aligned(beside(result)), *cost(result)]
        show_result(directory, text, done=done)
    show(lines)
    next_steps(*of_a_result(directory))


def _kept(directory: Path) -> str:
    """Say what is kept: a result appears whole, before it is drawn."""
    present = is_file(directory / "manifest.json")
    return f"the result is kept in {directory}" if present else NOTHING_KEPT


def sweep_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="NAME|FILE|DIR",
            help="Use this scenario, by name or file, or continue the sweep in this directory.",
        ),
    ],
    out: Place = None,
    workers: Workers = 1,
    address: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Run on the Dask scheduler at ADDRESS, whose workers must all see DIR (default: "
            "on this machine).",
        ),
    ] = None,
    only_status: Annotated[
        bool, typer.Option("--status", help="Print the progress, and run nothing.")
    ] = False,
    mixed_versions: Annotated[
        bool,
        typer.Option("--mixed-versions", help="Continue a sweep that other versions have begun."),
    ] = False,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
    plotting: Plot = False,
) -> None:
    """Run all cells of a sweep, or those that remain.

    Each cell has a directory of its own within that of the sweep.
    """
    from asyncdp_sim.results.provenance import default_directory
    from asyncdp_sim.sweeps import require_sweep, status, sweep

    if is_dir(file):
        if out is not None:
            raise typer.BadParameter(f"--out goes with a scenario file, and {file} is a directory")
        require_sweep(file)
        file, out = file / "scenario.toml", file
    settings = [*settings, *who(only, without)]
    scenario, text = load_scenario(file, settings, allow_code)
    with blaming(file):
        place = default_directory(scenario) if out is None else out
        if only_status:
            show(status(scenario, place).lines())
            return
    ran = False

    def kept() -> str:
        if not is_file(place / "scenario.toml"):
            return NOTHING_KEPT
        come = status(scenario, place)
        return f"{come.done} of {come.cells} cells are kept in {place}"

    with keeping(kept):
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
            show_result(place, text, done=not ran)
            if plotting:
                draw(place)
    if result.done > 0:
        further = [] if plotting else [("to see it", ["plot", place])]
        next_steps(*further, *of_a_result(place))
    if len(result.failed) > 0:
        wrong = [f"{file}: {line}" for line in result.errors()]
        if result.done == 0 and not is_dir(place):
            wrong.append(f"{file}: no cell could be run, nothing is kept in {place}")
        show(wrong, err=True)
        raise typer.Exit(4 if result.machine else 2)
