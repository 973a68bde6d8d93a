"""A run held against the paper's equations: its noise, its last model, its order, its features.

Noise is drawn from the mechanism itself, and held against the scale that Theorem 1 of Async and of
Collab asks for. The first replicate is learned again here: by its own order of owners and its own
stream of noise (common random numbers), with steps, noise, bounds and projections from the paper's
equations. Both models are then equal but for rounding, so that any other step, noise, budget or
read is red. It asks for kinds, which nothing else may: traits would come from what is judged here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.scored import prepared
from asyncdp_sim.scenario import Scenario
from scenarios.papers import problem
from scenarios.papers.claims import OURS, Claim, Measure, Printed, Range
from scenarios.papers.problem import once

CLOSE = 1e-6
"""Largest relative distance of two models that differ by rounding alone."""
ROWS = 1000
"""Records of the first owner whose features are compared."""
DRAWS = 10_000
"""Answers whose noise is drawn: E |w| = b, of which their mean has a standard error of b/100."""
WITHIN = 4 / sqrt(DRAWS)
"""Four standard errors: |w|/b has mean 1 and standard deviation 1."""
SEED = 31

Gradient = Callable[[int, Array], Array]
"""From an owner, from 0, and a model to the mean of its (clipped) record gradients."""


def scale_claims(xi: Mapping[str, float], theorem: Printed | str) -> tuple[Claim, ...]:
    """Return that noise has the theorem's scale, for variants with these Ξ.

    Parameters
    ----------
    xi : mapping
        Ξ by variant, as the paper, its code or the figure's own choice has it.
    theorem : Printed or str
    """
    quantity = "mean |w| of an answer's noise over 2ΞK/(n_i ε_i), Ξ = {:g}, K answers"
    within = (1 - WITHIN, 1 + WITHIN)
    return _by_bound(xi, quantity, over_theorem_1, within, 1.0, theorem)


def replay_claims(xi: Mapping[str, float]) -> tuple[Claim, ...]:
    """Return that models are those of the paper's equations, for variants with these Ξ."""
    quantity = (
        "first replicate, first and last cell: largest ‖θ − θ'‖/‖θ'‖, θ' by the paper's equations "
        "from the same order and draws, Ξ = {:g}"
    )
    return _by_bound(xi, quantity, off_equations, (0.0, CLOSE), 0.0, OURS)


def _by_bound(
    xi: Mapping[str, float],
    quantity: str,
    measure: Callable[[Sweep, float], float],
    within: Range,
    published: float,
    judges: Printed | str,
) -> tuple[Claim, ...]:
    """Return a claim for each Ξ, of the variants that have it."""

    def measured(bound: float) -> Measure:
        return lambda sweep: measure(sweep, bound)

    return tuple(
        Claim(
            quantity.format(bound), measured(bound), *within, published,
            variants=tuple(name for name in xi if xi[name] == bound), judges=judges,
        )
        for bound in dict.fromkeys(xi.values())
    )  # fmt: skip


def uniformity(sweep: Sweep) -> float:
    """Return how far the first cell's shares of updates are from equal, standard errors of χ².

    NaN of one owner, as :func:`repeats` is, and of single updates.
    """
    return _order(sweep.cells[0].result)[0]


def repeats(sweep: Sweep) -> float:
    """Return how often an owner of the first cell follows itself, standard errors off 1/N."""
    return _order(sweep.cells[0].result)[1]


def features(sweep: Sweep) -> float:
    """Return mean ‖z‖² of the first owner's records over that of X V D^(-1/2).

    X are the encoded columns, V and D of public rows.
    """
    return _features(sweep.cells[0].result)


def over_theorem_1(sweep: Sweep, xi: float) -> float:
    """Return noise over the theorem's scale, of the cell that is farthest from 1."""
    found = [_over(each, xi) for each in _noisy(sweep)]
    return max(found, key=lambda ratio: abs(np.log(ratio)), default=np.nan)


def off_equations(sweep: Sweep, xi: float) -> float:
    """Return how far models are from those of the paper's equations, in the first or last cell."""
    noisy = _noisy(sweep)
    return max((_off(each, xi) for each in (*noisy[:1], *noisy[-1:])), default=np.nan)


def _noisy(sweep: Sweep) -> list[Result]:
    results = [cell.result for cell in sweep.cells]
    return [each for each in results if each.scenario["privacy"]["mechanism"] != "none"]


