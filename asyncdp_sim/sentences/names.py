"""Meanings of names: fields, kinds and columns looked up, pages of docs, and the JSON schema."""

import re
import textwrap
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from os.path import lexists
from pathlib import Path
from shlex import quote
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.files import write_new
from asyncdp_sim.core.gone import instead_of_name
from asyncdp_sim.core.words import did_you_mean
from asyncdp_sim.results.columns import Column, summary
from asyncdp_sim.results.columns import tables as tables_of_results
from asyncdp_sim.scenario.fields import Field, KindEntry, TableEntry, tables, told_elsewhere

WIDTH = 80
"""Of a screen."""
RESULTS = "docs/reference/results.md"


@cache
def labels() -> Mapping[str, Mapping[str, Any]]:
    """Return ``symbols``, from letters to paths, and ``pages``, from paths to pages."""
    return tomllib.loads(files(__package__).joinpath("labels.toml").read_text("utf-8"))


def page_of_path(table: str, kind: str | None = None) -> str:
    """Return the documentation page of a table, or of one of its kinds."""
    path = table if kind is None else f"{table}.{kind}"
    while path not in labels()["pages"]:  # ends at "", which is there
        path = path.rpartition(".")[0]
    return str(labels()["pages"][path])


@dataclass(frozen=True)
class ReferenceEntry:
    """The words of the reference on one thing.

    Attributes
    ----------
    path : str
        Its full name.
    of : str
        What it is: "field", "kind", "table", "column" or "figure"; with what it is of.
    meaning : str
    facts : tuple of pairs of str
        Unit, domain, default, example and what else there is, each with its name.
    names : tuple of str
        What it is looked up by.
    """

    path: str
    of: str
    meaning: str
    facts: tuple[tuple[str, str], ...]
    names: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return its description for a screen; examples are never wrapped."""
        lines = [line for part in self.meaning.split("\n") for line in _wrapped("  ", part)]
        for name, text in self.facts:
            text = f"asyncdp docs {topic(text)}" if name == "more" else text
            row = f"  {name:<8} {text}"
            lines += [row] if name == "example" else _wrapped(f"  {name:<8} ", text)
        return [f"{self.path} ({self.of})", *lines]


def look_up(name: str) -> list[ReferenceEntry]:
    """Return everything with this name, or if it is a full path, that entry alone.

    Parameters
    ----------
    name : str
        A path such as ``privacy.epsilon`` or ``channel.csma``, an end of one: ``csma``, or a
        letter of the papers: ``ψ``, or ``psi``; ``Ξ``, or ``Xi``.

    Raises
    ------
    SpecError
        If it stands for nothing, naming the nearest names.
    """
    asked = _home(name.strip().removesuffix(".parquet"))
    symbols = labels()["symbols"]
    letter = next((spelled for spelled in _greek(asked) if spelled in symbols), asked)
    paths = symbols.get(letter, ())
    matches = [entry for entry in entries() if asked in entry.names or entry.path in paths]
    exact = [entry for entry in matches if entry.path == asked]
    instead = instead_of_name(asked)
    if len(matches) == 0 and instead is not None:
        raise SpecError([Fault("describe", repr(name), f"this name is gone: {instead}")])
    if len(matches) == 0:
        names = sorted({word for entry in entries() for word in entry.names})
        remedy = f"{did_you_mean(asked, names, NEAR)}allowed is a field, kind or column"
        raise SpecError([Fault("describe", repr(name), remedy)])
    return exact if len(exact) > 0 else matches


def _greek(name: str) -> Iterator[str]:
    """Yield a name, and the Greek letters that have it: ψ of ``psi``; Ξ and ξ of ``Xi``."""
    yield name
    letter = name.lower().replace("lambda", "lamda")  # as Unicode spells it
    with suppress(KeyError):
        for size in ("CAPITAL", "SMALL") if name[:1].isupper() else ("SMALL",):
            yield unicodedata.lookup(f"GREEK {size} LETTER {letter}")


def _home(name: str) -> str:
    """Return the path at which a field is documented: ``compute.mean`` for every law's mean.

    So ``latency.query.mean`` has it; a path that is documented itself is returned as it is.
    """
    for path, home in told_elsewhere().items():
        if name.startswith(f"{path}."):
            return _home(home + name.removeprefix(path))
    return name


@cache
def entries() -> tuple[ReferenceEntry, ...]:
    """Return all entries: scenarios' first, then those of results."""
    return (*_of_scenarios(), *_of_results())


