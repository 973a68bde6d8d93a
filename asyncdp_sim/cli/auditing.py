"""``asyncdp audit``: a scenario's privacy attacked."""

from typing import Annotated

import typer

from asyncdp_sim.cli.options import (
    AllowCode,
    File,
    Settings,
    Workers,
    attack_count,
    load_scenario,
    open_share,
)
from asyncdp_sim.cli.screen import note_all, show
from asyncdp_sim.errors import blaming
from asyncdp_sim.progress.line import drawn


def audit_command(
    file: File,
    answers: Annotated[
        int,
        typer.Option("--answers", parser=attack_count, help="Single answers drawn, on each side."),
    ] = 1_000_000,
    runs: Annotated[
        int, typer.Option("--runs", parser=attack_count, help="Whole runs, on each side.")
    ] = 1000,
    confidence: Annotated[
        float,
        typer.Option("--confidence", parser=open_share, help="Of all bounds together, in (0, 1)."),
    ] = 0.999,
    workers: Workers = 1,
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Attack a scenario's privacy, for lower bounds on its ε."""
    from asyncdp_sim.audits import audit

    scenario, said = load_scenario(file, settings, allow_code)
    if len(scenario.sweep) > 0:
        said.append(f"{file} has a sweep over {', '.join(scenario.sweep)}: this is its base cell")
    with blaming(file), drawn() as progress:
        found = audit(
            scenario,
            answers=answers,
            runs=runs,
            confidence=confidence,
            workers=workers,
            progress=progress,
        )
    show(found.lines())
    note_all(said)
    if found.exceeded:
        raise typer.Exit(3)
