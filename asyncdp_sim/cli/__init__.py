"""The command line: argument parsing, progress, tables on screen; nothing else."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from asyncdp_sim.cli.describing import describe_command, schema_command
from asyncdp_sim.cli.importing import import_command
from asyncdp_sim.cli.options import (
    AllowCode,
    File,
    Only,
    Out,
    Place,
    Settings,
    Without,
    Workers,
    attack_count,
    not_negative,
    open_share,
    positive,
    price_list,
    who,
    whole_number,
)
from asyncdp_sim.cli.playing import play_release_command
from asyncdp_sim.cli.table import data_command
from asyncdp_sim.errors import InputError, ReplayError, blaming

if TYPE_CHECKING:
    from rich.console import Console

    from asyncdp_sim.scenario import Scenario

INTERRUPTED = 130
"""What typer returns for Ctrl-C."""

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""Raised for wrong arguments; typer names only this subclass of it."""

app = typer.Typer(
    help="Simulate asynchronous networks that learn under differential privacy.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.command("import")(import_command)
app.command("play-release")(play_release_command)


@app.command("run")
def run_command(
    file: File,
    out: Out = None,
    seed: Annotated[
        int | None, typer.Option("--seed", parser=whole_number, help="Replaces run.seed.")
    ] = None,
    replicates: Annotated[
        int | None,
        typer.Option("--replicates", parser=whole_number, help="Replaces run.replicates."),
    ] = None,
    workers: Workers = 1,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
    events: Annotated[bool, typer.Option("--events", help="Keep every event.")] = False,
) -> None:
    """Simulate one scenario and learn; write a result directory. A finished one is done."""
    from asyncdp_sim.provenance import default_directory
    from asyncdp_sim.runs import finished, run, write

    extra = [f"run.seed={seed}"] * (seed is not None)
    extra += [f"run.replicates={replicates}"] * (replicates is not None)
    scenario = _load(file, [*settings, *extra, *who(only, without)], allow_code)
    if len(scenario.sweep) > 0:
        _note(f"{file} has a sweep over {', '.join(scenario.sweep)}: running its base cell")
    scenario = scenario.base()
    with blaming(file), _stderr().status(f"running {scenario.id}"):
        directory = default_directory(scenario) if out is None else out
        done = finished(scenario, directory, events=events)
        if not done:
            write(run(scenario, workers=workers, events=events), directory)
    _show(directory, done=done)


@app.command("sweep")
def sweep_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="Scenario file (TOML), or the directory of a sweep, to go on with.",
            show_default=False,
        ),
    ],
    out: Place = None,
    workers: Workers = 1,
    address: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Of a Dask scheduler, whose workers all reach DIR.",
            show_default=False,
        ),
    ] = None,
    only_status: Annotated[
        bool, typer.Option("--status", help="Say how far it has come, and run nothing.")
    ] = False,
    mixed_versions: Annotated[
        bool,
        typer.Option("--mixed-versions", help="Go on with what other versions have made."),
    ] = False,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Run the grid of a scenario's sweep, one directory per cell; continue an unfinished one."""
    from rich.progress import Progress

    from asyncdp_sim.provenance import default_directory
    from asyncdp_sim.sweeps import require_sweep, status, sweep

    if file.is_dir():
        if out is not None:
            raise typer.BadParameter(f"--out goes with a scenario file, and {file} is a directory")
        require_sweep(file)
        file, out = file / "scenario.toml", file
    scenario = _load(file, [*settings, *who(only, without)], allow_code)
    with blaming(file):
        place = default_directory(scenario) if out is None else out
        if only_status:
            typer.echo("\n".join(status(scenario, place).lines()))
            return
    ran = False

    def told(_: object, total: int) -> None:
        nonlocal ran
        ran = True
        progress.update(bar, advance=1, total=total)

    progress = Progress(console=_stderr(), disable=not sys.stderr.isatty())
    with blaming(file), progress:
        bar = progress.add_task(f"sweeping {scenario.id}", total=None)
        found = sweep(
            scenario,
            place,
            workers=workers,
            address=address,
            mixed_versions=mixed_versions,
            on_cell=told,
        )
    if found.done > 0:
        _show(place, done=not ran)
    if len(found.failed) > 0:
        said = [f"{file}: {line}" for line in found.errors()]
        if found.done == 0 and not place.exists():
            said.append(f"{file}: no cell could be run, nothing is kept in {place}")
        typer.echo("\n".join(said), err=True)
        raise typer.Exit(2)


