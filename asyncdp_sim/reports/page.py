"""The page: all its parts put into one template, and written whole."""

import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from asyncdp_sim.columns import tables
from asyncdp_sim.core.errors import Fault, InputError, ResultError
from asyncdp_sim.describe import describe
from asyncdp_sim.figures.kit.picture import write
from asyncdp_sim.privacy.label import Label, label, reasons, timing_reasons
from asyncdp_sim.reports import basis
from asyncdp_sim.reports.drawn import figures, spacetime
from asyncdp_sim.reports.numbers import cells, key_numbers, owners
from asyncdp_sim.results import Result, Sweep, column_names, open_directory, read_manifest
from asyncdp_sim.results.summary import notes
from asyncdp_sim.scenario import data_files, load

_ELSEWHERE = ("predicted", "budget")
"""Beginnings of description lines that a table of the page contains."""


@dataclass(frozen=True)
class Account:
    """An account of what was simulated.

    Attributes
    ----------
    id, title, source : str
    story : tuple of str
        Paragraphs of the scenario's own description.
    lines : tuple
        Names and texts of the scenario's parts; without members where it does not load any more.
    note : str
        Why it does not; empty where it does.
    """

    id: str
    title: str
    source: str
    story: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    note: str


def account(opened: Result | Sweep, scenario: dict[str, Any]) -> Account:
    """Return what was simulated, from the directory's own scenario."""
    note, lines = "", tuple[tuple[str, str], ...]()
    try:
        lines = tuple(_lines(opened.directory))
    except InputError as error:
        fault = error.faults[0]
        note = f"The scenario does not load any more ({fault.key or fault.given}): in words it is "
        note += "its description alone."
    return Account(
        id=str(scenario["id"]),
        title=str(scenario.get("title") or scenario["id"]),
        source=str(scenario.get("source") or ""),
        story=tuple(_paragraphs(str(scenario.get("description", "")))),
        lines=lines,
        note=note,
    )


