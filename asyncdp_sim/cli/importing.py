"""``asyncdp import`` and ``export``: measured networks, and software that runs a scenario."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import typer

from asyncdp_sim.cli.options import load_scenario
from asyncdp_sim.cli.screen import note_all, put_schema_beside, show
from asyncdp_sim.core.errors import blaming


class Format(StrEnum):
    """A form of measurements."""

    trace = "trace"


def import_command(
    format: Format,  # noqa: ARG001
    file: Path,
    out: Path,
    fit: bool = False,
    seed: int = 1,
) -> None:
    """Fit laws to a measured network, and write a scenario."""
    if not fit:
        raise typer.BadParameter("given a trace; add --fit, which fits laws to it")
    from asyncdp_sim.imports import import_trace

    with blaming(file):
        reported = import_trace(file, out, seed)
    show([*reported, f"written to {out}"])
    put_schema_beside(out)


class Software(StrEnum):
    """Software that a scenario is exported to."""

    flower = "flower"


def export_command(
    target: Software,  # noqa: ARG001
    file: Path,
    out: Path,
    unit: float = 1.0,
    settings: Sequence[str] = (),
    allow_code: bool = False,
) -> None:
    """Export a scenario as an app that runs it over a real network."""
    from asyncdp_sim.exports.flower import export_flower

    with blaming(file):
        scenario, notes = load_scenario(file, settings, allow_code)
        lines = export_flower(scenario, out, unit)
    show([*lines, f"written to {out}"])
    note_all(notes)
