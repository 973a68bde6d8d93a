"""The page: all its parts put into one template, and written whole."""

import shlex
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from asyncdp_sim.columns import summary as dictionary
from asyncdp_sim.columns import tables
from asyncdp_sim.comparisons import compare
from asyncdp_sim.core.errors import Fault, InputError, ResultError
from asyncdp_sim.core.files import is_dir
from asyncdp_sim.describe import describe
from asyncdp_sim.evidence import named
from asyncdp_sim.figures.kit.picture import write
from asyncdp_sim.reports import answer
from asyncdp_sim.reports.drawn import figures, spacetime
from asyncdp_sim.reports.numbers import cells, key_numbers, owners
from asyncdp_sim.reports.tables import of_comparison, of_forecast
from asyncdp_sim.results import Result, Sweep, column_names, open_directory, read_manifest
from asyncdp_sim.results.summary import warnings_first
from asyncdp_sim.scenario import data_files, load
from asyncdp_sim.theory.predict.plain import plain

_ELSEWHERE = ("predicted", "budget")
"""Beginnings of description lines that a table of the page contains."""


def account(opened: Result | Sweep, scenario: dict[str, Any]) -> dict[str, Any]:
    """Return what was simulated, from the directory's own scenario.

    ``story`` has the paragraphs of its description, and ``lines`` the names and texts of its parts:
    none where it does not load any more, which the ``note`` then says.
    """
    note, lines = "", list[tuple[str, str]]()
    story = str(scenario.get("description", ""))
    try:
        lines = list(_lines(opened.directory))
    except InputError as error:
        fault = error.faults[0]
        note = f"The scenario does not load any more ({fault.key or fault.given}): in words it is "
        note += "its description alone."
    return {
        "id": scenario["id"],
        "title": scenario.get("title") or scenario["id"],
        "source": scenario.get("source") or "",
        "story": [" ".join(part.split()) for part in story.split("\n\n") if part.strip()],
        "lines": lines,
        "note": note,
    }


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


Rows = list[dict[str, Any]]


def foundation(manifests: Sequence[Mapping[str, Any]]) -> dict[str, Rows]:
    """Return what the numbers of one run, or of all cells of a sweep, rest on.

    ``kinds`` has a row for each kind and ``together`` one for each figure; neither has any where
    manifests are too old to say. A row has the ``name`` (key paths, or the figure), the ``detail``
    (the kind, or why the figure rests on that), the ``basis``, ``oracles``, which are None where
    another version's name alone is known, and ``where``: in which cells, empty where in all.
    """
    bases = [manifest["rests_on"] for manifest in manifests if "rests_on" in manifest]
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in _rows([basis["kinds"] for basis in bases], "at", "kind"):
        alike = (row["detail"], row["basis"], row["where"], *(o["name"] for o in row["oracles"]))
        paths = f"{kinds[alike]['name']}, {row['name']}" if alike in kinds else row["name"]
        kinds[alike] = row | {"name": paths}
    together = _rows([basis["together"] for basis in bases], "figure", "why")
    return {"kinds": list(kinds.values()), "together": together}


def _rows(cells: Sequence[Sequence[Mapping[str, Any]]], name: str, detail: str) -> Rows:
    """Return a row for each that differs, by first cell, alike ones together."""
    counts: Counter[tuple[str, str, str]] = Counter()
    oracles: dict[tuple[str, str, str], Sequence[str]] = {}
    for row in (row for cell in cells for row in cell):
        key = (str(row[name]), str(row[detail]), str(row["basis"]))
        counts[key] += 1
        oracles[key] = row.get("oracles", ())
    first = list(dict.fromkeys(key[0] for key in counts))
    return [
        {
            "name": key[0],
            "detail": plain(key[1]),
            "basis": key[2],
            "oracles": [{"name": oracle, "oracle": named(oracle)} for oracle in oracles[key]],
            "where": "" if counts[key] == len(cells) else f"in {counts[key]} of {len(cells)} cells",
        }
        for key in sorted(counts, key=lambda key: first.index(key[0]))
    ]


