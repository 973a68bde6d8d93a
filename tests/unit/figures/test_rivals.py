"""Rivals: what sets them apart, and that no weaker guarantee passes for a stronger one."""

from pathlib import Path
from typing import Any

from made import curve, made, scenario

from asyncdp_sim.figures.sweeps.rivals import best, rival
from asyncdp_sim.results import Cell, Result


def cell(directory: Path, number: int, psi: float, **privacy: Any) -> Cell:
    """Return a cell at ε = 1 whose last model has this ψ."""
    place = made(directory / f"cell-{number:04d}", (), scenario(privacy=privacy))
    curve(place, [psi])
    return Cell(number, {}, Result.read(place))


def test_another_mechanism_is_another_rival(tmp_path: Path) -> None:
    pure = cell(tmp_path, 0, 4.0, mechanism="laplace")
    weaker = cell(tmp_path, 1, 1.0, mechanism="gaussian", delta=1e-6)
    assert rival(pure.result) == "async-gossip, clipped gradients, noise for T answers"
    assert rival(weaker.result) == "async-gossip, gaussian, clipped gradients, noise for T answers"
    assert best([pure, weaker]) == [pure, weaker]


def test_of_one_rival_the_best_cell_is_taken(tmp_path: Path) -> None:
    cells = [cell(tmp_path, number, psi) for number, psi in enumerate((4.0, 2.0, 3.0))]
    assert best(cells) == [cells[1]]
