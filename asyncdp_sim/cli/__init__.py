"""The command line: argument parsing, progress, tables on screen; a file a command."""

import sys
from typing import Annotated, Any

import typer

import asyncdp_sim
from asyncdp_sim.cli.commands import LateGroup
from asyncdp_sim.cli.screen import NOTHING_KEPT, Interrupted
from asyncdp_sim.errors import InputError, ReplayError

INTERRUPTED = 130
"""What typer returns for Ctrl-C."""

USAGE_ERROR: Any = typer.BadParameter.__mro__[1]
"""Raised for wrong arguments; typer names only this subclass of it."""

app = typer.Typer(
    cls=LateGroup,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help, in half the time
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"asyncdp {asyncdp_sim.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which it is."),
    ] = False,
) -> None:
    """Simulate asynchronous networks that learn under differential privacy."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise USAGE_ERROR("say which command")


def main() -> None:
    """Run the command line; exit 0 done, 2 wrong input, 3 a check failed, 130 interrupted."""
    interrupted = Interrupted(NOTHING_KEPT)
    try:
        code = app(standalone_mode=False)
    except Interrupted as error:
        interrupted, code = error, INTERRUPTED
    except InputError as error:
        typer.echo("\n".join(error.lines()), err=True)
        code = 2
    except USAGE_ERROR as error:
        typer.echo(f"asyncdp: {error.format_message()}", err=True)
        code = 2
    except ReplayError as error:
        typer.echo(str(error), err=True)
        code = 3
    except MemoryError:
        typer.echo("asyncdp: given more than fits in memory; lower owners.records or run", err=True)
        code = 2
    if code == INTERRUPTED:
        typer.echo("\n".join(interrupted.lines()), err=True)
    sys.exit(code)
