"""Manifests written by hand: of the shape that results have, with what a test cares for."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asyncdp_sim.results.columns import COUNT, NEVER, SPREAD, YES, summary
from asyncdp_sim.results.manifest import AT_FIRST, SCHEMA, digest
from asyncdp_sim.scenario import jsonable


def of_run(said: Mapping[str, Any], figures: Mapping[str, Any], **others: Any) -> dict[str, Any]:
    """Return the manifest of a run of one replicate, with these figures and keys besides."""
    made = {
        "schema": SCHEMA,
        "scenario": said,
        "digest": digest(jsonable(said)),
        "seed": 1,
        "replicates": [1],
        "versions": {},
        "fingerprints": {},
        "warnings": [],
        "summary": least() | {name: _spread(value) for name, value in figures.items()},
    }
    return dict(jsonable(made | others))


def _spread(value: Any) -> Any:
    """Return a figure of which the mean alone is told with all that goes with it."""
    alone = isinstance(value, Mapping) and value.keys() < SPREAD.keys() and "mean" in value
    return {**dict.fromkeys(SPREAD, value["mean"]), **value} if alone else value


@contextmanager
def changed(directory: Path) -> Iterator[dict[str, Any]]:
    """Give the manifest of a result to be changed; it is written with its scenario's digest."""
    file = directory / "manifest.json"
    manifest = json.loads(file.read_bytes())
    yield manifest
    manifest["digest"] = digest(manifest["scenario"])
    file.write_text(json.dumps(manifest), encoding="utf-8")


def least() -> dict[str, Any]:
    """Return the figures that every summary has: unknown where they may be, else of no account."""
    found: dict[str, Any] = {}
    for name, column in summary().items():
        group, _, part = name.partition(".")
        if group in AT_FIRST:
            value = None if column.null != NEVER else _VALUES.get(column.domain, 1.0)
            if part:
                found.setdefault(group, {})[part] = value
            else:
                found[name] = value
    return found


_VALUES: Mapping[str, Any] = {YES: False, COUNT: 0}
