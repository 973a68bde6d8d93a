"""Meanings of names: fields, kinds and columns looked up."""

import textwrap
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.gone import instead_of_name
from asyncdp_sim.core.words import did_you_mean
from asyncdp_sim.results.columns import Column, summary
from asyncdp_sim.results.columns import tables as tables_of_results
from asyncdp_sim.scenario.fields import Field, KindEntry, TableEntry, tables, told_elsewhere
from asyncdp_sim.sentences import NEAR, topic

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
