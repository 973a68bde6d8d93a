"""Cells of a sweep, those of one network, and those that learn together."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from asyncdp_sim.results.manifest import network_digest
from asyncdp_sim.scenario import Scenario

TOGETHER = 16
"""Cells of a batch at most: what an interruption can lose of each worker's work."""
ENOUGH = 4
"""Batches for each worker, so that none waits long for the others at the end."""
_ROOM = 2**27
"""Bytes of all recorded models of a batch, unless one cell has more."""


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    Attributes
    ----------
    number : int
        From 0, last swept path fastest.
    values : mapping
        The swept paths and their values.
    base : Scenario
        The scenario whose grid it is of.
    seed : int
        The cell's.
    network, data : str
        Under which cells share traces, and records.
    size : int
        Bytes of the models that its curve is made of.
    """

    number: int
    values: Mapping[str, Any]
    base: Scenario
    seed: int
    network: str
    data: str
    size: int

    @classmethod
    def from_grid(
        cls, number: int, values: Mapping[str, Any], base: Scenario, scenario: Scenario
    ) -> "Cell":
        """Return the cell of these values, which make this scenario of the base."""
        run = scenario.run
        content = scenario.model_dump_json(include={"data", "owners"})
        read = len(scenario.model.labels), scenario.model.intercept
        data = hashlib.sha256(f"{run.seed} {read} {content}".encode()).hexdigest()
        rows = run.replicates * (run.updates // run.record_every + 2)
        network = network_digest(scenario, run.replicates)
        size = 8 * rows * (scenario.data.features + 8)
        return cls(number, values, base, run.seed, network, data, size)

    @property
    def scenario(self) -> Scenario:
        """Its scenario, made again at each access: thousands of them need not be kept."""
        return self.base.cell(self.values)

    @property
    def name(self) -> str:
        """Name of the cell's directory."""
        return f"cell-{self.number:04d}"


def grid(scenario: Scenario) -> list[Cell]:
    """Return the cells of a scenario's sweep, in their order.

    Raises
    ------
    SpecError
        If it has none, or values do not fit together.
    """
    scenario.require_sweep()
    return [
        Cell.from_grid(number, values, scenario, scenario.cell(values))
        for number, values in enumerate(scenario.grid())
    ]


def networks(cells: Sequence[Cell]) -> Iterator[list[Cell]]:
    """Yield the cells of each network, in the order of the first ones."""
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.network, []).append(cell)
    yield from by_name.values()


def batches(cells: Sequence[Cell], workers: int) -> Iterator[list[Cell]]:
    """Yield what is learned together of the cells of one network: cells with the same records.

    Where there are enough of them for all workers they stay together, so that records and noise
    are drawn once; else each worker has some. What is in a batch does not change its results.
    """
    by_name: dict[str, list[Cell]] = {}
    for cell in cells:
        by_name.setdefault(cell.data, []).append(cell)
    parts = 1 if len(by_name) >= ENOUGH * workers else workers
    for alike in by_name.values():
        most = min(TOGETHER, ceil(len(alike) / parts), 1 + _ROOM // max(c.size for c in alike))
        yield from (alike[start : start + most] for start in range(0, len(alike), most))
