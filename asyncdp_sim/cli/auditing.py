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
    positive_count,
)
from asyncdp_sim.cli.screen import note_all, show
from asyncdp_sim.errors import blaming
from asyncdp_sim.progress import drawn
from asyncdp_sim.threads import TO_RUN, require_address_space


def audit_command(
    context: typer.Context,
    file: File,
    answers: Annotated[
        int,
        typer.Option(
            "--answers",
            parser=attack_count,
            metavar="N",
            help="Draw N single answers for each of two neighbouring tables.",
        ),
    ] = 1_000_000,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            parser=attack_count,
            metavar="N",
            help="Simulate N whole runs for each of two neighbouring tables.",
        ),
    ] = 1000,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            parser=open_share,
            metavar="SHARE",
            help="Set the confidence that all bounds hold, in (0, 1).",
        ),
    ] = 0.999,
    one_run: Annotated[
        bool,
        typer.Option(
            "--one-run", help="Train once with random canary records, and guess which were used."
        ),
    ] = False,
    canaries: Annotated[
        int | None,
        typer.Option(
            "--canaries",
            parser=positive_count,
            metavar="N",
            help="Use N canary records with --one-run (default: as many as fit, up to 1000).",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 1,
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Attack the privacy of a scenario, and print lower bounds on its ε."""
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.audits import audit, audit_one_run

    _refuse_the_other_kind(context, one_run)
    scenario, said = load_scenario(file, settings, allow_code)
    if len(scenario.sweep) > 0:
        said.append(f"{file} has a sweep over {', '.join(scenario.sweep)}: this is its base cell")
    with blaming(file), drawn() as progress:
        if one_run:
            found = audit_one_run(
                scenario, canaries=canaries, confidence=confidence, progress=progress
            )
        else:
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


def _refuse_the_other_kind(context: typer.Context, one_run: bool) -> None:
    """Refuse options that say nothing of the audit that is asked for."""
    others = ("answers", "runs", "workers") if one_run else ("canaries",)
    for name in others:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            allowed = "allowed is without --one-run" if one_run else "allowed is with --one-run"
            raise typer.BadParameter(f"given; {allowed}", param_hint=f"--{name}")
