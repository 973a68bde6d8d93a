"""``asyncdp describe`` and ``asyncdp schema``: what fields, kinds and columns mean."""

from pathlib import Path
from typing import Annotated

import typer


def describe_command(
    name: Annotated[
        str,
        typer.Argument(
            help="A field, kind, table or column: privacy.epsilon, csma, updates.staleness.",
            metavar="PATH",
            show_default=False,
        ),
    ],
) -> None:
    """Say what a field, kind or column means.

    With its unit, domain, default and an example.
    """
    from asyncdp_sim.reference import look_up

    typer.echo("\n\n".join("\n".join(entry.lines()) for entry in look_up(name)))


def schema_command(
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="A file to write it to.", show_default=False),
    ] = None,
) -> None:
    """Print the JSON schema of scenario files, for editors.

    Those that know TOML complete fields by it, where it lies beside the scenario.
    """
    from asyncdp_sim.errors import Fault, ResultError
    from asyncdp_sim.reference import schema_text

    text = schema_text()
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        allowed = "allowed is a file that can be written"
        raise ResultError([Fault("--out", str(error.strerror), allowed)], str(out)) from None
    typer.echo(f"written to {out}; a scenario's first line names it: #:schema {out.name}")
