"""Sweeps written by hand, whose ψ follow a law of two swept numbers exactly."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

from asyncdp_sim.results import Sweep
from tests.unit.figures.made import curve, finished, made, scenario, write_table

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
        curve(cell, [0.5 * middle, 1.5 * middle])
        write_table(cell, "owners", {"records": [10, 10, 10]})
    return finished(directory, dict(zip(values, zip(*rows, strict=True), strict=True)))
