"""The command line: argument parsing, progress, tables on screen; nothing else."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asyncdp_sim.errors import InputError, ReplayError

if TYPE_CHECKING:
    from rich.console import Console

    from asyncdp_sim.run import Outcome
    from asyncdp_sim.scenario import Scenario
    from asyncdp_sim.sweep import Cell

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""Raised for wrong arguments; typer names only this subclass of it."""

app = typer.Typer(
    help="Simulate asynchronous networks that learn under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

File = Annotated[Path, typer.Argument(help="Scenario file (TOML).", show_default=False)]
Out = Annotated[
    Path | None, typer.Option("--out", help="Result directory; must not exist.", show_default=False)
]
Workers = Annotated[int, typer.Option("--workers", min=1, help="Processes; never change a result.")]
Settings = Annotated[
    list[str],
    typer.Option("--set", help="path=value, TOML; may be repeated.", metavar="PATH=VALUE"),
]


@app.command("run")
def run_command(
    file: File,
    out: Out = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Replaces run.seed.")] = None,
    replicates: Annotated[
        int | None, typer.Option("--replicates", help="Replaces run.replicates.")
    ] = None,
    workers: Workers = 1,
    settings: Settings = [],  # noqa: B006
    events: Annotated[bool, typer.Option("--events", help="Keep every event.")] = False,
) -> None:
    """Simulate one scenario and learn; write a result directory."""
    from asyncdp_sim.provenance import default_directory
    from asyncdp_sim.result import refuse_existing
    from asyncdp_sim.run import run, write

    extra = [f"run.seed={seed}"] * (seed is not None)
    extra += [f"run.replicates={replicates}"] * (replicates is not None)
    scenario = _load(file, [*settings, *extra])
    if len(scenario.sweep) > 0:
        _note(f"{file} has a sweep over {', '.join(scenario.sweep)}: running its base cell")
    scenario = scenario.base()
    directory = default_directory(scenario) if out is None else out
    refuse_existing(directory)
    with _stderr().status(f"running {scenario.id}"):
        outcome = run(scenario, workers=workers, events=events)
        write(outcome, directory)
    _show_outcome(outcome)
    typer.echo(f"result in {directory}")


@app.command("sweep")
def sweep_command(
    file: File,
    out: Out = None,
    workers: Workers = 1,
    settings: Settings = [],  # noqa: B006
) -> None:
    """Run the grid of a scenario's sweep, one directory per cell."""
    from rich.progress import Progress

    from asyncdp_sim.provenance import default_directory
    from asyncdp_sim.sweep import sweep

    scenario = _load(file, settings)
    directory = default_directory(scenario) if out is None else out
    with Progress(console=_stderr(), disable=not sys.stderr.isatty()) as progress:
        bar = progress.add_task(f"sweeping {scenario.id}", total=None)
        cells = sweep(
            scenario,
            directory,
            workers=workers,
            on_cell=lambda _, total: progress.update(bar, advance=1, total=total),
        )
    _show_sweep(directory, cells)
    typer.echo(f"result in {directory}")


@app.command("check")
def check_command(files: Annotated[list[Path], typer.Argument(help="Scenario files.")]) -> None:
    """Validate scenarios and say what they mean, and what theory predicts."""
    from asyncdp_sim.describe import describe

    faulty = []
    for file in files:
        try:
            lines = describe(_load(file, []))
        except InputError as error:
            faulty += error.lines()
        else:
            typer.echo("\n".join([f"{file}: valid", *(f"  {line}" for line in lines)]))
    if len(faulty) > 0:
        typer.echo("\n".join(faulty), err=True)
        raise typer.Exit(2)


@app.command("replay")
def replay_command(
    directory: Annotated[Path, typer.Argument(help="Result directory.", metavar="DIR")],
    workers: Workers = 1,
) -> None:
    """Run a result again from its manifest and compare fingerprints."""
    from asyncdp_sim.run import reproduce

    outcome = reproduce(directory, workers=workers)
    layers = ", ".join(outcome.fingerprints)
    typer.echo(f"{directory}: reproduced ({layers} agree)")


def main() -> None:
    """Run the command line; exit 0 done, 2 wrong input, 3 a check failed, 130 interrupted."""
    try:
        code = app(standalone_mode=False)
    except InputError as error:
        typer.echo("\n".join(error.lines()), err=True)
        code = 2
    except USAGE_ERROR as error:
        message = error.format_message()
        typer.echo(f"asyncdp: {message or 'say which command'}", err=True)
        code = 2
    except ReplayError as error:
        typer.echo(str(error), err=True)
        code = 3
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted", err=True)
        code = 130
    sys.exit(code)


def _load(file: Path, settings: list[str]) -> "Scenario":
    from asyncdp_sim.scenario import load

    scenario, notes = load(file, settings)
    for note in notes:
        _note(note)
    return scenario


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


def _show_outcome(outcome: "Outcome") -> None:
    """Print the figures that matter most, and every warning."""
    figures, psi = outcome.summary, outcome.summary["psi_final"]
    private = "yes" if figures["private"] else "NO"
    rows = {
        "replicates": f"{len(outcome.numbers)}",
        "updates": f"{figures['updates']} in all",
        "simulated time": f"{figures['simulated_time']:.6g} units per replicate",
        "throughput": f"{_figure(figures['throughput'])} updates per unit",
        "learner busy": _figure(figures["utilisation"]),
        "requests refused": _figure(figures["refusal_rate"]),
        "P(same owner twice)": f"{_figure(figures['p_repeat'])} "
        f"(uniform choice: {figures['p_repeat_uniform']:.4g})",
        "ψ at the end": f"median {psi['median']:.4g}, 25–75 % {psi['q25']:.4g} … {psi['q75']:.4g}, "
        f"mean {psi['mean']:.4g}",
        "budget spent": f"at most {_figure(figures['max_spent_ratio'])} of ε",
        "private as claimed": f"{private} (true ε {figures['epsilon_true']:.4g})",
        "not for release": "yes: private records were read"
        if figures["not_for_release"]
        else "no: synthetic records",
    }
    width = max(map(len, rows))
    typer.echo("\n".join(f"{name:<{width}}  {value}" for name, value in rows.items()))
    for warning in outcome.warnings:
        _note(warning)


def _show_sweep(directory: Path, cells: "list[Cell]") -> None:
    """Print one line per cell: the swept values and the final relative fitness."""
    from rich.table import Table

    from asyncdp_sim.result import read_manifest

    table = Table(box=None)
    for name in ["cell", *cells[0].values, "ψ median", "25 %", "75 %", "mean", "private", "true ε"]:
        table.add_column(name, justify="right")
    for cell in cells:
        figures = read_manifest(directory / cell.name)["summary"]
        psi = [_figure(figures["psi_final"][part]) for part in ("median", "q25", "q75", "mean")]
        values = [str(value) for value in cell.values.values()]
        private = "yes" if figures["private"] else "NO"
        true = _figure(figures["epsilon_true"])
        table.add_row(str(cell.number), *values, *psi, private, true)
    _stdout().print(table)
    for warning in read_manifest(directory)["warnings"]:
        _note(warning)


def _figure(value: float | str | None) -> str:
    return "–" if value is None else f"{float(value):.4g}"


def _stdout() -> "Console":
    from rich.console import Console

    return Console()
