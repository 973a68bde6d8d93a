"""``asyncdp run``: one scenario, simulated and learned."""

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
    load_scenario,
    who,
    whole_number,
)
from asyncdp_sim.cli.plotting import draw
from asyncdp_sim.cli.screen import note, show_result, stderr
from asyncdp_sim.errors import blaming


def run_command(
    file: File,
    out: Out = None,
    seed: Annotated[
        int | None, typer.Option("--seed", parser=whole_number, help="Replaces run.seed.")
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option("--replicates", parser=whole_number, help="Replaces run.replicates."),
    ] = None,
    workers: Workers = 1,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
    events: Annotated[bool, typer.Option("--events", help="Keep every event.")] = False,
    plotting: Plot = False,
) -> None:
    """Simulate one scenario and learn; write a result directory. A finished one is done."""
    from asyncdp_sim.provenance import default_directory
    from asyncdp_sim.runs import finished, run, write

    extra = [f"run.seed={seed}"] * (seed is not None)
    extra += [f"run.replicates={replicates}"] * (replicates is not None)
    scenario = load_scenario(file, [*settings, *extra, *who(only, without)], allow_code)
    if len(scenario.sweep) > 0:
        note(f"{file} has a sweep over {', '.join(scenario.sweep)}: running its base cell")
    scenario = scenario.base()
    with blaming(file), stderr().status(f"running {scenario.id}"):
        directory = default_directory(scenario) if out is None else out
        done = finished(scenario, directory, events=events)
        if not done:
            write(run(scenario, workers=workers, events=events), directory)
    show_result(directory, done=done)
    if plotting:
        draw(directory)
