"""A scenario's table, opened before any run: all that a run would refuse, said at once."""

import itertools
from collections.abc import Iterator

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.words import extent


def table_lines(scenario: Scenario) -> list[str]:
    """Return what a table is to its scenario, in words; none where no file is read.

    Raises
    ------
    DataError
        With all that a run, or a cell of the sweep, would refuse.
    """
    told: list[str] = []
    found: list[Fault] = []
    for place, cell in _cells(scenario):
        try:
            dataset = build_dataset(cell)
            prepare(cell, dataset)
        except DataError as error:
            found += [fault.under(place) for fault in error.faults if fault not in found]
        else:
            sizes = f"{extent(dataset.records)} records of an owner"
            told = told or [f"table: {each}" for each in (sizes, *dataset.notes)]
    if len(found) > 0:
        raise DataError(dict.fromkeys(found))
    return told


def _cells(scenario: Scenario) -> Iterator[tuple[str, Scenario]]:
    """Yield the base, and cells in which other things are made of a file, and where they stand."""
    seen = []
    cells = (("sweep", scenario.cell(chosen)) for chosen in scenario.grid())
    for place, cell in itertools.chain([("", scenario.base())], cells):
        made = (cell.data, cell.owners, cell.model)
        if cell.data.file is not None and made not in seen:
            seen.append(made)
            yield place, cell
