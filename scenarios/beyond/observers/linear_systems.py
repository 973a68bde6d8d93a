"""Gossip under several threat models: a published growth, and our exact losses, by linear systems.

What an observer receives is a linear system with Gaussian noise
(:mod:`analysis.exact.linear_system`). It judges what the abstracts of Koskela and Kulkarni state of
noise in every round, and is an oracle of its own for the package's losses, where noise is added
once. Owners 2 and 16 are neighbours of owner 1 on every graph.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from typing_extensions import override

from analysis.again import traces_of
from analysis.exact.linear_system import best_test, senders, separately, squared, system
from analysis.one_panel import DOTS, TRUTH, captioned, written
from analysis.studies.over_distance import distances
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture
from asyncdp_sim.figures.style import BLUE
from asyncdp_sim.learning.algorithms import AnswerBatch, AveragingSteps, Wrapped
from asyncdp_sim.learning.algorithms.gossip import AveragingState
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.node import Round, all_at_once, meetings
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.trace import Trace
from scenarios.papers.claims import Range
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import once, scenario

GRAPHS = ("ring", "grid", "complete")
COLLUDING = (1, 15)
"""Owners 2 and 16, from 0."""
POOLS = {"one node": (0,), "three nodes": (0, *COLLUDING), "every link": tuple(range(16))}
"""The nodes whose messages are received; who observes every link knows no node's own noise."""
VIEWS = (
    ("one node", "sums"), ("one node", "messages"), ("three nodes", "sums"),
    ("three nodes", "messages"), ("every link", "messages"),
)  # fmt: skip
ROUNDS = 16
"""T, and twice as many, between which growth is measured."""
DRAWN = 2 * ROUNDS
"""Rounds of the picture."""
RUNS = 2000
"""Replays over one network, with noise of their own."""


@dataclass(frozen=True, eq=False)
class Gossip:
    """A graph's scenario, and the trace of its first replicate; known by identity."""

    scenario: Scenario
    trace: Trace

    @property
    def ones(self) -> Array:
        """A standard deviation of 1 for each owner."""
        return np.ones(self.scenario.owners.count)


@once(8)
def _gossip(result: Result) -> Gossip:
    return Gossip(scenario(result), *traces_of(scenario(result), 1))


def gossip(sweep: Sweep, graph: str) -> Gossip:
    """Return what is simulated of a graph; observers change no network."""
    first = next(cell.result for cell in sweep.cells if cell.values[VARIANT] == graph)
    return _gossip(first)


def known(pool: str) -> tuple[int, ...]:
    """Return the nodes whose noise a pool knows."""
    return () if pool == "every link" else POOLS[pool]


def fixed_steps(scenario: Scenario, rounds: int) -> list[Round]:
    """Return steps of all nodes at once, with weights 1/(1 + largest degree)."""
    neighbours = distances(scenario) == 1
    degrees = neighbours.sum(axis=1)
    parts = int(degrees.max()) + 1
    return [all_at_once(neighbours + np.diag(parts - degrees), parts)] * rounds


@cache
def sensitivity(of: Gossip, rounds: int, pool: str, received: str, *, apart: bool = False) -> Array:
    """Return μ² of every owner against a pool, with new noise of deviation 1 in every round.

    A record moves what its owner puts in by 1, in each round alike. Of numbers taken ``apart`` each
    has a μ² of its own, and these are added.
    """
    steps, summed = fixed_steps(of.scenario, rounds), received == "sums"
    seen = system(steps, len(of.ones), POOLS[pool], fresh=True, summed=summed)
    return (separately if apart else squared)(seen, of.ones, known(pool))


def growth(
    of: Gossip, *view: str, apart: bool = False, over: Callable[[Array], float] = np.nanmean
) -> float:
    """Return mean μ², or another figure ``over`` owners, after 2T rounds over that after T."""
    twice, once = (
        over(sensitivity(of, rounds, *view, apart=apart)) for rounds in (2 * ROUNDS, ROUNDS)
    )
    return float(twice / once)


def over_curator(of: Gossip, *view: str) -> float:
    """Return mean μ² over T/N, that of a curator who publishes each round's noisy mean."""
    mu = sensitivity(of, ROUNDS, *view)
    return float(np.nanmean(mu)) * len(mu) / ROUNDS


def pooled(of: Gossip, colluding: Sequence[int]) -> Array:
    """Return the package's μ² z² by linear systems: owners in rows, observing nodes in columns.

    An owner that colludes is observed by the node and the other colluders.
    """
    n, rounds = len(of.ones), meetings(of.trace)
    found = np.full((n, n), np.nan)
    for node in range(n):
        for left_out in ({node}, *({owner} for owner in colluding if owner != node)):
            pool = sorted({node, *colluding} - left_out | {node})
            mu = squared(system(rounds, n, pool), of.ones, pool)
            rows = [*left_out] if left_out != {node} else [u for u in range(n) if u not in pool]
            found[rows, node] = mu[rows]
    return found


@cache
def off_package(of: Gossip, pool: str) -> float:
    """Return the largest difference of the package's μ² z² from the linear system's, all pairs."""
    if pool == "every link":  # the package: as much as one answer of the owner, if it met anybody
        seen = system(meetings(of.trace), len(of.ones), POOLS[pool])
        return float(np.abs(squared(seen, of.ones, ()) - of.trace.released).max())
    colluding = COLLUDING if pool == "three nodes" else ()
    numbered = tuple(owner + 1 for owner in colluding) or None
    ours = NodeObserver(colluding=numbered).squared(of.ones, of.trace)
    return float(np.nanmax(np.abs(ours - pooled(of, colluding))))


