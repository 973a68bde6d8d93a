"""``asyncdp import`` and ``export``: measured networks, and software that runs a scenario."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import typer

from asyncdp_sim.cli.options import load_scenario
from asyncdp_sim.cli.screen import note_all, put_schema_beside, show
from asyncdp_sim.core.errors import blaming


class Format(StrEnum):
    """A form of files of others."""

    fedscale = "fedscale"
    flash = "flash"
    topology = "topology"
    trace = "trace"


def import_command(
    format: Format,
    file: Path,
    out: Path,
    first: int | None = None,
    records: int = 100,
    needs: str = "charging,wifi,locked",
    fit: bool = False,
    seed: int = 1,
    latency: str | None = None,
    unit: str | None = None,
    missing: float | None = None,
    learner: str | None = None,
) -> None:
    """Convert measured networks into scenarios."""
    own = {"--latency": latency, "--unit": unit, "--missing": missing, "--learner": learner}
    setting = [name for name, value in own.items() if value is not None]
    if format is not Format.topology and len(setting) > 0:
        raise typer.BadParameter(f"given {', '.join(setting)}; allowed with topology only")
    with blaming(file):
        if format is Format.fedscale:
            from asyncdp_sim.imports.fedscale import import_fedscale

            reported = import_fedscale(file, out, records, first)
        elif format is Format.flash:
            from asyncdp_sim.imports.flash import NEEDS, import_flash

            asked = needs.split(",")
            if not set(asked) <= set(NEEDS):
                raise typer.BadParameter(f"given --needs {needs}; allowed: {','.join(NEEDS)}")
            reported = import_flash(file, out, asked, first)
        elif format is Format.topology:
            from asyncdp_sim.imports.topology import import_topology

            reported = import_topology(
                file, out, latency=latency, unit=unit, missing=missing, learner=learner
            )
        else:
            if not fit:
                raise typer.BadParameter("given a trace; add --fit, which fits laws to it")
            from asyncdp_sim.imports.measured import import_trace

            reported = import_trace(file, out, seed)
    show([*reported, f"written to {out}"])
    if out.suffix == ".toml":
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
