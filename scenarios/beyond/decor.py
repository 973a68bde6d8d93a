"""Pairwise noise that cancels (DECOR) beside gossip alone (Muffliato), on the same graphs.

A user u sends x_u + z_u + Σ_v ±z_uv, its own noise of variance 1 and one of variance r² for each
neighbour, which has the same with the other sign. With the incidence matrix D of the graph, all
noise is N(0, I + r² D Dᵀ), D Dᵀ being the Laplacian. An observer of everything that is sent learns
μ²_u = [(I + r² D Dᵀ)⁻¹]_uu, which falls to 1/N, a trusted curator's, as r grows. What one node
learns in gossip is exact too: pairs are nodes whose noise two users put in before they meet.

If all noise is k times as large, the error is k² times as large, and μ² is 1/k² of what it was. So
schemes are compared by error times μ², over a curator's, which is 1/N².

Whole users hidden by a trusted aggregator, or by local noise: DECOR's synthetic curves.

Their squared distance to the optimum is read off the plot's own coordinates, the mean of five runs
with its standard deviation. Ours agrees within standard errors of both, below in proportion: a
squared distance is positive, and its runs are skewed.
"""

import tomllib
from collections.abc import Callable
from math import exp, hypot, log, sqrt
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from analysis.again import traces_of
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.privacy.accountants import gaussian_epsilon
from asyncdp_sim.privacy.observers.node import Round, leverages, meetings
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario.paths import VARIANT
from scenarios.papers.claims import Range, cell_of, result
from scenarios.papers.figure import read_figures
from scenarios.papers.problem import SURE, once, scenario, uncertain
from scenarios.papers.resampled import places

SQUARED = (0.0, 1.0, 4.0, 9.0, 16.0)
"""r²; without pairwise noise it is gossip alone."""
LARGE = 1e6
USERS = {"ring": nx.cycle_graph(16), "torus": nx.grid_2d_graph(4, 4, periodic=True)}
USERS |= {"complete": nx.complete_graph(16)}
"""The graphs of the published experiment; its grid has no borders."""
STEPS, DELTA = 3500, 1e-5
_NOISE = Path(__file__).with_name("published_noise.toml")
PUBLISHED: dict[str, list[list[float]]] = tomllib.loads(_NOISE.read_text("utf-8"))


def graph_of(found: Result) -> Any:
    """Return the graph of a result's gossip."""
    said = scenario(found)
    return said.protocol.graph.build(said.owners.count)  # type: ignore[union-attr]


def incidence(graph: Any) -> Array:
    """Return D: a row for each user, and 1 and −1 at the two of each pair."""
    return np.asarray(nx.incidence_matrix(graph, nodelist=sorted(graph), oriented=True).toarray())


def seen_by_all(graph: Any, own: float, pairs: float) -> float:
    """Return the largest μ² of a user whose number moves by 1, against an observer of all."""
    pairwise = incidence(graph)
    return float(np.linalg.inv(own * np.eye(len(graph)) + pairs * pairwise @ pairwise.T).max())


def off_published(_: Sweep, name: str) -> float:
    """Return how far published losses of a step, 2 μ² there, are off ours at most, relatively."""
    rows = PUBLISHED[name]
    ours = [2 * seen_by_all(USERS[name], own**2, pair**2) for _, own, pair, _ in rows]
    return max(abs(each / row[3] - 1) for each, row in zip(ours, rows, strict=True))


def spent(_: Sweep, formula: str) -> float:
    """Return ε of the published noise over the ε that was aimed at, at most, by μ²/2 of a run."""
    rows = [row for graph in PUBLISHED.values() for row in graph]
    return max(FORMULAS[formula](STEPS * row[3]) / row[0] for row in rows)


FORMULAS: dict[str, Callable[[float], float]] = {
    "exact": lambda rho: gaussian_epsilon(1 / sqrt(2 * rho), DELTA),
    "theirs": lambda rho: rho + 2 * sqrt(rho * log(1 / DELTA)),
}


def by_their_formula(sweep: Sweep) -> Range:
    """Return up to ε of the published noise over the aim by the published formula."""
    return 1.0, spent(sweep, "theirs")


def cancelled(sweep: Sweep, name: str) -> float:
    """Return the largest μ² over a curator's, large pairwise noise and everything being sent."""
    graph = graph_of(result(sweep, name))
    return len(graph) * seen_by_all(graph, 1, LARGE)


@once(8)
def costs(of: Result) -> Array:
    """Return N times the error and N times mean μ² of a pair, (2, R, r²), of a cell's meetings."""
    said, pairwise = scenario(of), incidence(graph_of(of)).astype(np.int64)
    users, mixed = np.eye(len(pairwise), dtype=np.int64), np.arange(sum(pairwise.shape))
    weights = np.hstack([users, pairwise])
    puts_in = Round(np.zeros((0, 2), dtype=np.int64), mixed[: len(users)], mixed, weights, 1)
    found = []
    for rounds in map(meetings, traces_of(said)):
        means = users.astype(float)
        for each in rounds:
            means[each.nodes] = each.weights / each.parts @ means[each.sources]
        for squared in SQUARED:
            noise = np.repeat([1.0, sqrt(squared)], pairwise.shape)
            learned = leverages([puts_in, *rounds], noise, weights != 0)[:, : len(users)].sum()
            error = np.square(means).sum() + squared * np.square(means @ pairwise).sum()
            found.append((error, learned / (len(users) - 1)))
    return np.array(found).reshape(-1, len(SQUARED), 2).transpose(2, 0, 1)


def factor(sweep: Sweep, name: str, scheme: str) -> float:
    """Return error times μ² over a curator's: of local noise, gossip alone, or best pairs."""
    found = result(sweep, name)
    known = costs(found)[:, places(found)]
    error, learned = known.mean(axis=1)
    if scheme == "local":  # everybody is sent everything
        return float(found.n_owners * error[0])
    return float((error * learned)[0] if scheme == "gossip" else (error * learned)[1:].min())


def unfinished(sweep: Sweep, name: str) -> Range:
    """Return up to what gossip alone costs over a curator."""
    return 1.0, factor(sweep, name, "gossip")


SEEDS = 5
LATE = 3300
"""Updates that are let pass: the last 200 are averaged."""
CURVATURE = float(np.mean(np.square(np.arange(1, 17) / 4)))


def distances(sweep: Sweep, name: str, epsilon: float) -> Array:
    """Return ‖θ − θ*‖² of each run; f(θ) − f(θ*) is half the curvature times it."""
    ran = cell_of(sweep, {VARIANT: name, "privacy.epsilon": epsilon}).result
    k, *figures = ran.columns("curve", "k", "fitness", "relative_fitness")
    f, psi = (each[k > LATE].reshape(len(ran.replicates), -1) for each in figures)
    return np.asarray((2 / CURVATURE * f * psi / (1 + psi)).mean(axis=1))


def distance(sweep: Sweep, name: str, epsilon: float) -> float:
    """Return its mean over runs."""
    return float(distances(sweep, name, epsilon).mean())


def near(sweep: Sweep, name: str, epsilon: float, mean: float, deviation: float) -> Range:
    """Return standard errors around what was published; below, those of the logarithm."""
    theirs, runs = deviation / sqrt(SEEDS - 1), distances(sweep, name, epsilon)
    ours = uncertain(runs)
    below = mean * exp(-SURE * hypot(theirs / mean, ours / float(runs.mean())))
    return below, mean + SURE * hypot(theirs, ours)


RESULTS = read_figures(Path(__file__).with_suffix(".toml"), globals())
