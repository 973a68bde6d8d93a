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
from asyncdp_sim.cli.screen import note, note_all, show
from asyncdp_sim.core.errors import blaming
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.threads import TO_RUN, require_address_space


def audit_command(
    context: typer.Context,
    file: File,
    answers: Annotated[
        int | None,
        typer.Option(
            "--answers",
            parser=attack_count,
            metavar="N",
            help="Draw N single answers for each of two neighbouring tables (default: 1,000,000, "
            "or fewer of many numbers each).",
        ),
    ] = None,
    canaries: Annotated[
        int | None,
        typer.Option(
            "--canaries",
            parser=positive_count,
            metavar="N",
            help="Use N canary records in one training (default: all that fit, up to 1000).",
        ),
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="Attack whole runs, not one training with canary records."),
    ] = False,
    runs: Annotated[
        int,
        typer.Option(
            "--runs",
            parser=attack_count,
            metavar="N",
            help="Simulate N whole runs for each of two neighbouring tables (with --thorough).",
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
    workers: Workers = 1,
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Attack the privacy of a scenario, and print lower bounds on its ε.

    The first verdict takes seconds: single answers, and one training with random canary
    records. --thorough attacks whole runs on neighbouring tables; it prints its duration first.
    """
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.audits import audit, expected_seconds, first_audit
    from asyncdp_sim.core.words import duration

    _refuse_the_other_kind(context, thorough)
    scenario, text = load_scenario(file, settings, allow_code)
    if len(scenario.sweep) > 0:
        text.append(f"{file} has a sweep over {', '.join(scenario.sweep)}: this is its base cell")
    with blaming(file), drawn() as progress:
        if thorough:
            seconds = expected_seconds(scenario, runs)
            note(f"{duration(seconds)} of processor time; fewer --runs take less")
            result = audit(
                scenario,
                answers=1_000_000 if answers is None else answers,
                runs=runs,
                confidence=confidence,
                workers=workers,
                progress=progress,
            )
        else:
            result = first_audit(
                scenario,
                answers=answers,
                canaries=canaries,
                confidence=confidence,
                progress=progress,
            )
    show(result.lines())
    note_all(text)
    if result.exceeded:
        raise typer.Exit(3)


def _refuse_the_other_kind(context: typer.Context, thorough: bool) -> None:
    """Refuse options that have no effect on the audit that is asked for."""
    for name in ("canaries",) if thorough else ("runs", "workers"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            remedy = f"allowed is {'without' if thorough else 'with'} --thorough"
            raise typer.BadParameter(f"given; {remedy}", param_hint=f"--{name}")