@once(512)
def _over(result: Result, xi: float) -> float:
    scenario = problem.scenario(result).base()
    replicate, records = result.columns("owners", "replicate", "records")
    own = records[replicate == replicate[0]]
    scale = theorem_1(scenario, own, xi)
    noise, owners = scenario.noise_for(own), np.arange(DRAWS) % len(own)
    rows = noise.rows(np.random.default_rng(SEED), DRAWS, 1)
    drawn = noise.add_noise(owners, np.zeros((DRAWS, 1)), rows)[:, 0]
    return float(np.mean(np.abs(drawn) / scale[owners]))


def theorem_1(scenario: Scenario, records: Array, xi: float) -> Array:
    """Return 2ΞK/(n_i ε_i), K the answers that owners pay for, shape (N,)."""
    said = scenario.plain()["privacy"]
    answers = said["budget"].get("answers", scenario.run.updates)
    epsilon = np.broadcast_to(np.array(said["epsilon"]), records.shape)
    return np.asarray(2 * xi * answers / (records * epsilon))


@dataclass(frozen=True, eq=False)
class Draws:
    """What a replicate of a run drew.

    Attributes
    ----------
    k, owners : array of int
        Of each answer, in order, the update that it is used in, and its owner, both from 0.
    rows : callable
        The next so many rows of standard Laplace noise, as many numbers in each as a model has.
    streams : Scope
        The replicate's.
    """

    k: Ints
    owners: Ints
    rows: Callable[[int], Array]
    streams: Scope


@once(512)
def _off(result: Result, xi: float) -> float:
    scenario = problem.scenario(result).base()
    replicate, owner, k = result.columns("updates", "replicate", "owner", "k")
    of_model, model = result.columns("models", "replicate", "theta_L")
    first = replicate.min()
    own, ends = replicate == first, model[of_model == first]
    if int(k[own].max(initial=0)) != scenario.run.updates:
        return np.inf  # other updates than T
    features, targets = prepared(scenario, build_dataset(scenario)).trained_on
    streams = Streams(scenario.run.seed).within("replicate", int(first))
    noise, size = streams.generator("noise"), features[0].shape[1]

    def rows(count: int) -> Array:
        if scenario.privacy.noise == "vector":
            return noise.laplace(size=(count, size))
        return np.repeat(noise.laplace(size=(count, 1)), size, axis=1)

    draws = Draws(k[own] - 1, owner[own] - 1, rows, streams)
    gradient = _gradient(scenario, features, targets, xi)
    records = np.array([len(each) for each in targets])
    scale = theorem_1(scenario, records, xi)
    learn = _gossip if scenario.algorithm.kind == "async-gossip" else _in_rounds
    with np.errstate(over="ignore", invalid="ignore"):
        again = learn(scenario, records, gradient, scale, draws)
        return float(np.linalg.norm(ends - again) / np.linalg.norm(again))


def _gradient(
    scenario: Scenario, features: Sequence[Array], targets: Sequence[Array], xi: float
) -> Gradient:
    """Return owners' mean record gradients: of (y − θᵀx)², or of max(0, 1 − yθᵀx).

    Where records are clipped, each gradient is scaled down to an L1 norm of Ξ.
    """
    sensitivity: Any = scenario.privacy.sensitivity
    clipped = sensitivity.kind == "clip"
    hinge = scenario.model.kind == "svm"
    if not clipped and not hinge:
        moments = [
            (2 * x.T @ x / len(y), 2 * x.T @ y / len(y))
            for x, y in zip(features, targets, strict=True)
        ]
        return lambda owner, theta: moments[owner][0] @ theta - moments[owner][1]
    lengths = [np.abs(x).sum(axis=1) for x in features]

    def gradient(owner: int, theta: Array) -> Array:
        x, y = features[owner], targets[owner]
        z = x @ theta
        slopes = np.where(y * z < 1, -y, 0.0) if hinge else 2 * (z - y)
        if clipped:
            norms = np.abs(slopes) * lengths[owner]
            slopes = slopes / np.maximum(1.0, norms / xi)
        return np.asarray(x.T @ slopes / len(y))

    return gradient


def _start(scenario: Scenario, streams: Scope, *shape: int) -> Array:
    algorithm: Any = scenario.algorithm
    initial = algorithm.initial
    if initial == "uniform":
        return streams.generator("initial").random(shape)
    return np.full(shape, 1.0 if initial == "ones" else 0.0)


