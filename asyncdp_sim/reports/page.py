"""The page: all its parts put into one template, and written whole."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.figures.kit.picture import write
from asyncdp_sim.figures.kit.source import Result, Sweep, open_directory
from asyncdp_sim.reports import basis
from asyncdp_sim.reports.account import account
from asyncdp_sim.reports.cells import cells
from asyncdp_sim.reports.drawn import figures
from asyncdp_sim.reports.key_numbers import key_numbers
from asyncdp_sim.reports.owners import owners
from asyncdp_sim.reports.privacy import banner
from asyncdp_sim.reports.reproduce import reproduction
from asyncdp_sim.reports.spacetime import spacetime
from asyncdp_sim.reports.tables import tables_of
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.summary import notes

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
        given, allowed = f"{len(text.encode()):,} bytes", f"allowed are {LARGEST:,}"
        raise ResultError([Fault("", f"a page of {given}", allowed)], str(directory))
    return text


def _content(opened: Result | Sweep) -> dict[str, Any]:
    """Return what the template shows; everything in it is text to be escaped, but for drawings."""
    directory, manifest = opened.directory, read_manifest(opened.directory)
    results = [opened] if isinstance(opened, Result) else [cell.result for cell in opened.cells]
    manifests = [each.manifest for each in results]
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
