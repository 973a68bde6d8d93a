"""The command ``asyncdp import``: networks that others have measured."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import not_negative, positive_count
from asyncdp_sim.cli.screen import put_schema_beside, show
from asyncdp_sim.errors import blaming


class Format(StrEnum):
    """A form of files of others."""

    fedscale = "fedscale"
    flash = "flash"
    topology = "topology"
    trace = "trace"


def import_command(
    format: Annotated[Format, typer.Argument(help="What the file is.", show_default=False)],
    file: Annotated[Path, typer.Argument(help="The file.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="A table (.csv, .parquet) of when devices are online, a scenario (.toml) or a "
            "graph (.graphml).",
            show_default=False,
        ),
    ],
    first: Annotated[
        int | None,
        typer.Option(
            "--first", parser=positive_count, help="Take so many devices.", show_default=False
        ),
    ] = None,
    records: Annotated[
        int,
        typer.Option(
            "--records", parser=positive_count, help="Of a device, for its time (fedscale)."
        ),
    ] = 100,
    needs: Annotated[
        str, typer.Option("--needs", help="What a device is while online (flash).")
    ] = "charging,wifi,locked",
    fit: Annotated[bool, typer.Option("--fit", help="Find laws and a scenario (trace).")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of simulations of the fit (trace).")] = 1,
    latency: Annotated[
        str | None,
        typer.Option(
            "--latency",
            metavar="ATTRIBUTE",
            help="Attribute of edges that holds latencies (topology). Default: latency, or weight.",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit",
            metavar="UNIT",
            help="Unit of latencies in the file (topology): s, ms or us, and a time unit is a "
            "second; or a number of time units. Default: 1.",
        ),
    ] = None,
    missing: Annotated[
        float | None,
        typer.Option(
            "--missing",
            parser=not_negative,
            metavar="VALUE",
            help="Latency of edges that state none, in that unit (topology). Default: refused.",
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            metavar="NODE",
            help="Node of the learner, by id or label (topology). Default: learner, or the first.",
        ),
    ] = None,
) -> None:
    """Turn networks that others measured into scenarios.

    \b
    Examples:
      asyncdp import flash states.json -o phones.csv --needs charging,wifi
      asyncdp import topology clouds.graphml --unit ms -o net.graphml
    """  # noqa: D301
    own = {"--latency": latency, "--unit": unit, "--missing": missing, "--learner": learner}
    given = [name for name, value in own.items() if value is not None]
    if format is not Format.topology and len(given) > 0:
        raise typer.BadParameter(f"{', '.join(given)}: allowed with topology only")
    with blaming(file):
        if format is Format.fedscale:
            from asyncdp_sim.imports.fedscale import import_fedscale

            told = import_fedscale(file, out, records, first)
        elif format is Format.flash:
            from asyncdp_sim.imports.flash import NEEDS, import_flash

            asked = needs.split(",")
            if not set(asked) <= set(NEEDS):
                raise typer.BadParameter(f"--needs takes some of {','.join(NEEDS)}, not {needs!r}")
            told = import_flash(file, out, asked, first)
        elif format is Format.topology:
            from asyncdp_sim.imports.topology import import_topology

            told = import_topology(
                file, out, latency=latency, unit=unit, missing=missing, learner=learner
            )
        else:
            if not fit:
                raise typer.BadParameter("a trace needs --fit, which finds its laws")
            from asyncdp_sim.imports.measured import import_trace

            told = import_trace(file, out, seed)
    show([*told, f"written to {out}"])
    if out.suffix == ".toml":
        put_schema_beside(out)
