"""The page: its parts and its pictures as inline SVG, put into one template, written whole."""

import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from asyncdp_sim.comparisons.comparison import Comparison, compare
from asyncdp_sim.core.errors import Fault, InputError, ResultError
from asyncdp_sim.core.files import is_dir
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import agreed, number, sentence
from asyncdp_sim.figures import convergence, gains
from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.picture import Picture, inline, write
from asyncdp_sim.figures.spacetime import diagram, events_of
from asyncdp_sim.network import simulate
from asyncdp_sim.reports import answer
from asyncdp_sim.reports.answer import PageTable, cells, key_numbers, owners, shown
from asyncdp_sim.results import (
    Result,
    Sweep,
    column_names,
    not_a_result,
    open_directory,
    read_manifest,
)
from asyncdp_sim.results.columns import tables
from asyncdp_sim.scenario import data_files, load
from asyncdp_sim.sentences import WORDS
from asyncdp_sim.sentences.forecast import (
    BESIDE,
    BETTER,
    MOST,
    NOTE_OF_OTHERS,
    beside,
    better_protocol,
    protocols,
)
from asyncdp_sim.sentences.result import AVERAGE, warnings_first
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.prediction import Unknown

LARGEST = 5_000_000
"""Bytes of a page; a larger one is refused."""
LARGEST_COLUMNS = 3_000_000
"""Characters of all figures in columns, shared evenly. In a figure that needs more than its share,
here and below, what is plotted becomes pixels."""
LARGEST_VIEW = LARGEST_COLUMNS // 10
"""Characters of the figure for one ε of a forecast; each ε has one, beside those in columns."""
LARGEST_DIAGRAM = 1_200_000
"""Characters of the space-time diagram, beside all other figures."""
WIDTH = 3.4
"""Inches at which figures are drawn: letters are legible on a phone."""
MESSAGES = 240
"""Messages in the space-time diagram, at most."""
MESSAGE_INCHES = 0.16
"""Inches of the diagram's width for each message."""
UPDATES = 240
"""Updates that are simulated, at most, for the diagram of a run that kept no events. Each has one
message or more."""
LARGEST_NETWORK = 2_000
"""Owners beyond which a run that kept no events is not simulated again."""
WHOLE_RUN = 1e9
"""Time units that the diagram may show: so many that only :data:`MESSAGES` limits it."""
_TEMPLATES = "templates"

DrawnFigure = dict[str, Any]
"""The text and the view box of an ``svg`` element, its size in points, and what it shows."""


def write_report(places: Sequence[Path], out: Path | None = None) -> Path:
    """Write the page of a result, a sweep, a forecast or a comparison, and return where.

    Parameters
    ----------
    places : sequence of Path
        As of :func:`page`.
    out : Path, optional
        A file; absent, ``report.html`` in the directory, ``comparison.html`` in the first of
        several, or beside the forecast, by its name.

    Raises
    ------
    ResultError
        As :func:`page`, or if nothing can be written.
    """
    if out is None:
        name = "report.html" if len(places) == 1 else "comparison.html"
        out = places[0] / name if is_dir(places[0]) else places[0].with_suffix(".html")
    write(out, page(places).encode())
    return out


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
        return "forecast.html.j2", of_forecast(places[0])
    return "result.html.j2", _of_directory(open_directory(places[0]))


def _file(name: str) -> str:
    return files("asyncdp_sim.reports").joinpath(_TEMPLATES, name).read_text("utf-8")


