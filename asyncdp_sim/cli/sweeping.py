"""``asyncdp sweep``: the grid of a scenario's sweep."""

from pathlib import Path
from typing import Annotated

import typer

from asyncdp_sim.cli.options import (
    AllowCode,
    Only,
    Place,
    Plot,
    Settings,
    Without,
    Workers,
    load_scenario,
    who,
)
from asyncdp_sim.cli.plotting import draw
from asyncdp_sim.cli.screen import NOTHING_KEPT, keeping, next_steps, of_a_result, show, show_result
from asyncdp_sim.core.errors import blaming
from asyncdp_sim.core.files import is_dir, is_file
from asyncdp_sim.core.progress import drawn


def sweep_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="NAME|FILE|DIR",
            help="Use this scenario, by name or file, or continue the sweep in this directory.",
        ),
    ],
    out: Place = None,
    workers: Workers = 1,
    address: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Run on the Dask scheduler at ADDRESS, whose workers must all see DIR (default: "
            "on this machine).",
        ),
    ] = None,
    only_status: Annotated[
        bool, typer.Option("--status", help="Print the progress, and run nothing.")
    ] = False,
    mixed_versions: Annotated[
        bool,
        typer.Option("--mixed-versions", help="Continue a sweep that other versions have begun."),
    ] = False,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
    plotting: Plot = False,
) -> None:
    """Run all cells of a sweep, or those that remain.

    Each cell has a directory of its own within that of the sweep.
    """
    from asyncdp_sim.results.provenance import default_directory
    from asyncdp_sim.sweeps import require_sweep, status, sweep

    if is_dir(file):
        if out is not None:
            raise typer.BadParameter(f"--out goes with a scenario file, and {file} is a directory")
        require_sweep(file)
        file, out = file / "scenario.toml", file
    settings = [*settings, *who(only, without)]
    scenario, text = load_scenario(file, settings, allow_code)
    with blaming(file):
        place = default_directory(scenario) if out is None else out
        if only_status:
            show(status(scenario, place).lines())
            return
    ran = False

    def kept() -> str:
        if not is_file(place / "scenario.toml"):
            return NOTHING_KEPT
        come = status(scenario, place)
        return f"{come.done} of {come.cells} cells are kept in {place}"

    with keeping(kept):
        with blaming(file), drawn("more --workers and fewer run.replicates take less") as progress:

            def told(doing: str, done: float, total: float | None) -> None:
                nonlocal ran
                ran = True
                if progress is not None:
                    progress(doing, done, total)

            result = sweep(
                scenario,
                place,
                workers=workers,
                address=address,
                mixed_versions=mixed_versions,
                progress=told,
            )
        if result.done > 0:
            show_result(place, text, done=not ran)
            if plotting:
                draw(place)
    if result.done > 0:
        further = [] if plotting else [("to see it", ["plot", place])]
        next_steps(*further, *of_a_result(place))
    if len(result.failed) > 0:
        wrong = [f"{file}: {line}" for line in result.errors()]
        if result.done == 0 and not is_dir(place):
            wrong.append(f"{file}: no cell could be run, nothing is kept in {place}")
        show(wrong, err=True)
        raise typer.Exit(4 if result.machine else 2)
