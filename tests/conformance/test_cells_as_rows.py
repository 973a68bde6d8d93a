"""Cells of a sweep as rows of one fold: each has the bits that it has alone, in every algorithm."""

from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.learning.algorithms import AnyAlgorithm, Setting
from asyncdp_sim.learning.answers import AnswerModel, Sample
from asyncdp_sim.learning.objectives import LinearRecords, Quadratic
from asyncdp_sim.learning.recording import Trajectory
from asyncdp_sim.learning.replay import CellTask, alike, fold, replay_together
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from tests.conformance.members import said
from tests.conformance.test_algorithms import (
    ALGORITHMS,
    BOX,
    EACH,
    NOISE,
    ON_EACH,
    RECORDS,
    SHARES,
    SIGMA,
    P,
    R,
    T,
    network_of,
    scopes,
    traces_of,
)
from tests.one_in import one_in
from tests.together import together
from tests.unit.learning.problems import same_path

FACTORS = (1.0, 0.7, 1.3, 0.9)
"""By which a cell's numbers are other ones than another's."""
OTHER = [x[:, ::-1].copy(order="F") for x in RECORDS[0]], RECORDS[1]


def varied(held: Any, factor: float) -> Any:
    """Return an algorithm with each number that may differ between rows times a factor."""
    values = {name: getattr(held, name) for name in held.by_row}
    changes = {
        name: varied(value, factor) if is_dataclass(value) else value * factor
        for name, value in values.items()
        if value is not None
    }
    return replace(held, **changes)


def cells_of(algorithm: AnyAlgorithm, protocol: Any = None) -> list[CellTask]:
    """Cells of other steps, boxes, noise and records."""
    shares = SHARES if algorithm.needs_shares else None
    protocol = network_of(algorithm).protocol if protocol is None else protocol
    found = []
    for place, factor in enumerate(FACTORS):
        objective = Quadratic.from_records(*(RECORDS if place < 2 else OTHER), SIGMA, BOX)
        setting = Setting(objective.weights, P, T, SIGMA, BOX, shares, protocol, NOISE.scale)
        steps = varied(algorithm.steps(setting), factor)
        sample = None
        if algorithm.sample is not None:
            sample = Sample(LinearRecords(*RECORDS), algorithm.sample)
        noise = LaplaceNoise(factor * NOISE.scale)
        found.append(CellTask(steps, AnswerModel(steps.answered_with(objective), noise, sample), 3))
    return found


def alone(traces: list[Any], cell: CellTask, asks: Any = "average") -> Trajectory:
    [path] = fold(traces, [replace(cell, watch=None)], scopes(len(traces)), asks)
    return path


def held_to_each_alone(traces: list[Any], cells: list[CellTask], asks: Any = "average") -> None:
    assert len({alike(cell) for cell in cells}) == 1
    assert alike(cells[0]) is not None
    found = dict(replay_together(traces, cells, lambda: scopes(len(traces)), asks))
    expected = [alone(traces, cell, asks) for cell in cells]
    for number, path in enumerate(expected):
        same_path(found[number], path)
    finals = {path.final.tobytes() for path in expected}
    assert len(finals) == len(cells), "cells that end alike show nothing"


@one_in(2, "algorithm", ALGORITHMS, ids=said)
def test_a_mixed_batch_has_the_bits_of_each_cell_alone(algorithm):
    for count in (1, 2, R):
        held_to_each_alone(traces_of(algorithm)[:count], cells_of(algorithm))


@together
@pytest.mark.parametrize(("algorithm", "kind"), ON_EACH, ids=str)
def test_on_each_of_its_protocols(algorithm, kind):
    network = network_of(algorithm, kind)
    traces = [simulate(network, scope) for scope in scopes(2)]
    held_to_each_alone(traces, cells_of(algorithm, network.protocol), network.protocol.asks)


@together
@EACH
def test_every_number_of_a_step_may_differ(algorithm):
    """But for those by which randomness is drawn, and a solver's."""
    steps = cells_of(algorithm)[0].steps
    fixed = {"start", "begin"} if algorithm.kind == "averaging" else set()  # 0 times any factor
    apart = {"polar": {"theta_max", "total", "bound", "additive"}}
    apart["noisy-statistics"] = {"sigma", "caution"}
    real = {
        field
        for field, value in vars(steps).items()
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == np.float64)
    }
    missing = real - set(steps.by_row) - fixed
    assert missing == apart.get(str(algorithm.kind), set()), f"{type(steps).__name__}.by_row"