def _of_scenarios() -> Iterator[ReferenceEntry]:
    below = {section.path for section in tables()}
    for table in tables():
        if table.path != "":
            yield _table(table)
        yield from (_kind(table, kind) for kind in table.kinds)
        yield from (_field(field) for field in table.fields if field.path not in below)


def _table(table: TableEntry) -> ReferenceEntry:
    facts = [("kinds", ", ".join(kind.kind for kind in table.kinds))]
    facts += [("fields", ", ".join(dict.fromkeys(field.name for field in table.fields)))]
    fields = (field for parent in tables() for field in parent.fields)
    field = next((field for field in fields if field.path == table.path), None)
    if field is not None:  # the table is itself a field of another one
        if len(table.kinds) == 0:
            facts += [("unit", field.unit), ("domain", field.domain)]
        facts += [("default", field.default), ("example", field.example)]
    shown = [(name, text) for name, text in facts if text != ""]
    where = ("more", page_of_path(table.path))
    names = _ends(table.path)
    names += tuple(f"{name}.kind" for name in names) if len(table.kinds) > 0 else ()
    return ReferenceEntry(table.path, "table", table.meaning, (*shown, where), names)


def _kind(table: TableEntry, kind: KindEntry) -> ReferenceEntry:
    path = f"{table.path}.{kind.kind}"
    own = [field.name for field in table.fields if kind.kind in field.kinds]
    facts = [("fields", ", ".join(own))] if len(own) > 0 else []
    facts += [("example", kind.example), ("more", page_of_path(table.path, kind.kind))]
    meaning = "\n".join(part for part in (kind.meaning, kind.more) if part != "")
    return ReferenceEntry(path, f"kind of {table.path}", meaning, tuple(facts), _ends(path))


def _field(field: Field) -> ReferenceEntry:
    of = f"field of {', '.join(field.kinds)}" if len(field.kinds) > 0 else "field"
    facts = (
        ("unit", field.unit),
        ("domain", field.domain),
        ("default", field.default),
        ("example", field.example),
        # a field outside tables is one itself; the page of the first kind serves all
        ("more", page_of_path(field.table or field.name, *field.kinds[:1])),
    )
    names = list(_ends(field.path))
    names += [f"{field.table}.{kind}.{field.name}" for kind in field.kinds]
    names += [f"{kind}.{field.name}" for kind in field.kinds]
    return ReferenceEntry(field.path, of, field.meaning, facts, tuple(dict.fromkeys(names)))


def _of_results() -> Iterator[ReferenceEntry]:
    for name, table in tables_of_results().items():
        listed = ("columns", ", ".join(column.name for column in table.columns))
        names = tuple(dict.fromkeys((name, f"{name}.parquet", name.rpartition("/")[2])))
        facts = (listed, ("more", RESULTS))
        yield ReferenceEntry(name, "table of results", table.meaning, facts, names)
        yield from (_column(name, column, f"column of {name}.parquet") for column in table.columns)
    for column in summary().values():
        yield _column("summary", column, "figure of the summary in manifest.json")


def _column(table: str, column: Column, of: str) -> ReferenceEntry:
    path = f"{table}.{column.name}"
    facts = (
        ("unit", column.unit),
        ("domain", column.domain),
        *([] if table == "summary" else [("type", column.type)]),
        ("null", column.null),
        ("more", RESULTS),
    )
    names = [path, column.name, f"{table.rpartition('/')[2]}.{column.name}"]
    if "." in column.name:
        root = column.name.partition(".")[0]
        names += [root, f"{table}.{root}"]
    return ReferenceEntry(path, of, column.meaning, facts, tuple(dict.fromkeys(names)))


def _wrapped(head: str, text: str) -> list[str]:
    indent = " " * len(head)
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False
    )


def _ends(path: str) -> tuple[str, ...]:
    """Return a path and its ends: a.b.c, b.c and c."""
    parts = path.split(".")
    return tuple(".".join(parts[start:]) for start in range(len(parts)))


NEAR = 4
"""Most suggestions for an unknown name."""
_SIMILAR = 0.4
"""Least similarity of a suggested topic or heading, from 0 to 1."""


def topic(path: str) -> str:
    """Return what a page is called: ``privacy`` of ``docs/privacy/README.md``, with its anchor."""
    return re.sub(r"(/README)?\.md", "", path.removeprefix("docs/"))


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
    return files(__package__).joinpath("asyncdp.schema.json").read_text("utf-8")


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
