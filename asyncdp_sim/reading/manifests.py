"""The manifest of a result, read back: whole, or refused in one line that names what is damaged."""

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from asyncdp_sim.on_disk import file_bytes, from_json
from asyncdp_sim.provenance import digest
from asyncdp_sim.reading.refusal import not_a_result
from asyncdp_sim.reading.shapes import SCHEMA, of_run, of_sweep

_LONGEST = 40
"""Characters of a wrong value that are told."""
_MENDED = "allowed is a result directory, whose scenario.toml makes it again"


class DamagedError(ValueError):
    """A manifest is not what was written; says in which place."""


def read_manifest(directory: Path, *needed: str) -> dict[str, Any]:
    """Return the manifest of a result or a sweep: of its shape, and of the scenario it names.

    Parameters
    ----------
    directory : Path
    needed : str
        Keys that it must have: ``summary`` is that of a run, ``cells`` that of a sweep.

    Raises
    ------
    ResultError
        If there is none, or it is damaged or of another version of the format.
    """
    try:
        manifest = from_json(file_bytes(directory / "manifest.json"))
    except (OSError, ValueError):
        raise not_a_result(directory, "no readable manifest.json") from None
    schema = manifest.get("schema") if isinstance(manifest, dict) else None
    if type(schema) is int and schema != SCHEMA:
        raise not_a_result(directory, f"a result of schema {schema}", f"allowed is one of {SCHEMA}")
    try:
        _require_whole(manifest)
    except DamagedError as error:
        raise not_a_result(directory, f"a damaged manifest.json ({error})", _MENDED) from None
    for key in needed:
        if key not in manifest:
            raise not_a_result(directory, f"a manifest.json without {key}")
    return dict(manifest)


def _require_whole(manifest: Any) -> None:
    """Raise unless a manifest has its shape, and all in it is of its scenario.

    Raises
    ------
    DamagedError
        Naming the first place that is wrong.
    """
    scenario = manifest.get("scenario") if isinstance(manifest, dict) else None
    swept = isinstance(scenario, dict) and "sweep" in scenario
    shape: Any = of_sweep() if swept else of_run()
    try:
        shape.validate_python(manifest, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise DamagedError(_in_words(first["loc"], first["type"], manifest)) from None
    try:
        own = digest(manifest["scenario"])
    except ValueError:  # a text that is none
        own = ""
    if manifest["digest"] != own:
        raise DamagedError("scenario and digest do not belong together")
    wrong = _cells_apart(manifest) if swept else _replicates_apart(manifest)
    if wrong is not None:
        raise DamagedError(wrong)


def _cells_apart(manifest: Mapping[str, Any]) -> str | None:
    """Say where cells are not those of the scenario's grid; None where they are."""
    if manifest["cells"] != prod(map(len, manifest["scenario"]["sweep"].values())):
        return _told("cells", manifest["cells"])
    listed = {*manifest["fingerprints"], *manifest.get("failed", ())}
    if listed != {f"cell-{number:04d}" for number in range(manifest["cells"])}:
        return "fingerprints and failed are not of all cells"
    return None


def _replicates_apart(manifest: Mapping[str, Any]) -> str | None:
    """Say that replicates are not ascending; None where they are."""
    said, ends = manifest["replicates"], manifest.get("end_ticks")
    if ends is not None and len(ends) != len(said):
        return _told("end_ticks", ends)
    return None if said == sorted(set(said)) else _told("replicates", said)


def _in_words(location: tuple[str | int, ...], kind: str, manifest: Any) -> str:
    """Return where a manifest is damaged, and what stands there.

    What the library adds to a location, such as the member of a union, stands in no manifest.
    """
    path, here = "", manifest
    for number, part in enumerate(location, 1):
        absent = number == len(location) and kind == "missing"
        if isinstance(here, dict) and (part in here or absent):
            path, here = f"{path}.{part}".lstrip("."), here.get(part)
        elif isinstance(here, list) and isinstance(part, int):
            path, here = f"{path}[{part}]", here[part]
        else:
            break
    return f"{path} is missing" if kind == "missing" else _told(path, here)


def _told(path: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return f"{path} = {short}" if path else short
