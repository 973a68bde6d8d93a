"""The exact forecast beside what a sweep measured."""

from math import nan
from statistics import median

from analysis.source import Cell, Sweep
from analysis.surface import Reference
from asyncdp_sim.forecast import grid
from asyncdp_sim.result import read_manifest
from asyncdp_sim.scenario import load


def exactly(sweep: Sweep) -> Reference:
    """Return E ψ of every cell by exact moments; NaN where they do not apply.

    Owners' own second moments are taken, those that the sweep's runs learned from. Clipped
    gradients have no exact moments: theirs are those of the same noise on gradients as they are,
    which holds where hardly any record is clipped.
    """
    said = read_manifest(sweep.directory)["scenario"]["privacy"]["sensitivity"]
    clipped = said is not None and said["kind"] == "clip"
    settings = ("privacy.sensitivity.kind=declared",) if clipped else ()
    scenario, _ = load(sweep.directory / "scenario.toml", settings)
    points = grid(scenario, moments="own", private=True)
    known = {number: nan if p.psi is None else p.psi for number, p in enumerate(points)}

    def at(cell: Cell) -> float:
        return known[cell.number]

    return Reference("exact, were nothing clipped" if clipped else "exact forecast", "exact", at)


def gap(sweep: Sweep) -> float:
    """Return the median of |measured mean ψ/exact − 1| over cells where exact moments apply."""
    exact, found = exactly(sweep), []
    for cell in sweep.cells:
        expected = exact.at(cell)
        if expected == expected:
            found.append(abs(cell.result.summary["psi_final"]["mean"] / expected - 1))
    return median(found) if len(found) > 0 else nan
