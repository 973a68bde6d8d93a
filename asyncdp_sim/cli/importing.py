"""``asyncdp import`` and ``export``: measured networks, and software that runs a scenario."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import (
    AllowCode,
    File,
    Settings,
    load_scenario,
    not_negative,
    positive,
    positive_count,
)
from asyncdp_sim.cli.screen import note_all, put_schema_beside, show
from asyncdp_sim.core.errors import blaming


class Format(StrEnum):
    """A form of files of others."""

    fedscale = "fedscale"
    flash = "flash"
    topology = "topology"
    trace = "trace"


def import_command(
    format: Annotated[
        Format,
        typer.Argument(
            metavar="FORMAT",
            help="Read this format: fedscale, flash, topology or trace.",
        ),
    ],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Read this file.")],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="Write to FILE: a table of when devices are online (.csv, .parquet), a scenario "
            "(.toml) or a graph (.graphml).",
        ),
    ],
    first: Annotated[
        int | None,
        typer.Option(
            "--first",
            parser=positive_count,
            metavar="N",
            help="Read the first N devices (default: all).",
        ),
    ] = None,
    records: Annotated[
        int,
        typer.Option(
            "--records",
            parser=positive_count,
            metavar="N",
            help="Assume N records per device, which set its computing time (fedscale).",
        ),
    ] = 100,
    needs: Annotated[
        str,
        typer.Option(
            "--needs", metavar="STATES", help="Count a device as online in these states (flash)."
        ),
    ] = "charging,wifi,locked",
    fit: Annotated[
        bool, typer.Option("--fit", help="Fit laws, and write a scenario (trace).")
    ] = False,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="Set the seed of the fit's simulations (trace)."),
    ] = 1,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency",
            metavar="ATTRIBUTE",
            help="Read latencies from this attribute of edges (topology; default: latency or "
            "weight).",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="UNIT",
            help="Read latencies in this unit (topology): s, ms or us, with a second as time unit, "
            "or a number of time units (default: 1).",
        ),
    ] = None,
    missing: Annotated[
        float | None,
        typer.Option(
            "--missing",
            parser=not_negative,
            metavar="VALUE",
            help="Use this latency, in that unit, for edges without one (topology; default: refuse "
            "them).",
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            metavar="NODE",
            help="Put the learner at this node, by id or label (topology; default: learner, or the "
            "first).",
        ),
    ] = None,
) -> None:
    """Convert measured networks into scenarios."""
    own = {"--latency": latency, "--unit": unit, "--missing": missing, "--learner": learner}
    setting = [name for name, value in own.items() if value is not None]
    if format is not Format.topology and len(setting) > 0:
        raise typer.BadParameter(f"{', '.join(setting)}: allowed with topology only")
    with blaming(file):
        if format is Format.fedscale:
            from asyncdp_sim.imports.fedscale import import_fedscale

            reported = import_fedscale(file, out, records, first)
        elif format is Format.flash:
            from asyncdp_sim.imports.flash import NEEDS, import_flash

            asked = needs.split(",")
            if not set(asked) <= set(NEEDS):
                raise typer.BadParameter(f"--needs takes some of {','.join(NEEDS)}, not {needs!r}")
            reported = import_flash(file, out, asked, first)
        elif format is Format.topology:
            from asyncdp_sim.imports.topology import import_topology

            reported = import_topology(
                file, out, latency=latency, unit=unit, missing=missing, learner=learner
            )
        else:
            if not fit:
                raise typer.BadParameter("a trace needs --fit, which finds its laws")
            from asyncdp_sim.imports.measured import import_trace

            reported = import_trace(file, out, seed)
    show([*reported, f"written to {out}"])
    if out.suffix == ".toml":
        put_schema_beside(out)


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
