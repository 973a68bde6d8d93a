"""``asyncdp plot``: figures of results."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.screen import keeping, note


def plot_command(
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR…",
            help="Of results or sweeps; or files that asyncdp forecast --json has printed.",
            show_default=False,
        ),
    ],
) -> None:
    """Draw the figures of results into DIR/figures.

    Each lies beside the table of its numbers; the paths are printed.
    """
    for place in places:
        with keeping(partial(_kept, place)):
            draw(place)


def _kept(place: Path) -> str:
    return f"nothing but figures is lost: {place} is as it was, with those that are drawn"


def draw(place: Path) -> None:
    """Draw a result, a sweep or a forecast; print the paths of its figures, and what lacks."""
    from asyncdp_sim.figures.named import draw_named  # imports matplotlib, which takes its time

    drawing = draw_named(place)
    typer.echo("\n".join(map(str, drawing.pictures)))
    for said in drawing.notes:
        note(f"{place}: not drawn: {said}")
