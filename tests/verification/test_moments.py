"""The exact moments of asynchronous learning against the simulator that they describe."""

from functools import cache
from itertools import product

import numpy as np
import pytest

from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network.clocks import PoissonClock

from .gossip_cases import Case, correlated, dense_moments, enumerated, uniform_traces
from .networks import network, replicates, runs
from .zscores import flat, require_kinds, score, shared, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("mean and second moments of the models, and E ψ at any k"),
]

FIT = correlated(n_owners=3, records=20, n_features=4, sigma=0.2, seed=1)
STRONG = Case(FIT, rho=400.0, updates=200, scale=1 / (3 * FIT.weights))
"""Correlated features, strong noise and steps: a weak setting lets bugs pass."""
REPLICATES, CHUNK = 10_000, 1_000
SIMULATED = 1_200
"""Replicates whose networks are simulated."""
SEED = 4
"""Not 1: there E u_2 u_0 is off by z = 4.5. A loop of its own over the same draws gives the same
outcomes to 1e-15, the next 80,000 replicates of seed 1 give z = −1.2, and 80,000 of each of three
fresh seeds give 0.9, 1.0 and −1.5: a freak of that sample, not of the simulator."""
KS = (20, 50, 100, 200)
UNEQUAL = (1.5, 1.0, 0.5)


def relative(found, exact):
    """Return the largest difference, relative to the largest exact value."""
    return np.max(np.abs(found - exact)) / np.max(np.abs(exact))


def measure(case, traces, seed):
    """Return scores by kind of what replay gives over these traces, one run per trace.

    Means and second moments after the last update, ψ at several k, and the squared deviations
    averaged over the path along H's eigenvectors, of which the steep ones mix quickly and so
    tell a wrong scale of noise or step best.
    """
    objective = case.objective
    axes = np.linalg.eigh(objective.hessian)[1]
    last, square, psi, along = [], [], [], []
    for first in range(0, len(traces), CHUNK):
        part = traces[first : first + CHUNK]
        path = replay(part, case.steps, case.reply, replicates(seed, len(part), first), 1)
        deviation = path.central - objective.optimum
        last.append(path.central[-1])
        square.append(deviation[-1][:, :, None] * deviation[-1][:, None, :])
        psi.append(objective.relative_fitness(path.central[list(KS)]).T)
        along.append(((deviation[1:] @ axes) ** 2).mean(axis=0))
    last, square, psi, along = map(np.concatenate, (last, square, psi, along))

    exact = case.moments(case.variance)
    fitness = exact.expected_excess() / objective.least
    mean, second, p = exact.mean[-1], exact.second[-1], objective.n_features
    path = np.einsum("ac,kab,bc->kc", axes, exact.second[1:], axes).mean(axis=0)
    size, spread = np.max(np.abs(mean)), np.sqrt(np.diag(second))
    pairs = [(a, b) for a in range(p) for b in range(a + 1)]
    return {
        "mean": [score(f"θ_{a}", last[:, a], mean[a], size) for a in range(p)],
        "second": [
            *(score(f"ψ at {k}", psi[:, c], fitness[k]) for c, k in enumerate(KS)),
            *(score(f"u_{a} u_{b}", square[:, a, b], second[a, b], spread[a] * spread[b])
              for a, b in pairs),
            *(score(f"path along axis {c}", along[:, c], path[c]) for c in range(p)),
        ],
    }  # fmt: skip


def fabricated(count=REPLICATES, seed=SEED):
    """Return the scores over traces with uniform owners that no network made."""
    generator = np.random.default_rng([seed, 1])
    traces = uniform_traces(generator, count, FIT.n_owners, STRONG.updates)
    return measure(STRONG, traces, seed)


@cache
def simulated(rates, count, seed=1):
    """Return traces of a network in which nothing takes time."""
    net = network(len(rates), STRONG.updates, clock=PoissonClock(rate=rates))
    return list(runs(net, seed, count))


sound = shared(fabricated)


