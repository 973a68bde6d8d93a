"""``asyncdp data``: a look at a table, and what to make of it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from asyncdp_sim.cli.options import charset_name, positive
from asyncdp_sim.cli.progress import drawn
from asyncdp_sim.errors import DataError, Fault, blaming

if TYPE_CHECKING:
    from asyncdp_sim.data.look.table import TableLook


def data_command(
    file: Annotated[Path, typer.Argument(help="CSV, gzipped CSV or Parquet.", show_default=False)],
    target: Annotated[
        str | None, typer.Option("--target", metavar="C", help="The column to predict.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="C", help="The column that says whose rows.")
    ] = None,
    public: Annotated[
        str | None,
        typer.Option("--public", metavar="FILE|M", help="Public rows: a file, or the last M."),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Look at private rows too: not for release.")
    ] = False,
    charset: Annotated[
        str | None,
        typer.Option("--charset", parser=charset_name, help="Of a CSV, where rows do not show it."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="TOML", help="Write what is proposed.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", parser=positive, help="Write a whole scenario, with this ε."),
    ] = None,
) -> None:
    """Look at a table, and propose a scenario's [data] for it.

    Of private rows only their number is told, and how many each owner has.
    """
    from asyncdp_sim.data.look.table import look

    if epsilon is not None and write is None:
        raise typer.BadParameter("--epsilon goes with --write, the scenario to be written")
    rows = int(public) if public is not None and public.isascii() and public.isdigit() else 0
    apart = public if public is not None and not (public.isascii() and public.isdigit()) else None
    with blaming(file):
        seen = look(
            str(file),
            target=target,
            owner=owner,
            public=rows,
            public_path=apart,
            private=private,
            charset=charset,
        )
    typer.echo("\n".join(seen.lines()))
    lacking = [said for said, there in _NEEDED if not there(seen)]
    if len(lacking) > 0:
        if write is not None:
            raise DataError([Fault("--write", str(write), f"it needs {' and '.join(lacking)}")])
        typer.echo(f"proposed: nothing, for it needs {' and '.join(lacking)}")
        return
    with blaming(file):
        _propose(seen, write, epsilon)


_NEEDED: tuple[tuple[str, Callable[["TableLook"], bool]], ...] = (
    ("--target, the column to predict", lambda seen: seen.target is not None),
    ("--public, which rows are public", lambda seen: seen.public > 0),
)


def _propose(seen: "TableLook", write: Path | None, epsilon: float | None) -> None:
    """Print a block, or write it or a scenario."""
    from asyncdp_sim.proposals import block, whole

    if write is None:
        typer.echo("\n".join(["", *block(seen)]))
        return
    if write.exists():
        allowed = "allowed is a file that is not there yet"
        raise DataError([Fault("--write", str(write), allowed)])
    folder = write.absolute().parent
    if epsilon is None:
        lines, what = block(seen, folder), "a [data] block; --epsilon E writes a whole scenario"
    else:
        with drawn() as progress:
            lines = whole(seen, epsilon, folder, progress)
        what = f"a scenario: asyncdp run {write}"
    write.write_text("\n".join([*lines, ""]), encoding="utf-8")
    typer.echo(f"written: {write}, {what}")
