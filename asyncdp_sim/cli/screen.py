"""Everything that several commands show: notes, and a result's figures."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console


def note(text: str) -> None:
    """Print a note, apart from what the command was asked for."""
    typer.echo(f"note: {text}", err=True)


def stderr() -> "Console":
    """Return the screen on which a command says how far it is."""
    from rich.console import Console

    return Console(stderr=True)


def show_result(directory: Path, *, done: bool) -> None:
    """Print the figures that matter most, where they are, and every warning.

    Parameters
    ----------
    directory : Path
    done : bool
        Whether it was all there before, so that the command had nothing to do.
    """
    from asyncdp_sim.report import notes, report

    before = ["finished before, nothing was left to do"] if done else []
    typer.echo("\n".join([*report(directory), *before, f"result in {directory}"]))
    for said in notes(directory):
        note(said)
