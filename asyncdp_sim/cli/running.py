"""``asyncdp run`` and ``rehearse``: one scenario, simulated, or executed by real processes."""

from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import (
    AllowCode,
    File,
    Only,
    Out,
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
from asyncdp_sim.core.files import is_file
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