def _sigma(scenario: Scenario) -> float:
    """Return σ of (σ/2)θᵀθ: twice the factor of θᵀθ."""
    given = float(scenario.model.regularisation)
    return 2 * given if scenario.model.regulariser == "square" else given


def _gossip(
    scenario: Scenario, records: Array, gradient: Gradient, scale: Array, draws: Draws
) -> Array:
    """Return θ_L after T updates of Async's Algorithm 1, line 7, with its code's or text's step."""
    algorithm: Any = scenario.algorithm
    count, horizon, sigma = len(records), scenario.run.updates, _sigma(scenario)
    rho = float(algorithm.rho)
    bound = np.inf if scenario.model.theta_max is None else float(scenario.model.theta_max)
    rate = rho / (horizon**2 * sigma)
    proof = algorithm.central_step == "proof"
    of_learner = rate / 2 if proof else (count - 1) / count * rate
    noise = draws.rows(len(draws.owners))
    models = _start(scenario, draws.streams, count + 1, noise.shape[1])
    central, copies = models[0], models[1:]
    shares = records / records.sum()
    for owner, drawn in zip(draws.owners, noise, strict=True):
        mean = (central + copies[owner]) / 2
        answer = gradient(owner, mean) + scale[owner] * drawn
        move = sigma * mean / (2 * count) + shares[owner] * answer
        copies[owner] = np.clip(mean - count * rate * move, -bound, bound)
        central = np.clip(mean - of_learner * sigma * mean, -bound, bound)
    return np.asarray(central)


def _in_rounds(
    scenario: Scenario, records: Array, gradient: Gradient, scale: Array, draws: Draws
) -> Array:
    """Return the judged model after T rounds: θ̄ of Collab's Algorithm 2, or θ of one server."""
    algorithm: Any = scenario.algorithm
    horizon, sigma, shares = scenario.run.updates, _sigma(scenario), records / records.sum()
    averaged, c_1 = algorithm.kind == "collab-2", float(algorithm.step)
    exponent = 0.5 if averaged else float(algorithm.exponent)
    bound = np.inf if scenario.model.theta_max is None else float(scenario.model.theta_max)
    theta, average = np.empty(0), np.empty(0)
    for k in range(1, horizon + 1):
        owners = draws.owners[draws.k == k - 1]
        noise = draws.rows(len(owners))
        if k == 1:
            theta = average = _start(scenario, draws.streams, noise.shape[1])
        if len(np.unique(owners)) != len(records):
            return np.full_like(theta, np.nan)  # each round asks every owner
        answers = [
            shares[owner] * (gradient(owner, theta) + scale[owner] * drawn)
            for owner, drawn in zip(owners, noise, strict=True)
        ]
        lead = 1 / sqrt(horizon)
        average = ((k - 1) * average + (lead + 1) * theta) / (lead + k)
        move = sigma * theta + np.sum(answers, axis=0)
        theta = np.clip(theta - c_1 / k**exponent * move, -bound, bound)
    return average if averaged else theta


@once(512)
def _order(result: Result) -> tuple[float, float]:
    replicate, owner = result.columns("updates", "replicate", "owner")
    count, share = result.n_owners, 1 / result.n_owners
    found, expected = np.bincount(owner, minlength=count + 1)[1:], len(owner) / count
    off = float(np.sum((found - expected) ** 2) / expected - (count - 1))
    beside = replicate[1:] == replicate[:-1]
    again = int(np.count_nonzero(owner[1:][beside] == owner[:-1][beside]))
    pairs = int(np.count_nonzero(beside))
    freedom, spread = sqrt(2 * (count - 1)), sqrt(pairs * share * (1 - share))
    return (
        off / freedom if freedom > 0 else np.nan,
        (again - pairs * share) / spread if spread > 0 else np.nan,
    )


@once(512)
def _features(result: Result) -> float:
    scenario = problem.scenario(result).base()
    dataset: Dataset = build_dataset(scenario)
    data: Any = scenario.data
    table, public = dataset.table, data.public_records
    if table is None:
        return np.nan
    last = np.arange(len(table.target))[-public:]
    rows = np.concatenate(list(table.pieces(last)))
    values, vectors = np.linalg.eigh(rows.T @ rows)
    kept = slice(-dataset.features[0].shape[1], None)
    own = np.concatenate(list(table.pieces(dataset.rows[0][:ROWS])))
    expected = own @ (vectors[:, kept] / np.sqrt(values[kept]))
    return float(np.mean(dataset.features[0][:ROWS] ** 2) / np.mean(expected**2))
