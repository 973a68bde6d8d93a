"""Scenario files: TOML in and out."""

import copy
import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.scenario.paths import Raw, set_path
from asyncdp_sim.scenario.spec import Scenario
from asyncdp_sim.spec import parse


def load(file: Path, settings: Sequence[str] = ()) -> tuple[Scenario, list[str]]:
    """Read a scenario from a TOML file.

    Parameters
    ----------
    file : Path
        Relative paths in it are resolved against its folder.
    settings : sequence of str
        ``path=value`` in the order given; values are TOML, or text where they are not.

    Returns
    -------
    Scenario, list of str
        The scenario, and what the settings dropped, in words.

    Raises
    ------
    SpecError
        With every fault found, naming the file.
    """
    raw = _read(file)
    _resolve_paths(raw, file.parent)
    notes: list[str] = []
    for setting in settings:
        path, equals, text = setting.partition("=")
        if equals == "" or path.strip() == "":
            raise SpecError([Fault("--set", repr(setting), "allowed is path=value")])
        value = _toml_value(text)
        if path.strip() == "data.path" and isinstance(value, str):
            value = str(Path(value).absolute())
        try:
            notes += set_path(Scenario, raw, path.strip(), value)
        except SpecError as error:
            raise SpecError(error.faults, str(file)) from None
    try:
        scenario: Scenario = parse(Scenario, raw)
        _check_sweep(scenario)
    except SpecError as error:
        raise SpecError(error.faults, str(file)) from None
    return scenario, notes


def dump(scenario: Scenario, data_path: str | None) -> str:
    """Return a scenario as TOML text, with ``data.path`` as it loads from where the text lies."""
    import tomli_w  # only where a scenario is written

    raw = scenario.plain()
    if data_path is not None:
        raw["data"]["path"] = data_path
    return tomli_w.dumps(raw)


def data_path_from(scenario: Scenario, directory: Path) -> str | None:
    """Return the data file's path as seen from a directory; None without a file."""
    path = getattr(scenario.data, "path", None)
    return None if path is None else os.path.relpath(path, directory.absolute())


def jsonable(value: Any) -> Any:
    """Return plain tables ready for JSON: infinities as the texts "inf" and "-inf", NaN as null."""
    if isinstance(value, Mapping):
        return {key: jsonable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def _check_sweep(scenario: Scenario) -> None:
    """Check every swept value by itself, so that a sweep does not fail half-way."""
    found: list[Fault] = []
    for path, values in scenario.sweep.items():
        if len(values) == 0:
            found.append(Fault(f"sweep.{path}", "[]", "allowed is a list with at least one value"))
        for value in values:
            raw = scenario.base().plain()
            try:
                set_path(Scenario, raw, path, copy.deepcopy(value))
                parse(Scenario, raw)
            except SpecError as error:
                found += [fault.under("sweep") for fault in error.faults]
    if found:
        raise SpecError(found)


def _read(file: Path) -> Raw:
    try:
        text = file.read_bytes().decode("utf-8")
        return tomllib.loads(text)
    except FileNotFoundError:
        given, allowed = "no such file", "allowed is a scenario file in TOML"
    except IsADirectoryError:
        given, allowed = "a directory", "allowed is a scenario file in TOML"
    except OSError as error:
        given, allowed = f"an unreadable file ({error.strerror})", "allowed is a readable TOML file"
    except UnicodeDecodeError as error:
        given, allowed = (
            f"bytes that are not UTF-8 at offset {error.start}",
            "allowed is UTF-8 text",
        )
    except tomllib.TOMLDecodeError as error:
        given, allowed = f"text that is not TOML ({error})", "allowed is TOML 1.0"
    raise SpecError([Fault("", given, allowed)], str(file))


def _resolve_paths(raw: Raw, folder: Path) -> None:
    data, sweep = raw.get("data"), raw.get("sweep")
    if isinstance(data, dict) and isinstance(data.get("path"), str):
        data["path"] = str((folder / data["path"]).absolute())
    if isinstance(sweep, dict) and isinstance(sweep.get("data.path"), list):
        listed = sweep["data.path"]
        sweep["data.path"] = [
            str((folder / path).absolute()) if isinstance(path, str) else path for path in listed
        ]


def _toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
