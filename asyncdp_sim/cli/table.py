"""``asyncdp data``, ``import`` and ``export``: tables, measured networks, and exported apps."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from asyncdp_sim.cli.catalogue import put_schema_beside
from asyncdp_sim.cli.terminal import (
    as_typed,
    load_scenario,
    next_steps,
    note_all,
    show,
    show_settings,
)
from asyncdp_sim.core.errors import DataError, Fault, blaming
from asyncdp_sim.core.files import is_file, require_new, write_new
from asyncdp_sim.core.progress import drawn

if TYPE_CHECKING:
    from asyncdp_sim.data.table_profile import TableLook
    from asyncdp_sim.data.tables.encodings import Encoding
    from asyncdp_sim.proposals import Timing


def data_command(
    file: Path,
    target: str | None = None,
    owner: str | None = None,
    public: str | None = None,
    public_seed: int | None = None,
    private: bool = False,
    charset: str | None = None,
    column: Sequence[str] = (),
    missing: Sequence[str] = (),
    drop: Sequence[str] = (),
    details: bool = False,
    write: Path | None = None,
    sheets: Path | None = None,
    epsilon: float | None = None,
    every: tuple[float, str] | None = None,
    exchange: tuple[float, str] | None = None,
    online: float | None = None,
) -> None:
    """Describe a table, and propose a scenario for it.

    Of private rows, only their number for each owner is printed.
    """
    from asyncdp_sim.data.table_profile import look
    from asyncdp_sim.proposals import Timing

    if epsilon is None and (every, exchange, online) != (None, None, None):
        wrong = "given --every, --exchange or --online; add --epsilon E, the budget"
        raise typer.BadParameter(wrong)
    if exchange is not None and every is None:
        raise typer.BadParameter("given --exchange; add --every DURATION, for a unit of time")
    if epsilon is not None and write is None and sheets is None:
        raise typer.BadParameter("given --epsilon; add --write FILE, the scenario to write")
    if sheets is not None and (write is not None or private or None in (epsilon, owner, target)):
        wrong = "given --sheets; add --epsilon, --target and --owner, without --write and --private"
        raise typer.BadParameter(wrong)
    counted = public is not None and public.isascii() and public.isdigit()
    rows = int(public) if public is not None and counted and len(public) <= 18 else None
    if public is not None and rows is None and not is_file(Path(public)):
        from asyncdp_sim.core.validation import show as in_words

        wrong = f"--public: given {in_words(public)}; allowed is a number of rows or a file of them"
        raise typer.BadParameter(wrong)
    if sheets is not None and (public is None or rows is not None):
        raise typer.BadParameter("given --sheets; add --public FILE, a file of the public rows")
    if public_seed is not None and rows is None:
        raise typer.BadParameter("given --public-seed; add --public M, the number of rows")
    with blaming(file):
        seen = look(
            str(file),
            target=target,
            owner=owner,
            public=0 if rows is None else rows,
            public_path=public if rows is None else None,
            public_seed=public_seed,
            private=private,
            charset=charset,
            declared=dict(_declared(declaration) for declaration in column),
            missing=missing,
            drop=drop,
            sizes=sheets is not None,
        )
    show(seen.lines(details=details))
    lacking = list(_lacking(seen))
    if len(lacking) > 0:
        if write is not None or sheets is not None:
            raise DataError(lacking, str(file))
        causes = ["" if fault.given == "none" else f"{fault.given}; " for fault in lacking]
        texts = [f"{why}{fault.allowed}" for why, fault in zip(causes, lacking, strict=True)]
        show([f"no scenario yet: {text}" for text in texts])
        if seen.owner is None:
            show(["no owners yet: add --owner COLUMN, the column with the owner of each row"])
        _suggest(seen, file)
        return
    with blaming(file):
        timing = Timing.read(every, exchange, online)
        if sheets is not None and epsilon is not None:
            _write_sheets(seen, sheets, epsilon, timing)
            return
        _offer(seen, write, epsilon, timing)


def _declared(given: str) -> tuple[str, "Encoding"]:
    """Read a column and its encoding, as TOML has them."""
    import tomllib

    from asyncdp_sim.core.errors import SpecError
    from asyncdp_sim.core.specification import parse
    from asyncdp_sim.data.tables.encodings import Encoding

    try:
        [(name, encoding)] = tomllib.loads(given).items()
    except (tomllib.TOMLDecodeError, ValueError):
        rule = """allowed is 'NAME = ENCODING', such as 'paid = { kind = "money" }'"""
        raise DataError([Fault("--column", repr(given), rule)]) from None
    try:
        return name, parse(Encoding, encoding)
    except SpecError as error:
        faults = [replace(fault, key=f"--column {name}") for fault in error.faults]
        raise DataError(faults) from None


def _suggest(seen: "TableLook", file: Path) -> None:
    """Print a command with the target and the owner that the names of columns suggest."""
    from asyncdp_sim.data.table_profile import OWNERS, TARGETS, likely

    names = [column.name for column in seen.columns if column.name != seen.owner]
    if len(names) > 0 and (seen.target is None or seen.owner is None):
        target = seen.target or likely(names, TARGETS) or names[-1]
        owner = seen.owner or likely([name for name in names if name != target], OWNERS)
        public = seen.public or max(min(seen.rows // 5, 400), 1)
        words = ["data", file, "--target", target, *(["--owner", owner] if owner else [])]
        next_steps(("for example", [*words, "--public", public]))


def _lacking(seen: "TableLook") -> Iterator[Fault]:
    """Yield what is not known yet of a table, and what to add."""
    from asyncdp_sim.data.column_profile import MOST_CLASSES

    if seen.target is None:
        yield Fault("--target", "none", "add --target COLUMN, the column to predict")
    if seen.public == 0:
        yield Fault("--public", "none", "add --public M: the last M rows are public")
    for column in seen.columns if seen.public > 0 else ():
        if column.name != seen.target:
            continue
        if column.dropped == "question":
            yield Fault("--target", f"{column.name!r}", column.suspicious[0])
        elif column.distinct < 2:
            problem = "public rows with the same value of the target"
            remedy = "add --public-seed 1, which draws the public rows at random"
            if seen.public_seed is not None:
                remedy = "add a larger --public, or another --public-seed"
            yield Fault("--public", problem, remedy)
        elif not column.encoding.single:
            problem = f"{column.name!r}, {column.type} of {column.distinct} values"
            remedy = f"allowed are numbers, or at most {MOST_CLASSES} texts"
            yield Fault("--target", problem, remedy)
    if seen.owner is not None and seen.with_records(seen.least) < 2:
        problem = "fewer than two owners of 5 private records or more"
        larger = len(seen.owners) > 1
        remedy = f"add --owner COLUMN, a column with {'fewer, larger' if larger else 'more'} owners"
        yield Fault("--owner", problem, remedy)


def _write_sheets(seen: "TableLook", folder: Path, epsilon: float, timing: "Timing") -> None:
    """Write a scenario for each owner's own machine, beside a copy of the public rows."""
    from asyncdp_sim.proposals import sheets, whole

    public = Path(str(seen.public_path))
    try:
        folder.mkdir()
        copied = shutil.copy(public, folder / public.name)
    except OSError as error:
        rule = f"allowed is a new folder in one that exists ({error.strerror})"
        raise DataError([Fault("--sheets", f"{str(folder)!r}", rule)]) from None
    seen = replace(seen, public_path=str(copied))
    try:
        with drawn() as progress:
            lines = whole(seen, epsilon, folder, progress, timing, of_sizes=True)
    except BaseException:  # such as Ctrl-C
        shutil.rmtree(folder)
        raise
    written = sheets(lines, seen)
    for stem, sheet in written.items():
        write_new("\n".join([*sheet, ""]), folder / f"{stem}.toml", "--sheets")
    show([f"written to {folder}: {len(written)} scenarios, one for each owner, and {public.name}"])
    show(["every owner sees the number of rows of all others; no private row was read"])