@app.command("check")
def check_command(
    files: Annotated[list[Path], typer.Argument(help="Scenario files.")],
    allow_code: AllowCode = False,
) -> None:
    """Validate scenarios and their tables; say what they mean, and what theory predicts."""
    from asyncdp_sim.describe import describe

    faulty = []
    for file in files:
        try:
            with blaming(file):
                scenario = _load(file, [], allow_code)
                lines = [*describe(scenario), *_of_tables(scenario)]
        except InputError as error:
            faulty += error.lines()
        else:
            typer.echo("\n".join([f"{file}: valid", *(f"  {line}" for line in lines)]))
    if len(faulty) > 0:
        typer.echo("\n".join(faulty), err=True)
        raise typer.Exit(2)


app.command("data")(data_command)
app.command("describe")(describe_command)
app.command("schema")(schema_command)


@app.command("forecast")
def forecast_command(
    file: File,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    every: Annotated[
        bool, typer.Option("--sweep", help="Every cell of the sweep, by exact moments.")
    ] = False,
    target: Annotated[
        float | None,
        typer.Option("--target", parser=positive, help="A ψ to be reached.", show_default=False),
    ] = None,
    own: Annotated[
        bool, typer.Option("--own", help="Take each owner's own second moments.")
    ] = False,
    common: Annotated[
        bool,
        typer.Option(
            "--common",
            help="Take the same second moments for all owners: the default with --private alone.",
        ),
    ] = False,
    private: Annotated[
        bool,
        typer.Option("--private", help="Read a real table's private records: not for release."),
    ] = False,
    inviting: Annotated[
        bool,
        typer.Option("--invite", help="Whom to invite, by runs, and what each adds."),
    ] = False,
    tuning: Annotated[bool, typer.Option("--tune", help="The best ρ and T, by runs.")] = False,
    market: Annotated[
        str | None,
        typer.Option(
            "--market",
            metavar="C1,C2,…",
            help="Prices per ε: the cheapest budgets that reach --target.",
            show_default=False,
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            help="A new file for the scenario that --invite, --tune or --market ends with.",
            show_default=False,
        ),
    ] = None,
    heterogeneity: Annotated[
        float | None,
        typer.Option(
            "--heterogeneity",
            parser=not_negative,
            help="τ², ψ of owners' own truths, with common moments; else as found.",
            show_default=False,
        ),
    ] = None,
    workers: Workers = 1,
    only: Only = [],  # noqa: B006
    without: Without = [],  # noqa: B006
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Say how good, how soon, and who profits, without training on private records."""
    from asyncdp_sim.forecasts import forecast, grid, words
    from asyncdp_sim.forecasts.population import Moments, population
    from asyncdp_sim.forecasts.worth import errors
    from asyncdp_sim.forecasts.worth import words as worth_words
    from asyncdp_sim.scenario import require_new

    advising = inviting or tuning or market is not None
    if every and (advising or target is not None):
        wrong = "--sweep goes with none of --invite, --tune, --market and --target"
        raise typer.BadParameter(wrong)
    if advising and as_json:
        raise typer.BadParameter("--json goes with none of --invite, --tune and --market")
    if own and common:
        raise typer.BadParameter("allowed is one of --own and --common")
    if (inviting or tuning) and (own or heterogeneity is not None):
        raise typer.BadParameter("--own and --heterogeneity go with neither --invite nor --tune")
    if market is not None and target is None:
        raise typer.BadParameter("--market needs --target, the ψ to be reached")
    if save is not None and inviting + tuning + (market is not None) != 1:
        raise typer.BadParameter("--save goes with one of --invite, --tune and --market")
    prices = None if market is None else price_list(market)
    settings = [*settings, *who(only, without)]
    scenario = _load(file, settings, allow_code)
    moments: Moments = "own" if own else "common" if common else None
    data: Any = {"moments": moments, "private": private}
    data["heterogeneity"] = heterogeneity
    if every:
        with blaming(file), _stderr().status(f"forecasting {scenario.id}"):
            points = grid(scenario, **data)
        typer.echo(words.grid_json(points) if as_json else "\n".join(words.grid_lines(points)))
        return
    if len(scenario.sweep) > 0:
        _note(f"{file} has a sweep over {', '.join(scenario.sweep)}: forecasting its base cell")
    if save is not None:
        require_new(save)
    if advising:
        named = shlex.join([str(file), *(part for path in settings for part in ("--set", path))])
        with blaming(file), _stderr().status(f"forecasting {scenario.id}") as shown:
            told = _advice(
                scenario.base(), data, inviting, tuning, prices, target, named, save,
                workers=workers,
                tell=lambda done: shown.update(f"forecasting {scenario.id}: {done}"),
            )  # fmt: skip
        typer.echo("\n".join(told))
        return
    base = scenario.base()
    with blaming(file), _stderr().status(f"forecasting {scenario.id}") as shown:
        known = population(base, moments, private=private)
        given: Any = {"target": target, "workers": workers, "dataset": known.dataset}
        found, worth, others = forecast(base, **data, **given), None, list[errors.Change]()
        if base.data.holds_out:
            worth = errors.errors(
                known, workers=workers,
                tell=lambda done: shown.update(f"forecasting {scenario.id}: {done}"),
            )  # fmt: skip
            if not worth.profits(worth.given).any():
                others = errors.changes(known, worth, workers=workers)
    if as_json:
        table = None if worth is None else errors.as_table(worth, others)
        typer.echo(words.as_json(found, table))
        return
    told = words.lines(found)
    if worth is not None:
        told += ["", *worth_words.lines(worth, others)]
    typer.echo("\n".join(told))


@app.command("audit")
def audit_command(
    file: File,
    answers: Annotated[
        int,
        typer.Option("--answers", parser=attack_count, help="Single answers drawn, on each side."),
    ] = 1_000_000,
    runs: Annotated[
        int, typer.Option("--runs", parser=attack_count, help="Whole runs, on each side.")
    ] = 1000,
    confidence: Annotated[
        float,
        typer.Option("--confidence", parser=open_share, help="Of all bounds together, in (0, 1)."),
    ] = 0.999,
    workers: Workers = 1,
    settings: Settings = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Attack a scenario's privacy: lower bounds on ε beside what it claims."""
    from rich.progress import Progress

    from asyncdp_sim.audits import audit

    scenario = _load(file, settings, allow_code)
    if len(scenario.sweep) > 0:
        _note(f"{file} has a sweep over {', '.join(scenario.sweep)}: attacking its base cell")
    progress = Progress(console=_stderr(), disable=not sys.stderr.isatty())
    with blaming(file), progress:
        bar = progress.add_task(f"attacking {scenario.id}", total=None)
        found = audit(
            scenario,
            answers=answers,
            runs=runs,
            confidence=confidence,
            workers=workers,
            on_part=lambda done, total: progress.update(bar, completed=done, total=total),
        )
    typer.echo("\n".join(found.lines()))
    if found.exceeded:
        raise typer.Exit(3)


@app.command("replay")
def replay_command(
    directory: Annotated[Path, typer.Argument(help="Of a result or a sweep.", metavar="DIR")],
    workers: Workers = 1,
    settings: Annotated[
        list[str],
        typer.Option("--set", help="Where a file lies now: data.path=…", metavar="PATH=VALUE"),
    ] = [],  # noqa: B006
    allow_code: AllowCode = False,
) -> None:
    """Make a result or a sweep again from its manifest, and compare all of it."""
    from asyncdp_sim.sweeps import reproduce_all

    results = reproduce_all(
        directory, workers=workers, settings=settings, allow_code=allow_code, on_note=_note
    )
    which = "" if results == 1 else f" in {results} cells"
    typer.echo(f"{directory}: reproduced (manifest, scenario and every table agree{which})")


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
    except MemoryError:
        typer.echo("asyncdp: given more than fits in memory; lower owners.records or run", err=True)
        code = 2
    if code == INTERRUPTED:
        typer.echo("interrupted", err=True)
    sys.exit(code)


def _advice(
    scenario: "Scenario",
    data: dict[str, Any],
    inviting: bool,
    tuning: bool,
    prices: tuple[float, ...] | None,
    target: float | None,
    named: str,
    save: Path | None,
    **how: Any,
) -> list[str]:
    """Return whom to invite, the best step and horizon, and the cheapest budgets, as asked for.

    The scenario that one of them ends with is saved, where that is asked for.
    """
    from asyncdp_sim.forecasts.advice.buying import buy
    from asyncdp_sim.forecasts.advice.invite import invite
    from asyncdp_sim.forecasts.advice.tune import tune
    from asyncdp_sim.scenario import save_new

    private = data["private"]
    found: list[Any] = []
    if inviting:
        found.append(invite(scenario, private=private, **how))
    if tuning:
        found.append(tune(scenario, private=private, **how))
    if prices is not None and target is not None:
        known: Any = data["moments"] or "own"  # budgets are bought owner by owner
        bought = buy(scenario, prices, target, moments=known, private=private, **how)
        found.append(bought)
    told = [line for each in found for line in each.lines(named)]
    if save is not None:
        save_new(found[0].scenario, save)
        told.append(f"saved     {save}; to run it: asyncdp run {shlex.quote(str(save))}")
    return told


def _of_tables(scenario: "Scenario") -> list[str]:
    """Open the tables of a scenario, if it has any, and return what they are to it."""
    if not scenario.reads_a_file:
        return []
    from asyncdp_sim.runs.table_check import table_lines

    return table_lines(scenario)


def _load(file: Path, settings: list[str], allow_code: bool) -> "Scenario":
    from asyncdp_sim.scenario import load

    scenario, notes = load(file, settings, allow_code=allow_code)
    for note in notes:
        _note(note)
    return scenario


def _note(text: str) -> None:
    typer.echo(f"note: {text}", err=True)


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


def _show(directory: Path, *, done: bool) -> None:
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
    for note in notes(directory):
        _note(note)
