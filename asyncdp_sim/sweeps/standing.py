"""Standing of a folder before a sweep goes on there: its scenario, data and versions."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asyncdp_sim.errors import Fault, ResultError, blaming
from asyncdp_sim.on_disk import from_json, from_toml
from asyncdp_sim.results.provenance import VERSIONS, digest, other_versions
from asyncdp_sim.runs.differences import between, in_words, leaves
from asyncdp_sim.scenario import Scenario, dump, jsonable, parse, resolved, without_places
from asyncdp_sim.sweeps.folder import Folder
from asyncdp_sim.sweeps.grid import Cell

_ALLOWED = "allowed is a new directory, or a sweep of this very scenario"
_SHA = re.compile(r"[0-9a-f]{64}$")
_MOST = 4
"""Parts of other versions that are told one by one."""


def own_scenario(place: Path) -> Scenario:
    """Return the scenario whose sweep is in a directory.

    Raises
    ------
    ResultError
        If there is no sweep.
    SpecError
        If its ``scenario.toml`` is damaged.
    """
    raw = require_sweep(place)
    with blaming(f"{place}/scenario.toml"):
        own: Scenario = parse(Scenario, resolved(raw, place))
    return own


def require_sweep(place: Path) -> dict[str, Any]:
    """Return the tables of the scenario whose sweep is in a directory.

    Raises
    ------
    ResultError
        If there is none.
    """
    raw = _tables(Folder(place))
    if "sweep" not in raw:
        allowed = "allowed is the directory of a sweep that has begun"
        raise ResultError([Fault("--out", "no sweep", allowed)], str(place))
    return raw


def require_same_scenario(scenario: Scenario, into: Folder, place: Path) -> None:
    """Raise if what is in a folder is not a sweep of this scenario, wherever its data files lie.

    Raises
    ------
    ResultError
        If it is anything else, naming what differs where it is a sweep.
    """
    raw = _tables(into)
    if "sweep" not in raw:
        raise ResultError([Fault("--out", "an existing path", _ALLOWED)], str(place))
    asked = from_toml(dump(scenario, None))
    differ = list(between("", without_places(raw), without_places(asked), "asked"))
    if len(differ) > 0:
        given = f"an existing path, a sweep of another scenario ({in_words(differ)})"
        raise ResultError([Fault("--out", given, _ALLOWED)], str(place))


def is_finished(said: Mapping[str, Any], into: Folder, cells: Sequence[Cell], place: Path) -> bool:
    """Return whether every cell of a sweep is there, and the table of them.

    Parameters
    ----------
    said : mapping
        The scenario as it is described, data files by name and digest.
    into : Folder
    cells : sequence of Cell
    place : Path
        What the folder is called.

    Raises
    ------
    ResultError
        If it was made of other data files.
    """
    there = into.entries()
    if not all(name in there for name in ("cells.parquet", *(cell.name for cell in cells))):
        return False
    try:
        kept = into.manifest("", "cells")
    except ResultError:  # none, or a damaged one: it is written anew
        return False
    if kept["digest"] != digest(jsonable(said)):
        raise _other_data(place)
    return True


def require_same_making(
    said: Mapping[str, Any], into: Folder, place: Path, *, mixed_versions: bool
) -> None:
    """Raise if finished cells or traces come from other data files, or from other versions.

    Parameters
    ----------
    said, into, place
        As in :func:`is_finished`.
    mixed_versions : bool
        Whether other versions are allowed.

    Raises
    ------
    ResultError
        Naming which parts have which versions.
    """
    now = _digests(said)
    others: dict[str, list[str]] = {}
    for name, manifest in manifests(into).items():
        if not _digests(manifest["scenario"]) <= now:
            raise _other_data(place / name)
        _note(others, name, manifest["versions"])
    for name, made in versions_of_traces(into).items():
        _note(others, name, made)
    if len(others) == 0 or mixed_versions:
        return
    given = "; ".join(f"{some_of(names)} made with {which}" for which, names in others.items())
    allowed = "allowed are parts of one version, in a new directory, or --mixed-versions"
    raise ResultError([Fault("--out", given, allowed)], str(place))


def manifests(into: Folder) -> dict[str, dict[str, Any]]:
    """Return the manifest of every finished cell, by its name."""
    names = sorted(name for name in into.entries() if name.startswith("cell-"))
    return {name: into.manifest(name, "summary") for name in names}


def versions_of_traces(into: Folder) -> dict[str, Any]:
    """Return what made the traces of each network; None where it is not known."""
    found: dict[str, Any] = {}
    for network in sorted(into.entries("traces")):
        text = into.text(f"traces/{network}/{VERSIONS}")
        try:
            made = from_json(text or "null")
        except ValueError:
            made = None
        if isinstance(made, dict):
            made.pop("loop", None)  # older versions name the event loop here
        found[f"traces/{network}"] = made
    return found


def some_of(names: Sequence[str]) -> str:
    """Return the first of several names, and how many more there are."""
    more = "" if len(names) <= _MOST else f" and {len(names) - _MOST} more"
    return ", ".join(names[:_MOST]) + more


def _note(others: dict[str, list[str]], name: str, made: object) -> None:
    which = ", ".join(f"{part} {said}" for part, said in other_versions(made).items())
    if which != "":
        others.setdefault(which, []).append(name)


def _digests(said: Mapping[str, Any]) -> set[str]:
    """Return the SHA-256 digests of all data files of a described scenario."""
    texts = [leaf for leaf in leaves(jsonable(said)).values() if isinstance(leaf, str)]
    return {match[0] for match in map(_SHA.search, texts) if match is not None}


def _other_data(place: Path) -> ResultError:
    given = "results of data files with other contents"
    return ResultError([Fault("--out", given, _ALLOWED)], str(place))


def _tables(into: Folder) -> dict[str, Any]:
    try:
        return from_toml(into.text("scenario.toml") or "")
    except ValueError:
        return {}
