"""The command ``asyncdp export``: what was decided, for software that carries it out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import AllowCode, File, Settings, load_scenario, positive
from asyncdp_sim.cli.screen import note_all, show
from asyncdp_sim.core.errors import blaming


class Software(StrEnum):
    """Software that a scenario is exported to."""

    flower = "flower"


def export_command(
    target: Annotated[  # noqa: ARG001
        Software,
        typer.Argument(metavar="SOFTWARE", help="Write an app of this software: flower."),
    ],
    file: File,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="DIR",
            help="Write the app to DIR, a new directory.",
        ),
    ],
    unit: Annotated[
        float,
        typer.Option(
            "--unit",
            parser=positive,
            metavar="SECONDS",
            help="Let a time unit of the clocks take SECONDS (default: 1).",
            show_default=False,
        ),
    ] = 1.0,
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Export a scenario as an app that runs it over a real network."""
    from asyncdp_sim.exports.flower import export_flower

    with blaming(file):
        scenario, notes = load_scenario(file, settings, allow_code)
        lines = export_flower(scenario, out, unit)
    show([*lines, f"written to {out}"])
    note_all(notes)