def _offer(seen: "TableLook", write: Path | None, epsilon: float | None, timing: "Timing") -> None:
    """Print a block, or write it or a scenario."""
    from asyncdp_sim.proposals import block, whole

    if write is None:
        show_settings(["", *block(seen)])
        owner = " --owner COLUMN" if seen.owner is None else ""
        show_settings(
            ["", f"# to write a scenario: {as_typed()}{owner} --write FILE.toml --epsilon 1"]
        )
        return
    require_new(write, "--write")
    folder = write.absolute().parent
    if epsilon is None:
        lines = block(seen, folder)
        text = ", [data] and [model] only; --epsilon E adds the rest"
    else:
        with drawn() as progress:
            lines = whole(seen, epsilon, folder, progress, timing)
        text = ", a whole scenario"
    write_new("\n".join([*lines, ""]), write, "--write")
    show([f"written to {write}{text}"])
    if epsilon is not None:
        show([timing.describe()])
        put_schema_beside(write)
        next_steps(
            ("what to expect (reads no private row)", ["forecast", write]),
            ("to run it", ["run", write]),
        )


def import_command(
    format: Literal["trace"],  # noqa: ARG001
    file: Path,
    out: Path,
    fit: bool = False,
    seed: int = 1,
) -> None:
    """Fit laws to a measured network, and write a scenario."""
    if not fit:
        raise typer.BadParameter("given a trace; add --fit, which fits laws to it")
    from asyncdp_sim.imports import import_trace

    with blaming(file):
        reported = import_trace(file, out, seed)
    show([*reported, f"written to {out}"])
    put_schema_beside(out)


def export_command(
    target: Literal["flower"],  # noqa: ARG001
    file: Path,
    out: Path,
    unit: float = 1.0,
    settings: Sequence[str] = (),
    allow_code: bool = False,
) -> None:
    """Export a scenario as an app that runs it over a real network."""
    from asyncdp_sim.exports import export_flower

    with blaming(file):
        scenario, notes = load_scenario(file, settings, allow_code)
        lines = export_flower(scenario, out, unit)
    show([*lines, f"written to {out}"])
    note_all(notes)
