"""``asyncdp list``, ``new``, ``describe``, ``docs`` and ``schema``: the catalogue, and meanings.

The list is read from the catalogue's files, and no scenario is validated. What one says of privacy
takes that, so that it stands in ``privacy.json`` beside them: ``python -m tests.documents`` writes
that file from ``asyncdp_sim.scenario.catalogue``, and a test holds it.
"""

import json
import textwrap
import tomllib
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import typer

from asyncdp_sim.cli.terminal import next_steps, note, put_schema_beside, show
from asyncdp_sim.core.files import write_new
from asyncdp_sim.core.words import duration

FOLDER = Path(__file__).parents[1] / "catalogue"
_TITLES = 27
"""Column at which titles begin."""
MARKS = FOLDER / "privacy.json"
SECONDS = FOLDER / "seconds.json"
"""CPU seconds of each entry's sweep or run with its pictures, measured once."""
BEYOND = "Beyond the papers"
"""The group of scenarios that redraw no figure of a paper."""


class ListedEntry(NamedTuple):
    """A scenario of the catalogue in a line.

    Attributes
    ----------
    group : str
        The paper whose figure it redraws, or that it redraws none.
    name, title : str
    privacy : str
        What its settings say of privacy, in words; empty where all of it is private.
    command : str
        What runs all of it: ``sweep`` or ``run``.
    seconds : int or None
        CPU seconds that this takes, with pictures; None if not measured yet.
    """

    group: str
    name: str
    title: str
    privacy: str
    command: str
    seconds: int | None


def announce_sweep(name: str) -> None:
    """Print how long a sweep of the catalogue takes, if it takes ten seconds or more."""
    seconds = json.loads(SECONDS.read_text(encoding="utf-8")).get(name, 0)
    if seconds >= 10:
        note(f"the whole sweep takes {duration(seconds)} of processor time")


def listed() -> list[ListedEntry]:
    """Return all scenarios of the catalogue, by group and name."""
    marks, seconds = (json.loads(file.read_text(encoding="utf-8")) for file in (MARKS, SECONDS))
    matches = []
    for file in FOLDER.glob("*.toml"):
        text = tomllib.loads(file.read_text(encoding="utf-8"))
        paper = text.get("source", "synthetic").partition(",")[0]
        group = BEYOND if paper == "synthetic" else f"From the papers: {paper}"
        command, name = "sweep" if "sweep" in text else "run", file.stem
        took = seconds.get(name)
        matches.append(ListedEntry(group, name, text["title"], marks[name], command, took))
    return sorted(matches)


def list_command() -> None:
    """List the scenarios that come with the package, by name."""
    from asyncdp_sim.core.words import SCREEN

    def lines(found: ListedEntry) -> list[str]:
        time = "" if found.seconds is None else f", {found.seconds} s"
        private = "" if found.privacy == "" else f"; {found.privacy}"
        first = f"  {found.name:<{_TITLES - 2}} "
        text, indent = f"{found.title} ({found.command}{time}{private})", " " * len(first)
        return textwrap.wrap(text, SCREEN, initial_indent=first, subsequent_indent=indent)

    for group, members in groupby(listed(), key=lambda found: found.group):
        typer.echo("\n".join([group, *(line for member in members for line in lines(member)), ""]))
    typer.echo(
        "sweep, 14 s: asyncdp sweep NAME --plot takes 14 CPU seconds and draws it.\n"
        "Entries are private as claimed unless marked.\n"
        "A name goes wherever a file does: asyncdp check lending-sound\n"
        "A copy to change:                 asyncdp new lending-sound -o my.toml"
    )


def new_command(name: str | None = None, out: Path | None = None) -> None:
    """Write a commented scenario to start from.

    A JSON schema is written into the same directory; editors complete fields by it.
    """
    from asyncdp_sim.scenario.catalogue import commented, starter

    text = starter() if name is None else commented(name)
    file = Path(f"{name or 'my-scenario'}.toml") if out is None else out
    write_new(text, file, "-o")
    typer.echo(f"written to {file}; comments explain the settings")
    put_schema_beside(file)
    next_steps(
        ("what it means", ["check", file]),
        ("what to expect", ["forecast", file]),
        ("to run it", ["run", file]),
    )


def describe_command(name: str) -> None:
    """Print what a field, kind or column means.

    The text has the unit, the domain, the default and an example.
    """
    from asyncdp_sim.sentences.names import look_up

    typer.echo("\n\n".join("\n".join(entry.lines()) for entry in look_up(name)))


def docs_command(topic: str | None = None) -> None:
    """Print a page of the documentation, or the list of topics."""
    from asyncdp_sim.sentences.names import page_text, topics

    if topic is None:
        show(["topics and titles; to print a page: asyncdp docs TOPIC", *topics()])
    else:
        typer.echo(page_text(topic).rstrip("\n"))


def schema_command(out: Path | None = None) -> None:
    """Print the JSON schema of scenario files, for editors.

    Editors that know TOML complete fields by it, if it is in the directory of the scenario.
    """
    from asyncdp_sim.core.errors import Fault, ResultError
    from asyncdp_sim.sentences.names import schema_text

    text = schema_text()
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        remedy = "allowed is a file that can be written"
        raise ResultError([Fault("--out", str(error.strerror), remedy)], str(out)) from None
    typer.echo(f"written to {out}; editors use it for a file that begins with: #:schema {out.name}")
