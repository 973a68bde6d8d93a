"""``asyncdp list``, ``new``, ``describe``, ``docs`` and ``schema``: the catalogue, and meanings.

The list is read from the catalogue's files, and no scenario is validated. What one says of privacy
takes that, so that it stands in ``privacy.json`` beside them: ``python -m tests.documents`` writes
that file from ``asyncdp_sim.scenario.catalogue``, and a test holds it.
"""

import json
import re
import textwrap
import tomllib
from contextlib import suppress
from importlib.resources import files
from itertools import groupby
from os.path import lexists
from pathlib import Path
from shlex import quote
from typing import NamedTuple

import typer

from asyncdp_sim.cli.terminal import next_steps, note, show
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import write_new
from asyncdp_sim.core.words import did_you_mean, duration
from asyncdp_sim.sentences import NEAR, topic

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
    if topic is None:
        show(["topics and titles; to print a page: asyncdp docs TOPIC", *topics()])
    else:
        typer.echo(page_text(topic).rstrip("\n"))


def schema_command(out: Path | None = None) -> None:
    """Print the JSON schema of scenario files, for editors.

    Editors that know TOML complete fields by it, if it is in the directory of the scenario.
    """
    from asyncdp_sim.core.errors import ResultError

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


def put_schema_beside(scenario: Path) -> None:
    """Write the JSON schema beside a scenario that was written, where there is none, and say so."""
    text = write_beside(scenario)
    if text is not None:
        show([text])


_SIMILAR = 0.4
"""Least similarity of a suggested topic or heading, from 0 to 1."""


def files_by_topic() -> dict[str, Path]:
    """Return the files of all pages by topic, sorted."""
    package = Path(__file__).parents[1]
    shipped = package / "docs"
    folder = shipped if shipped.is_dir() else package.parent / "docs"  # of a checkout
    inside = (file.relative_to(folder) for file in folder.rglob("*.md"))
    return {name: folder / file for name, file in sorted((topic(f.as_posix()), f) for f in inside)}


def topics() -> list[str]:
    """Return a line for each page: its topic and its title."""
    titles = {
        name: file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        for name, file in files_by_topic().items()
    }
    width = max(map(len, titles))
    return [f"{name:<{width}}  {title}" for name, title in titles.items()]


def page_text(name: str) -> str:
    """Return a page, or with ``#HEADING`` behind its topic a section of it.

    Raises
    ------
    SpecError
        If there is no such page or heading, naming the nearest.
    """
    asked, _, anchor = name.partition("#")
    files_of_pages = files_by_topic()
    if asked not in files_of_pages:
        raise _unknown(name, list(files_of_pages))
    text = files_of_pages[asked].read_text(encoding="utf-8")
    return text if anchor == "" else _section(name, text, anchor)


def _section(name: str, text: str, anchor: str) -> str:
    """Return a section with those below it."""
    lines = text.splitlines(keepends=True)
    fenced, headings = False, list[tuple[int, int, str]]()
    for place, line in enumerate(lines):
        if line.startswith("```"):  # a block of code begins or ends, in which # begins a comment
            fenced = not fenced
        match = None if fenced else re.match(r"(#+) (.*)", line)
        if match is not None:
            headings.append((place, len(match[1]), _anchor(match[2])))
    for place, level, heading in headings:
        if heading == anchor:
            after = (other for other, depth, _ in headings if other > place and depth <= level)
            return "".join(lines[place : next(after, len(lines))])
    page = name.partition("#")[0]
    raise _unknown(name, [f"{page}#{heading}" for _, _, heading in headings])


def _anchor(heading: str) -> str:
    """Return a heading as links name it."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def _unknown(name: str, known: list[str]) -> SpecError:
    hint = did_you_mean(name, known, NEAR, _SIMILAR)
    return SpecError([Fault("docs", repr(name), f"{hint}asyncdp docs prints all topics")])


def schema_text() -> str:
    """Return the JSON schema of scenario files, as the text of its file.

    It says what a field may hold by itself; that fields fit together only loading can tell.
    """
    return files("asyncdp_sim.sentences").joinpath("asyncdp.schema.json").read_text("utf-8")


def write_beside(file: Path) -> str | None:
    """Write this version's schema into the scenario's folder, unless the folder has one.

    The first line of a new scenario names this file.

    Returns
    -------
    str or None
        What was written, or how to replace a schema of another version; None for one of this.
    """
    from asyncdp_sim.scenario.files import SCHEMA_FILE  # pages need no scenario

    place = file.parent / SCHEMA_FILE
    if not lexists(place):
        write_new(schema_text(), place, "-o")
        return f"also written: {SCHEMA_FILE}; editors use it to complete and check the file"
    with suppress(OSError):  # a folder, or a link to nothing
        if place.read_bytes() == schema_text().encode():
            return None
    return f"{place} is of another version; to replace it: asyncdp schema -o {quote(str(place))}"