@cache
def _template(name: str) -> Template:
    """Return a template: what is put into it is escaped, and must be there."""
    made = Environment(
        loader=PackageLoader("asyncdp_sim.reports", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda text: agreed(text) if type(text) is str else text,  # not of drawings
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Safe: text in SVG is drawn as paths, so that owners' names cannot inject markup.
    made.filters["drawing"] = Markup
    return made.get_template(name)


def _of_directory(opened: Result | Sweep) -> dict[str, Any]:
    """Return what the page of a result or a sweep shows."""
    directory, manifest = opened.directory, read_manifest(opened.directory)
    if isinstance(opened, Result):
        results = [opened]
        own: dict[str, Any] = {
            "answer": answer.of_result(opened),
            "numbers": key_numbers(opened),
            "cells": (),
            "owners": owners(opened),
            "spacetime": spacetime(opened),
        }
    else:  # no cell stands for all
        results = [cell.result for cell in opened.cells]
        own = {"answer": answer.of_sweep(opened), "numbers": [], "cells": [cells(opened)]}
        own |= {"owners": (), "spacetime": None}
    manifests = [result.manifest for result in results]
    entries, undrawn = pictures(opened)
    shown_pictures = [picture for picture, _ in entries if picture.name != "space-time"]
    if isinstance(opened, Result) and opened.has("gains"):  # what owners gain comes first
        shown_pictures.sort(key=lambda picture: picture.name != "profit")
    described = account(opened, dict(manifest["scenario"]))
    return {
        "title": described["title"],
        "account": described,
        "banner": answer.banner(manifests),
        "figures": in_columns(shown_pictures),
        "undrawn": undrawn,
        "warned": dict(zip(("Warnings", "Notes"), warnings_first(directory), strict=True)),
        "reproduction": reproduction(directory.resolve().name, manifest),
        "tables": tables_of(directory),
        **own,
    }


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
    versions = ", ".join(f"{key} {text}" for key, text in (manifest["versions"] or {}).items())
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
        file = f"{name}.parquet"
        if (directory / file).exists():
            known = {column.name: column for column in table.columns}
            columns = [known[key] for key in column_names(directory, name) if key in known]
            described.append({"file": file, "meaning": table.meaning, "columns": columns})
    return described


def spacetime(result: Result) -> dict[str, Any]:
    """Return the diagram of a result's first replicate with where its events are from, or why not.

    The ``figure`` is None where there is none; the ``note`` says the rest.
    """
    if result.summary["simulated_time"] == 0:
        return {"figure": None, "note": "nothing takes time"}
    kept = result.has_events
    happened = events_of(result, result.replicates[0]) if kept else _first_events(result)
    if isinstance(happened, Unknown) or len(happened) == 0:
        note = happened.reason if isinstance(happened, Unknown) else "nothing happened"
        return {"figure": None, "note": note}
    origin = (
        "as the run kept them" if kept else "simulated again from the seed, as the run kept none"
    )
    picture = diagram(
        result, happened=happened, window=WHOLE_RUN, most=MESSAGES, inches=MESSAGE_INCHES
    )
    # page.js keeps these labels in view while the diagram is scrolled.
    picture.figure.axes[0].yaxis.set_gid("rows")
    note = f"At most {MESSAGES} messages from the start of the run, {origin}."
    return {"figure": drawn(picture, 1, LARGEST_DIAGRAM, "spacetime"), "note": note}


def _first_events(result: Result) -> npt.NDArray[np.void] | Unknown:
    """Return the first events of a result's first replicate, simulated again, or why not."""
    network = result.network
    if isinstance(network, Unknown):
        return network
    if network.stops:
        return Unknown("no events were kept, and when things happen depends on the model")
    if network.n_owners > LARGEST_NETWORK:
        return Unknown(f"no events were kept of {network.n_owners:,} owners")
    window = network.model_copy(update={"updates": min(network.updates, UPDATES)})
    scope = Streams(int(result.manifest["seed"])).within("replicate", result.replicates[0])
    events = simulate(window, scope, events=True).events
    return Unknown("nothing happened") if events is None else events


def of_forecast(file: Path) -> dict[str, Any]:
    """Return what the page of a forecast shows.

    Raises
    ------
    ResultError
        If the file is none.
    """
    found = gains.read(file)
    if not isinstance(found.get("decision"), dict) or "sharing" not in found["decision"]:
        older = "a forecast of an older version; run asyncdp forecast --json again"
        raise not_a_result(file, older)
    over_time, *others = gains.pictures(found)
    first = gains.of_several_owners(found)
    shown_first = (gains.OWNERS, "" if first is None else first.name)
    others = [picture for picture in others if picture.name not in shown_first]
    views = [_view(found | each) for each in found.get("budgets", [])] or [_view(found)]
    text, release = over_time.label.text, over_time.label.release
    return {
        "title": f"Forecast: {file.stem}",
        "views": views,
        "alike": len({owner["epsilon"] for owner in found["owners"]}) == 1,
        "banner": answer.Banner(text, "kept" if release else "withheld", release, ()),
        "figures": in_columns([*others, over_time], sum(len(view["figures"]) for view in views)),
        "tables": tuple(_forecast_tables(found)),
    }


def _view(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a forecast's page shows at one ε: its decision, its picture and its owners."""
    factor = found.get("factor", 1.0)
    listed, prefix = found["owners"], f"epsilon-{factor:g}".replace(".", "-")
    picture = gains.of_several_owners(found)
    narrow = [] if picture is None else [replace(picture, width=WIDTH)]
    return {
        "epsilon": number(found["epsilon"]) if "epsilon" in found else "",
        "given": factor == 1.0,
        "answer": answer.of_forecast(found["decision"]),
        "figures": [drawn(each, 1, LARGEST_VIEW, prefix) for each in narrow],
        "tables": tuple(_owner_tables(listed, found.get("unit"))),
    }


def _owner_tables(listed: Sequence[Mapping[str, Any]], unit: str | None) -> Iterator[PageTable]:
    head, *rows = beside(listed, unit)
    if len(rows) > 0:
        yield PageTable("Owners", [head, *rows[:MOST]], BESIDE)
    if len(rows) > MOST:
        yield PageTable(f"{len(rows) - MOST} more owners", [head, *rows[MOST:]], folded=True)


def _forecast_tables(found: Mapping[str, Any]) -> Iterator[PageTable]:
    others = found.get("alternatives", [])
    if len(others) > 0:
        alone = found["reads"] == "owner"
        better = better_protocol(others, "the owner" if alone else AVERAGE, found.get("unit"))
        refused = [f"{each['protocol']}: {each['refused']}" for each in others if each["refused"]]
        note = ". ".join([f"{BETTER}: {better}", *refused, " ".join(NOTE_OF_OTHERS)])
        yield PageTable("Other protocols", protocols(found, others), sentence(note))
    names = WORDS["quantities"].items()
    values = [[name, shown(found[key])] for key, name in names if key in found]
    texts = [["method", str(found["method"])], ["data", str(found["data"])]]
    yield PageTable("All values", [["quantity", "value"], *values, *texts], folded=True)


def of_comparison(compared: Comparison) -> dict[str, Any]:
    """Return what the page of a comparison shows."""
    return {
        "title": "Comparison: " + ", ".join(compared.results),
        "answer": answer.of_comparison(compared),
        "banner": answer.banner([result.manifest for result in compared.results.values()]),
        "figures": in_columns(convergence.comparison(compared.results)),
        "tables": tuple(_comparison_tables(compared)),
    }


def _comparison_tables(compared: Comparison) -> Iterator[PageTable]:
    for pair in compared.others:
        name = f"{pair.name} against {compared.name}"
        head, *rows = compared.figures(pair)
        yield PageTable(name, [["quantity", *head[1:]], *rows], sentence(pair.pairing))
        settings = [["field", compared.name, pair.name], *(s.describe() for s in pair.settings)]
        if len(pair.settings) > 0:
            yield PageTable(f"Settings that differ: {name}", settings)
        yield PageTable(f"Publishing both: {name}", [], sentence(pair.together))
    labels = [[name, text] for name, text in compared.labels.items()]
    yield PageTable("Privacy of each result", [["result", "label"], *labels])


def in_columns(pictures: Sequence[Picture], before: int = 0) -> list[DrawnFigure]:
    """Return pictures at the width of a phone, which is that of a column of the page.

    Parameters
    ----------
    before : int
        Pictures that alternate as Figure 1, one for each ε of a forecast: they take a share of the
        characters, too, and these begin with Figure 2.
    """
    share = LARGEST_COLUMNS // max(1, len(pictures) + before)
    narrow = [replace(picture, width=WIDTH) for picture in pictures]
    first = 2 if before > 0 else 1
    return [drawn(picture, place, share) for place, picture in enumerate(narrow, start=first)]


def drawn(picture: Picture, place: int, largest: int, prefix: str = "figure") -> DrawnFigure:
    """Return one picture as an element of the page.

    Settings stand once on the page, and the label in the drawing.
    """
    inner, (width, height) = inline(picture, f"{prefix}-{place}", largest)
    return {
        "inner": inner,
        "width": width,
        "height": height,
        "box": f"0 0 {width:g} {height:g}",
        "alt": picture.text,
        "caption": f"Figure {place}. {picture.text}",
    }