class Noted(Wrapped):
    """Averaging, in which the first coordinate of all vectors is noted whenever a node sends."""

    def __init__(self, steps: AveragingSteps) -> None:
        super().__init__(steps)
        self.vectors: list[Array] = []

    @override
    def apply(
        self, state: AveragingState, batch: AnswerBatch, points: Array, answers: Array
    ) -> None:
        super().apply(state, batch, points, answers)
        self.vectors.append(state.vectors[:, :, 0].copy())


@cache
def messages(of: Gossip, *, noisy: bool) -> list[Array]:
    """Return all vectors at each meeting, (replays, M): of replays, or of one without noise."""
    scenario, task = of.scenario, prepare(of.scenario, build_dataset(of.scenario)).task
    assert isinstance(task.steps, AveragingSteps)
    noted, chosen = Noted(task.steps), task if noisy else task.without_noise()
    scopes = [Streams(scenario.run.seed).within("again", r) for r in range(RUNS if noisy else 1)]
    replay([of.trace] * len(scopes), noted, chosen.reply, scopes, 10**6, task.asks)
    return noted.vectors[1::2]  # both of a meeting have put in theirs


@cache
def spread(of: Gossip, pool: str) -> float:
    """Return the variance over replays of a pool's best test, over that of the linear system.

    The test is for the owner of median μ² among those that the pool learns something about.
    """
    step: Any = of.scenario.algorithm.step  # type: ignore[union-attr]
    noise, rounds = step * stated(of.scenario), meetings(of.trace)
    seen = system(rounds, len(noise), POOLS[pool])
    mu = squared(seen, noise, known(pool))
    learned = np.flatnonzero(mu > 1e-9 * np.nanmax(mu))
    owner = int(learned[np.argsort(mu[learned])[len(learned) // 2]])
    test = best_test(seen, noise, known(pool), owner)
    scores = []
    for noisy in (True, False):
        vectors = messages(of, noisy=noisy)
        received = [
            vectors[place][:, nodes].sum(axis=1)
            for place, meeting in enumerate(rounds)
            for nodes in senders(meeting, POOLS[pool])
        ]
        scores.append(test @ np.array(received))
    return float(np.square(scores[0] - scores[1]).mean() / np.square(test @ seen * noise).sum())


def stated(scenario: Scenario) -> Array:
    """Return the deviation that ε asks of a coordinate of each owner's answer: z 2Ξ/n_i."""
    multiplier = scenario.accountant.multiplier
    bound = scenario.privacy.sensitivity.bound  # type: ignore[union-attr]
    assert multiplier is not None
    return np.asarray(multiplier * 2 * bound / scenario.owners.records)


def sure(_: Sweep) -> Range:
    """Return four standard errors of a variance over replays around 1."""
    about = 4 * np.sqrt(2 / RUNS)
    return 1 - about, 1 + about


def pictures(sweep: Sweep) -> Sequence[Picture]:
    """Draw the squared sensitivity over a curator's on the grid, a row for each view."""
    of = gossip(sweep, "grid")
    scale = len(of.ones) / DRAWN
    mu = [scale * sensitivity(of, DRAWN, *view) for view in VIEWS]
    mean, least, most = (
        np.array([f(each) for each in mu]) for f in (np.nanmean, np.nanmin, np.nanmax)
    )
    places, names = np.arange(len(VIEWS)), [", ".join(view) for view in VIEWS]
    marks = [
        Layer("rows", mean, places, least, most, look=DOTS | {"capsize": 0}),
        Layer("line", most, places, look=DOTS | {"marker": "D", "markerfacecolor": "white"}),
        *(written(x, y, number(x), "above", BLUE) for y, x in enumerate(mean)),
        Layer("upright", 1.0, look=TRUTH),
        written(1.0, places[-1], "curator", "left"),
    ]
    y = {"limits": (len(VIEWS) - 0.5, -0.6), "ticks": places.tolist(), "labels": names}
    table = {"view": np.array(names), "mean": mean, "least": least, "most": most}
    results = [cell.result for cell in sweep.cells if cell.values[VARIANT] == "grid"]
    title = learned(mean, most)
    return [captioned("threat-models", title, marks, table, results, 2.6, y=y, rounds=DRAWN)]


def learned(mean: Array, most: Array) -> str:
    """Return what the first of the views costs, on average and at most, and the last."""
    return (
        f"On a grid of 16, sums cost an owner {number(mean[0])} times a curator's squared "
        f"sensitivity against one node on average, and {number(most[0])} times at most; messages "
        f"on every link cost {number(mean[-1])} times"
    )


GROWTH = "squared sensitivity after 32 rounds over that after 16"
OVER = "mean squared sensitivity over a curator's"
TESTED = "variance of the best test over the linear system's"
READINGS: dict[str, Callable[..., float]] = {
    "growth": growth,
    "growth of the most exposed": partial(growth, over=np.nanmax),
    "growth apart": partial(growth, apart=True),
    "over a curator's": over_curator,
    "off the package": off_package,
    "spread": spread,
}


def of(sweep: Sweep, reading: str, graph: str, *view: str) -> float:
    """Return a reading of what a pool of nodes receives on a graph."""
    return READINGS[reading](gossip(sweep, graph), *view)


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
