"""``asyncdp replay``: a result made again from its manifest."""

from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import AllowCode, NoCache, Workers
from asyncdp_sim.cli.screen import NOTHING_KEPT, keeping, note
from asyncdp_sim.progress.line import drawn


def replay_command(
    directory: Annotated[Path, typer.Argument(help="Of a result or a sweep.", metavar="DIR")],
    workers: Workers = 1,
    settings: Annotated[
        list[str],
        typer.Option("--set", help="Where a file lies now: data.path=…", metavar="PATH=VALUE"),
    ] = [],  # noqa: B006
    allow_code: AllowCode = False,
    no_cache: NoCache = False,  # noqa: ARG001
) -> None:
    """Make a result or a sweep again, and compare all of it."""
    from asyncdp_sim.sweeps import reproduce_all

    notes = list[str]()
    with keeping(lambda: f"{NOTHING_KEPT}, and {directory} is as it was"), drawn() as progress:
        results = reproduce_all(
            directory,
            workers=workers,
            settings=settings,
            allow_code=allow_code,
            on_note=notes.append,
            progress=progress,
        )
    for said in notes:
        note(said)
    which = "" if results == 1 else f" in {results} cells"
    typer.echo(f"{directory}: reproduced (manifest, scenario and every table agree{which})")
