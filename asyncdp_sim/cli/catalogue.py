"""``asyncdp list`` and ``asyncdp new``: the catalogue, and a scenario to start from."""

import shlex
import textwrap
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

_TITLES = 27
"""Column at which titles begin."""


def list_command() -> None:
    """List the scenarios that come with the package, by name."""
    from asyncdp_sim.scenario.catalogue import Entry, catalogue
    from asyncdp_sim.words import SCREEN

    def lines(found: Entry) -> list[str]:
        mark = f" ({found.privacy})" if found.privacy != "" else ""
        said = f"{found.as_it_is.title}{mark}"
        first = f"  {found.name:<{_TITLES - 2}} "
        return textwrap.wrap(said, SCREEN, initial_indent=first, subsequent_indent=" " * len(first))

    entries = sorted(catalogue(), key=lambda found: (found.group, found.name))
    for group, members in groupby(entries, key=lambda found: found.group):
        typer.echo("\n".join([group, *(line for found in members for line in lines(found)), ""]))
    typer.echo(
        "Private as claimed where nothing else is said.\n"
        "A name goes wherever a file does: asyncdp check lending-sound\n"
        "A copy to change:                 asyncdp new lending-sound -o my.toml"
    )


def new_command(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Of the catalogue (asyncdp list); none: a small one.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="A file that does not exist yet; else NAME.toml.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a commented scenario to start from.

    With a NAME it is a copy of that one, else a small one.
    """
    from asyncdp_sim.scenario.commented import commented, starter
    from asyncdp_sim.scenario.files import write_new

    said = starter() if name is None else commented(name)
    file = Path(f"{name or 'my-scenario'}.toml") if out is None else out
    write_new(said, file, "-o")
    quoted = shlex.quote(str(file))
    typer.echo(
        f"written to {file}, with comments on what settings mean\n"
        f"what it means:   asyncdp check {quoted}\n"
        f"what to expect:  asyncdp forecast {quoted}\n"
        f"run it:          asyncdp run {quoted}"
    )
