"""``asyncdp rehearse``: one scenario, executed by real processes on this machine."""

from typing import Annotated

import typer

from asyncdp_sim.cli.options import (
    AllowCode,
    File,
    Only,
    Out,
    Settings,
    Without,
    load_scenario,
    positive,
    who,
)
from asyncdp_sim.cli.screen import NOTHING_KEPT, keeping, next_steps, of_a_result, show, show_result
from asyncdp_sim.errors import blaming
from asyncdp_sim.progress.line import drawn


def rehearse_command(
    file: File,
    out: Out = None,
    unit: Annotated[
        float | None,
        typer.Option(
            "--unit",
            parser=positive,
            metavar="SECONDS",
            help="How long a unit of time takes; chosen by measurement where absent.",
            show_default=False,
        ),
    ] = None,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Execute one scenario by real processes over TCP, beside its simulation.

    The learner and each owner are processes of this machine; times are slept, losses are made.
    """
    from asyncdp_sim.provenance import default_directory
    from asyncdp_sim.rehearsals import rehearse
    from asyncdp_sim.rehearsals.beside import beside, cost
    from asyncdp_sim.runs import finished, write
    from asyncdp_sim.words import aligned

    scenario, said = load_scenario(file, [*settings, *who(only, without)], allow_code)
    if len(scenario.sweep) > 0:
        said.append(f"{file} has a sweep over {', '.join(scenario.sweep)}: this is its base cell")
    scenario = scenario.base()
    with blaming(file):
        place = default_directory(scenario)
        directory = place.with_name(f"{place.name}-rehearsed") if out is None else out
    lines = list[str]()
    with keeping(lambda: NOTHING_KEPT):
        with blaming(file), drawn() as progress:
            done = finished(scenario, directory, events=False, measured=True)
            if not done:
                found = rehearse(scenario, unit=unit, progress=progress)
                write(found.measured, directory)
                lines = [*aligned(beside(found)), *cost(found)]
        show_result(directory, said, done=done)
    show(lines)
    next_steps(*of_a_result(directory))