def meaning(figure: str) -> str:
    """Return what a figure of the summary is."""
    columns = dictionary()
    column = columns.get(figure) or columns.get(f"{figure}.mean")
    return "" if column is None else column.meaning


LARGEST = 5_000_000
"""Bytes of a page."""
NAME = "report.html"
_TEMPLATES = "templates"


def write_report(places: Sequence[Path], out: Path | None = None) -> Path:
    """Write the page of a result, a sweep, a forecast or a comparison, and return where.

    Parameters
    ----------
    places : sequence of Path
        As of :func:`page`.
    out : Path, optional
        A file; absent, ``report.html`` in the first directory, or beside the forecast.

    Raises
    ------
    ResultError
        As :func:`page`, or if nothing can be written.
    """
    place = places[0] / NAME if is_dir(places[0]) else places[0].with_suffix(".html")
    path = place if out is None else out
    write(path, page(places).encode())
    return path


def page(places: Sequence[Path]) -> str:
    """Return a page: one document that needs no other.

    Parameters
    ----------
    places : sequence of Path
        The directory of a result or a sweep, or what ``asyncdp forecast --json`` printed (a file
        that ends in ``.json``); of several results, the page compares them with the first.

    Raises
    ------
    ResultError
        If a place is none of them, or a table is damaged; or if the page would be too large.
    """
    name, content = _content(places)
    script = _file("page.js")
    text = _template(name).render(
        **content,
        style=Markup(_file("page.css")),
        script=Markup(script),
        script_digest=b64encode(sha256(script.encode()).digest()).decode(),
    )
    if len(text.encode()) > LARGEST:
        size, limit = f"{len(text.encode()):,} bytes", f"allowed are {LARGEST:,}"
        raise ResultError([Fault("", f"a page of {size}", limit)], str(places[0]))
    return text


def _content(places: Sequence[Path]) -> tuple[str, dict[str, Any]]:
    """Return the template of a page and what it shows; text is escaped, but for drawings."""
    if len(places) > 1:
        return "tables.html.j2", of_comparison(compare(places))
    if places[0].suffix == ".json" and not is_dir(places[0]):
        return "tables.html.j2", of_forecast(places[0])
    return "result.html.j2", _of_directory(open_directory(places[0]))


def _of_directory(opened: Result | Sweep) -> dict[str, Any]:
    """Return what the page of a result or a sweep shows."""
    directory, manifest = opened.directory, read_manifest(opened.directory)
    if isinstance(opened, Result):
        results = [opened]
        own: dict[str, Any] = {
            "answer": answer.of_result(opened),
            "numbers": key_numbers(opened),
            "cells": None,
            "owners": owners(opened),
            "spacetime": spacetime(opened),
        }
    else:  # no cell stands for all
        results = [cell.result for cell in opened.cells]
        own = {"answer": answer.of_sweep(opened), "numbers": [], "cells": cells(opened)}
        own |= {"owners": None, "spacetime": None}
    manifests = [result.manifest for result in results]
    drawn, undrawn = figures(opened, without="space-time")
    described = account(opened, dict(manifest["scenario"]))
    return {
        "title": described["title"],
        "account": described,
        "banner": answer.banner(manifests),
        "figures": drawn,
        "undrawn": undrawn,
        "foundation": foundation(manifests),
        "meaning": meaning,
        "warned": dict(zip(("Warnings", "Notes"), warnings_first(directory), strict=True)),
        "reproduction": reproduction(directory.absolute().name, manifest),
        "tables": tables_of(directory),
        **own,
    }


def _file(name: str) -> str:
    return files("asyncdp_sim.reports").joinpath(_TEMPLATES, name).read_text("utf-8")


@cache
def _template(name: str) -> Template:
    """Return a template: what is put into it is escaped, and must be there."""
    made = Environment(
        loader=PackageLoader("asyncdp_sim.reports", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["drawing"] = Markup  # our own figures; owners' names in them are shapes
    return made.get_template(name)
