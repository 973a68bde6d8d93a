"""The command ``asyncdp compare``: results beside each other."""

import json
from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import directory
from asyncdp_sim.cli.screen import show


def compare_command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            help="Results, two or more, compared with the first; of a sweep its cells, DIR/cell-….",
            metavar="DIR…",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            parser=directory,
            metavar="DIR",
            help="A new directory for pictures of the curves over each other.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare results with each other, and their scenarios.

    Differences of figures have intervals; replicates of one seed are compared in pairs.
    """
    from asyncdp_sim.comparisons import compare
    from asyncdp_sim.results.write import require_free

    if out is not None:
        require_free(out)
    found = compare(directories)
    drawn: list[Path] = []
    if out is not None:
        from asyncdp_sim.figures.comparisons.overlaid import draw_comparison

        drawn = draw_comparison(found.results, out)
    if as_json:
        typer.echo(json.dumps(found.content(), ensure_ascii=False, indent=1))
        return
    show([*found.lines(), *(f"drawn: {path}" for path in drawn)])
