"""``asyncdp audit``: a scenario's privacy attacked."""

import sys
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
from asyncdp_sim.cli.screen import note, stderr
from asyncdp_sim.errors import blaming


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
    """Attack a scenario's privacy: lower bounds on ε beside what it claims."""
    from rich.progress import Progress

    from asyncdp_sim.audits import audit

    scenario = load_scenario(file, settings, allow_code)
    if len(scenario.sweep) > 0:
        note(f"{file} has a sweep over {', '.join(scenario.sweep)}: attacking its base cell")
    progress = Progress(console=stderr(), disable=not sys.stderr.isatty())
    with blaming(file), progress:
        bar = progress.add_task(f"attacking {scenario.id}", total=None)
        found = audit(
            scenario,
            answers=answers,
            runs=runs,
            confidence=confidence,
            workers=workers,
            on_part=lambda done, total: progress.update(bar, completed=done, total=total),
        )
    typer.echo("\n".join(found.lines()))
    if found.exceeded:
        raise typer.Exit(3)
