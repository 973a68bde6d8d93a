"""Sweeps written by hand, whose ψ follow a law of two swept numbers exactly."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from made import made, scenario

from asyncdp_sim.figures.kit.source import Sweep

RECORDS, BUDGET = "owners.records", "privacy.epsilon"
VALUES: Mapping[str, Sequence[float]] = {RECORDS: (10, 100, 1000), BUDGET: (0.1, 1.0, 10.0)}


def power(records: float, budget: float) -> float:
    """Return 400/(ε n_i²)."""
    return 400.0 / (budget * records**2)


def written(
    directory: Path,
    psi: Callable[[float, float], float] = power,
    values: Mapping[str, Sequence[float]] = VALUES,
    held: Sequence[int] = (),
) -> Sweep:
    """Write cells of two replicates with ψ of 0.5 and 1.5 times the law; Θ holds some of them."""
    rows = list(product(*values.values()))
    for number, (records, budget) in enumerate(rows):
        said = scenario(owners={"records": records}, privacy={"epsilon": budget})
        held_here = 900 if number in held else 0
        cell = made(directory / f"cell-{number:04d}", [(), ()], said, updates=1000,
                    clip_count=held_here, psi_final={"mean": psi(records, budget)})  # fmt: skip
        middle = psi(records, budget)
        curve: dict[str, Any] = {"replicate": [1, 1, 2, 2], "k": [0, 9] * 2, "time": [0.0, 1.0] * 2}
        curve["relative_fitness"] = [20.0, 0.5 * middle, 20.0, 1.5 * middle]
        pq.write_table(pa.table(curve), cell / "curve.parquet")
        pq.write_table(pa.table({"records": [10, 10, 10]}), cell / "owners.parquet")
    table: dict[str, Any] = {"cell": list(range(len(rows)))}
    for place, path in enumerate(values):
        table[path] = [row[place] for row in rows]
    pq.write_table(pa.table(table | {"status": ["done"] * len(rows)}), directory / "cells.parquet")
    return Sweep.read(directory)
