"""``asyncdp report``: one page of a result or a sweep."""

from pathlib import Path
from typing import Annotated

import typer


def report_command(
    directory: Annotated[Path, typer.Argument(help="Of a result or a sweep.", metavar="DIR")],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The page; report.html in DIR otherwise.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write one page of a result or a sweep.

    It is one file of HTML, and needs no other file and no network.
    """
    from asyncdp_sim.reports import write_report

    typer.echo(f"report in {write_report(directory, out)}")
