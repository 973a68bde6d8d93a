"""Records that are drawn once: kept under the digest of what decides their bits."""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.data.dataset import Dataset
from asyncdp_sim.data.kept.cache import LEAST, Cache
from asyncdp_sim.outside import is_outside
from asyncdp_sim.spec import Kind
from asyncdp_sim.streams import Scope, Streams


def drawn_once(
    recipe: Kind,
    features: int,
    n_owners: int,
    records: tuple[int, ...] | None,
    streams: Streams | Scope,
    draw: Callable[[], Dataset],
) -> Dataset:
    """Return records as they were drawn before, with the same bits; else draw and keep them.

    Parameters
    ----------
    recipe : Kind
        What the records are of; kinds from outside are drawn anew, for their code may change.
    features : int
        p, for the size of the records.
    n_owners, records, streams
        As in :meth:`~asyncdp_sim.data.kind.DataKind.build`. A part of a run's streams is of a
        draw that is made but once.
    draw : callable
        Draws them.
    """
    if isinstance(streams, Scope) or not _ours(recipe):
        return draw()
    if records is not None and _bytes(features, records) < LEAST:
        return draw()
    asked = (recipe.model_dump(mode="json"), n_owners, records, streams.seed)
    said = json.dumps([*asked, made_by()], sort_keys=True)
    kept, key = Cache.of_user(), hashlib.sha256(said.encode()).hexdigest()
    found = kept.get(key)
    if found is None:
        found = draw()
        if _bytes(features, found.records) >= LEAST:  # how many may be known only now
            kept.put(key, found)
    return found


def _bytes(features: int, records: Sequence[int]) -> int:
    """Return how much records of these sizes take, their targets among them."""
    return 8 * (features + 1) * sum(records)


def _ours(recipe: Kind) -> bool:
    """Whether a kind and all that it is made of are of this package."""
    parts = [recipe, *(value for _, value in recipe if isinstance(value, Kind))]
    return not any(is_outside(type(each)) for each in parts)


@cache
def made_by() -> dict[str, Any]:
    """Return what the bits depend on beside the recipe: code, tables, NumPy and the processor."""
    package, found = Path(__file__).parents[2], hashlib.sha256()
    for folder in ("data", "streams"):
        for file in sorted((package / folder).rglob("*")):
            if file.suffix in (".py", ".json"):
                found.update(file.relative_to(package).as_posix().encode() + file.read_bytes())
    machine = np.show_config(mode="dicts")
    return {"code": found.hexdigest(), "numpy": np.__version__, "built": str(machine)}