@shared
def sound_unequal():
    chance = np.array(UNEQUAL) / sum(UNEQUAL)
    return measure(STRONG.but(probability=chance), simulated(UNEQUAL, SIMULATED), seed=3)


def scores():
    """Return every score of a sound simulator."""
    return flat([sound(), sound_unequal()])


def test_ten_thousand_replays():
    require_kinds(sound())


@pytest.mark.nightly  # by default with unequal rates
def test_replays_of_simulated_networks():
    found = measure(STRONG, simulated((1.0,) * 3, SIMULATED), seed=2)
    require_kinds(found, mean=0.01, second=0.05)


def test_replays_of_simulated_networks_with_unequal_rates():
    require_kinds(sound_unequal(), mean=0.01, second=0.05)


STEPS, CHANCES = ("proof", "text"), {"uniform": None, "unequal": np.array([0.5, 0.3, 0.2])}
NOISES, STARTS = ("vector", "scalar-as-published"), ("zeros", "ones", "uniform")
EVERY = [
    pytest.param(
        STRONG.but(central_step=step, initial=initial, noise=noise, probability=CHANCES[chance]),
        id=f"{step}-{initial}-{noise[:6]}-{chance}",
    )
    for step, initial, noise, chance in product(STEPS, STARTS, NOISES, CHANCES)
]


@pytest.mark.parametrize("case", EVERY)
def test_blocks_equal_the_dense_recursion(case):
    n, p, last = 3, 4, case.updates
    mean, second = dense_moments(case)
    found = case.moments(case.variance)
    assert relative(found.mean, mean[:, :p]) < 1e-12
    assert relative(found.second, second[:, :p, :p]) < 1e-12
    assert relative(found.copies_mean.ravel(), mean[last, p:]) < 1e-12
    assert relative(found.cross_second.reshape(p, n * p), second[last, :p, p:]) < 1e-12
    assert relative(found.copies_second.reshape(n * p, n * p), second[last, p:, p:]) < 1e-12


@pytest.mark.parametrize("case", EVERY[::5])
def test_moments_are_affine_in_the_noise_of_each_owner(case):
    def excess(variance):
        return case.moments(variance).expected_excess()

    free = excess(None)
    gain = np.stack([excess(one) - free for one in np.eye(3)], axis=1)
    for variance in (case.variance, np.array([0.0, 7.0, 0.1])):
        assert relative(free + gain @ variance, excess(variance)) < 1e-10


def small(noise, **changes):
    """Return a case whose every outcome can be enumerated."""
    updates = {"none": 6, "vector": 3, "scalar-as-published": 4}[noise]
    fit = correlated(n_owners=3, records=12, n_features=2, sigma=0.2, seed=2)
    scale = np.array([1.0, 2.0, 0.5]) * (noise != "none")
    shape = "vector" if noise == "none" else noise
    return Case(fit, 0.02 * updates**2, updates, scale, shape, **changes)


OTHERS = {"uniform": None, "unequal": np.array([0.6, 0.3, 0.1])}
SMALL = [
    pytest.param(
        small(noise, central_step=step, initial=initial, probability=OTHERS[chance]),
        id=f"{noise[:6]}-{step}-{initial}-{chance}",
    )
    for noise, step, initial, chance in product(("none", *NOISES), STEPS, STARTS[:2], OTHERS)
]


@pytest.mark.parametrize("case", SMALL)
def test_replay_of_every_outcome_is_exact(case):
    """All owner sequences times all signs of two-point noise: no Monte Carlo, no tolerance."""
    mean, second = enumerated(case)
    found = case.moments(case.variance)
    assert relative(mean, found.mean) < 1e-12
    assert relative(second, found.second) < 1e-12


@pytest.mark.nightly
def test_fresh_seeds():
    def fresh(seed, factor):
        return flat([fabricated(count=2 * REPLICATES * factor, seed=seed)])

    two_stages(fresh)


@pytest.mark.nightly
def test_fresh_seeds_simulated():
    def fresh(seed, factor):
        return flat([measure(STRONG, simulated((1.0,) * 3, 20_000 * factor, seed), seed=seed)])

    two_stages(fresh)
