"""``asyncdp replay``: a result made again from its manifest, or held against another."""

from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import AllowCode, Workers
from asyncdp_sim.cli.screen import NOTHING_KEPT, keeping, note, note_all, show
from asyncdp_sim.core.progress import drawn
from asyncdp_sim.core.threads import TO_RUN, require_address_space

DIFFERENT = 3


def replay_command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            help="Compute this result or sweep again; with --diff, compare two as they are.",
            metavar="DIR…",
        ),
    ],
    workers: Workers = 1,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="Name the place of a data file that has moved, as data.path=FILE.",
            metavar="PATH=VALUE",
        ),
    ] = [],  # noqa: B006
    allow_code: AllowCode = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Print the first event or number in which two results differ."),
    ] = False,
) -> None:
    """Compute a result or a sweep again, and compare all of it."""
    wanted = 2 if diff else 1
    if len(directories) != wanted:
        options = "two directories with --diff" if diff else "one directory (two with --diff)"
        raise typer.BadParameter(f"given {len(directories)} directories; allowed is {options}")
    if diff:
        _tell_apart(*directories)
    else:
        _make_again(directories[0], workers, settings, allow_code)


def _tell_apart(first: Path, second: Path) -> None:
    """Say where two results differ first."""
    from asyncdp_sim.runs.differences import first_difference

    lines, notes = first_difference(first, second)
    note_all([f"made with another {item}" for item in notes])
    if len(lines) == 0:
        show([f"{first} and {second} are equal (manifest, scenario and every table agree)"])
        return
    show([f"{first} and {second} differ", *lines])
    raise typer.Exit(DIFFERENT)


def _make_again(directory: Path, workers: int, settings: list[str], allow_code: bool) -> None:
    require_address_space(TO_RUN)  # before SciPy is there
    from asyncdp_sim.runs.replay import OTHER_ALGEBRA
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
    rounded = [item for item in notes if item.startswith(OTHER_ALGEBRA)]
    for text in notes:
        if text not in rounded:
            note(text)
    agreed = "; ".join(rounded) or "manifest, scenario and every table agree"
    which = "" if results == 1 else f" in {results} cells"
    typer.echo(f"{directory}: reproduced ({agreed}{which})")