def _lines(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield the lines of ``asyncdp check``, except those that a table contains.

    Files go by their names: where they lie is nobody's concern but their owner's.
    """
    scenario, _ = load(directory / "scenario.toml")
    places = data_files(scenario)
    for line in describe(scenario):
        for place in places:
            line = line.replace(place, PurePath(place).name)
        name, colon, text = line.partition(": ")
        if name.startswith(_ELSEWHERE):
            continue
        yield (name, text) if colon and name.count(" ") < 2 else ("", line)


def _paragraphs(text: str) -> Iterator[str]:
    for part in text.strip().split("\n\n"):
        if part.strip():
            yield " ".join(part.split())


@dataclass(frozen=True)
class Banner:
    """The head of the page: its statement on privacy.

    Attributes
    ----------
    text : str
        The label of all results that the page shows, word by word.
    tone : str
        "broken" where any is not private as claimed, not shown to be, or its timing is not
        accounted; "withheld" where all are, and private records were read; "kept" else.
    reasons : tuple of str
        Why, in full.
    """

    text: str
    tone: str
    reasons: tuple[str, ...]


def banner(manifests: Sequence[Mapping[str, Any]]) -> Banner:
    """Return the privacy label of these results on a page, with at least the label's content."""
    page_label: Label = label(manifests)
    why = [reason for said in manifests for reason in (*reasons(said), *timing_reasons(said))]
    kept = page_label.private is True  # which it is not where timing is not accounted
    tone = "broken" if not kept else "withheld" if page_label.not_for_release else "kept"
    return Banner(page_label.text, tone, tuple(dict.fromkeys(why)))


def reproduction(name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return commands to be run beside a directory of this name, and what decides its bits."""
    place, swept = shlex.quote(name), "summary" not in manifest
    again = f"asyncdp {'sweep' if swept else 'run'} {place}/scenario.toml --out again"
    versions = ", ".join(
        f"{key} {version}" for key, version in (manifest["versions"] or {}).items()
    )
    facts = [
        ("seed", str(manifest["seed"])),
        ("digest of the scenario", str(manifest["digest"])),
        ("versions", versions),
        ("commit", str(manifest.get("git_commit") or "not known")),
        ("processor features", ", ".join(manifest.get("cpu_features", [])) or "not known"),
        ("BLAS kernel", str(manifest.get("blas_kernel") or "not known")),
    ]
    prints = manifest["fingerprints"]
    return {
        "commands": (f"asyncdp replay {place}", again),
        "facts": facts,
        "fingerprints": () if swept else prints.items(),
    }


def tables_of(directory: Path) -> list[dict[str, Any]]:
    """Return the tables of a directory with the columns that they have, in the files' order."""
    described = []
    for name, table in tables().items():
        if (directory / f"{name}.parquet").exists():
            present = column_names(directory, name)
            known_columns = {column.name: column for column in table.columns}
            columns = tuple(known_columns[key] for key in present if key in known_columns)
            file = f"{name}.parquet"
            described.append({"file": file, "meaning": table.meaning, "columns": columns})
    return described


LARGEST = 5_000_000
"""Bytes of a page."""
NAME = "report.html"
_TEMPLATES = "templates"


def write_report(directory: Path, out: Path | None = None) -> Path:
    """Write the page of a result or a sweep, and return where.

    Parameters
    ----------
    directory : Path
    out : Path, optional
        A file; absent, ``report.html`` in the directory.

    Raises
    ------
    ResultError
        If the directory is neither, a table is damaged, or nothing can be written.
    """
    path = directory / NAME if out is None else out
    write(path, page(directory).encode())
    return path


def page(directory: Path) -> str:
    """Return the page of a result or a sweep: one document that needs no other.

    Raises
    ------
    ResultError
        If the directory is neither, or a table is damaged; or if the page would be too large.
    """
    opened = open_directory(directory)
    text = _environment().get_template("page.html.j2").render(**_content(opened))
    if len(text.encode()) > LARGEST:
        size, limit = f"{len(text.encode()):,} bytes", f"allowed are {LARGEST:,}"
        raise ResultError([Fault("", f"a page of {size}", limit)], str(directory))
    return text


def _content(opened: Result | Sweep) -> dict[str, Any]:
    """Return what the template shows; everything in it is text to be escaped, but for drawings."""
    directory, manifest = opened.directory, read_manifest(opened.directory)
    results = [opened] if isinstance(opened, Result) else [cell.result for cell in opened.cells]
    manifests = [result.manifest for result in results]
    shown, which = _drawn_of(opened)
    drawn, undrawn = figures(opened, without="space-time")
    return {
        "account": account(opened, dict(manifest["scenario"])),
        "banner": banner(manifests),
        "numbers": key_numbers(opened) if isinstance(opened, Result) else [],
        "cells": cells(opened) if isinstance(opened, Sweep) else None,
        "owners": owners(shown),
        "which": which,
        "figures": drawn,
        "undrawn": undrawn,
        "spacetime": spacetime(shown, which),
        "foundation": basis.foundation(manifests),
        "meaning": basis.meaning,
        "notes": notes(directory),
        "reproduction": reproduction(directory.absolute().name, manifest),
        "tables": tables_of(directory) + (tables_of(shown.directory) if which else []),
        "style": Markup(_file("page.css")),
        "script": Markup(_file("page.js")),
        "script_digest": b64encode(sha256(_file("page.js").encode()).digest()).decode(),
    }


def _drawn_of(opened: Result | Sweep) -> tuple[Result, str]:
    """Return the result whose owners and messages are shown, and which cell of a sweep it is."""
    if isinstance(opened, Result):
        return opened, ""
    moved = [cell for cell in opened.cells if cell.result.summary["updates"] > 0]
    cell = moved[0] if len(moved) > 0 else opened.cells[0]
    return cell.result, f"Of cell {cell.number} ({cell.label(opened.paths)}). "


def _file(name: str) -> str:
    return files("asyncdp_sim.reports").joinpath(_TEMPLATES, name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Return the room of the templates: what is put into them is escaped, and must be there."""
    made = Environment(
        loader=PackageLoader("asyncdp_sim.reports", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["drawing"] = _drawing
    return made


def _drawing(inner: str) -> Markup:
    """Return what our own figures have drawn; owners' names are in it as shapes of letters."""
    return Markup(inner)
