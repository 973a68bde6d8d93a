"""Gossip under several threat models: a published growth, and our exact losses, by linear systems.

What a node receives is a linear system with Gaussian noise (:mod:`analysis.exact.linear_system`).
It judges what the abstract of Koskela and Kulkarni states of noise in every round, and is an
oracle of its own for the package's losses, where noise is added once.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from analysis.exact.linear_system import averaged, squared, system
from analysis.studies.over_distance import distances
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.node import Round, all_at_once, meetings
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.trace import Trace
from scenarios.papers.claims import Range
from scenarios.papers.figure import read_figures

ROUNDS = 16
"""T, and twice as many, between which growth is measured."""
RUNS = 400
"""Replays over one network, with noise of their own."""


@dataclass(frozen=True, eq=False)
class Gossip:
    """A graph's scenario, and the trace of its first replicate; known by identity."""

    scenario: Scenario
    trace: Trace


@lru_cache(maxsize=8)
def _gossip(directory: Path, _: str) -> Gossip:
    scenario = load(directory / "scenario.toml")[0]
    streams = Streams(scenario.run.seed)
    return Gossip(scenario, simulate(scenario.network, streams.within("replicate", 1)))


def gossip(sweep: Sweep, graph: str) -> Gossip:
    """Return what is simulated of a graph."""
    [found] = [cell.result for cell in sweep.cells if cell.values[VARIANT] == graph]
    return _gossip(found.directory, str(found.manifest["digest"]))


def fixed_steps(scenario: Scenario, rounds: int) -> list[Round]:
    """Return steps of all nodes at once, with weights 1/(1 + largest degree)."""
    neighbours = distances(scenario) == 1
    degrees = neighbours.sum(axis=1)
    parts = int(degrees.max()) + 1
    return [all_at_once(neighbours + np.diag(parts - degrees), parts)] * rounds


@cache
def sensitivity(of: Gossip, rounds: int, *, summed: bool = False) -> Array:
    """Return μ² of every owner against owner 1, with new noise of deviation 1 in every round.

    A record moves what its owner puts in by 1, in each round alike.
    """
    n = of.scenario.owners.count
    seen = system(fixed_steps(of.scenario, rounds), n, 0, fresh=True, summed=summed)
    return squared(seen, np.ones(n), 0)


def growth(sweep: Sweep, graph: str) -> float:
    """Return mean μ² after 2T rounds over that after T."""
    found = [sensitivity(gossip(sweep, graph), rounds) for rounds in (2 * ROUNDS, ROUNDS)]
    return float(np.nanmean(found[0]) / np.nanmean(found[1]))


def over_curator(sweep: Sweep, graph: str, received: str) -> float:
    """Return mean μ² over T/N, that of a curator who publishes each round's noisy mean."""
    found = sensitivity(gossip(sweep, graph), ROUNDS, summed=received == "sums")
    return float(np.nanmean(found)) * len(found) / ROUNDS


def off_package(sweep: Sweep, graph: str) -> float:
    """Return the largest difference of the package's μ² z² from the linear system's, all pairs."""
    return _off(gossip(sweep, graph))


@cache
def _off(of: Gossip) -> float:
    n, rounds = of.scenario.owners.count, meetings(of.trace)
    ours = NodeObserver().squared(np.ones(n), of.trace)
    theirs = [squared(system(rounds, n, node), np.ones(n), node) for node in range(n)]
    return float(np.nanmax(np.abs(ours - np.stack(theirs, axis=1))))


def spread(sweep: Sweep, graph: str) -> float:
    """Return the variance of owner 1's average over replays, over that of the linear system."""
    return _spread(gossip(sweep, graph))


@cache
def _spread(of: Gossip) -> float:
    scenario, problem = of.scenario, prepare(of.scenario, build_dataset(of.scenario))
    ends = []
    for task, runs in ((problem.task, RUNS), (problem.task.without_noise(), 1)):
        scopes = [Streams(scenario.run.seed).within("again", r) for r in range(runs)]
        found = replay([of.trace] * runs, task.steps, task.reply, scopes, 10**6, task.asks)
        ends.append(found.final)
    of_first = averaged(meetings(of.trace), scenario.owners.count)[0]
    step: Any = scenario.algorithm.step  # type: ignore[union-attr]
    predicted = np.square(of_first * step * stated(scenario)).sum()
    return float(np.square(ends[0] - ends[1]).mean() / predicted)


def stated(scenario: Scenario) -> Array:
    """Return the deviation that ε asks of a coordinate of each owner's answer: z 2Ξ/n_i."""
    multiplier = scenario.accountant.multiplier
    bound = scenario.privacy.sensitivity.bound  # type: ignore[union-attr]
    assert multiplier is not None
    return np.asarray(multiplier * 2 * bound / scenario.owners.records)


def sure(_: Sweep) -> Range:
    """Return four standard errors of a variance over replays, of three coordinates, around 1."""
    about = 4 * np.sqrt(2 / (3 * RUNS))
    return 1 - about, 1 + about


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
