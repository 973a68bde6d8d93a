"""Problems, slow twins and made-up traces for the checks of asynchronous learning."""

import itertools
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from analysis.exact.per_update import gossip_map_of, moments
from asyncdp_sim.learning.algorithms import AsyncGossip, Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.trace.vocabulary import UPDATES


class OwnersOnly:
    """A trace for replay that knows the owners of the updates (from 0) and nothing else."""

    def __init__(self, owners):
        self.updates = np.zeros(len(owners), dtype=UPDATES)
        self.updates["owner"] = np.asarray(owners) + 1
        self.updates["k"] = np.arange(1, len(owners) + 1)
        self.n_updates, self.answers_per_update = len(owners), 1
        self.n_owners = int(max(owners, default=0)) + 1


def uniform_traces(generator, replicates, n_owners, updates):
    """Return traces whose owners are independent and uniform."""
    return [OwnersOnly(row) for row in generator.integers(n_owners, size=(replicates, updates))]


def correlated(n_owners, records, n_features, sigma, seed, spread=0.4, noise=0.5):
    """Return an objective with strongly correlated features, X = g·1ᵀ + 0.4 G, unequal owners."""
    g = np.random.default_rng(seed)
    truth = g.normal(size=n_features)
    features, targets = [], []
    for count in range(2 * records, (n_owners + 2) * records, records):
        x = g.normal(size=(count, 1)) + spread * g.normal(size=(count, n_features))
        features.append(x)
        targets.append(x @ truth + noise * g.normal(size=count))
    return Quadratic.from_records(features, targets, sigma, None)


@dataclass(frozen=True)
class Case:
    """A problem with the algorithm's and the noise's numbers."""

    objective: Quadratic
    rho: float
    updates: int
    scale: np.ndarray
    noise: str = "vector"
    central_step: str = "proof"
    initial: str = "zeros"
    probability: np.ndarray | None = None

    @property
    def process(self):
        """The random affine map of theory."""
        how = {"central_step": self.central_step, "probability": self.probability}
        return gossip_map_of(self.objective, rho=self.rho, updates=self.updates, **how)

    @property
    def variance(self):
        """2b², the variance of each coordinate of each owner's noise."""
        return 2 * self.scale**2

    @property
    def steps(self):
        """The simulator's algorithm."""
        spec = AsyncGossip(rho=self.rho, central_step=self.central_step, initial=self.initial)
        o = self.objective
        return spec.steps(Setting(o.weights, o.n_features, self.updates, o.sigma, o.theta_max))

    @property
    def reply(self):
        """The simulator's answers."""
        return AnswerModel(self.objective, LaplaceNoise(self.scale, self.noise))

    def moments(self, variance):
        """Return the exact moments, with such a variance of each owner's noise."""
        return moments(self.process, variance, noise=self.noise, initial=self.initial)

    def but(self, **changes):
        """Return the same case with something changed."""
        return replace(self, **changes)


def dense_moments(case):
    """Return mean and second moment of (θ_L, θ_1 … θ_N) about θ* for k = 0 … T, the slow way.

    Written from the algorithm's text in ordinary coordinates, with full matrices.
    """
    o, n, p = case.objective, case.objective.n_owners, case.objective.n_features
    size, sigma, t = (n + 1) * p, o.sigma, case.updates
    chance = np.full(n, 1 / n) if case.probability is None else case.probability
    alpha = n * case.rho / (t**2 * sigma)
    beta = case.rho / (2 * t**2 * sigma)
    if case.central_step == "text":
        beta = (n - 1) * case.rho / (n * t**2 * sigma)
    maps = []
    for i in range(n):
        a, c, noise = np.eye(size), np.zeros(size), np.zeros((size, size))
        own, f = slice((i + 1) * p, (i + 2) * p), o.weights[i]
        half = np.zeros((p, size))
        half[:, :p], half[:, own] = np.eye(p) / 2, np.eye(p) / 2
        a[:p] = (1 - beta * sigma) * half
        a[own] = ((1 - alpha * sigma / (2 * n)) * np.eye(p) - 2 * alpha * f * o.gram[i]) @ half
        c[own] = 2 * alpha * f * o.moment[i]
        form = np.eye(p) if case.noise == "vector" else np.ones((p, p))
        noise[own, own] = (alpha * f) ** 2 * case.variance[i] * form
        maps.append((chance[i], a, c, noise))
    start = {"zeros": 0.0, "ones": 1.0, "uniform": 0.5}[case.initial]
    mu = np.full(size, start)
    s = np.outer(mu, mu) + (np.eye(size) / 12 if case.initial == "uniform" else 0)
    star = np.tile(o.optimum, n + 1)
    means, seconds = [], []
    for k in range(t + 1):
        means.append(mu)
        seconds.append(s - np.outer(mu, star) - np.outer(star, mu) + np.outer(star, star))
        if k == t:
            break
        s = sum(
            q * (a @ s @ a.T + a @ np.outer(mu, c) + np.outer(c, a @ mu) + np.outer(c, c) + w)
            for q, a, c, w in maps
        )
        mu = sum(q * (a @ mu + c) for q, a, c, _ in maps)
    return np.array(means), np.array(seconds)


class _TwoPoint(LaplaceNoise):
    """Noise of mean 0 and the mechanism's variance that takes the values ±√2 b, by given signs."""

    added: ClassVar = None
    """The outcomes are enumerated for the loop that defines replay."""

    def rows(self, signs, count, n_features):
        """Return the given rows, and zeros in place of those that no answer will take."""
        given = signs.reshape(-1, n_features if self.shape == "vector" else 1)
        found = np.zeros((count, n_features))
        found[: len(given)] = np.sqrt(2) * given
        return found


def enumerated(case):
    """Return mean and second moment of θ_L about θ* for every k by replaying every outcome.

    All owner sequences times all sign patterns of two-point noise, weighted by their
    probabilities; exact, as moments up to the second know of the noise only its variance.
    """
    o, t = case.objective, case.updates
    draws = t * (o.n_features if case.noise == "vector" else 1) if np.any(case.scale) else 0
    patterns = np.array(list(itertools.product((-1.0, 1.0), repeat=draws)))
    sequences = np.array(list(itertools.product(range(o.n_owners), repeat=t)))
    uniform = np.full(o.n_owners, 1 / o.n_owners)
    chance = uniform if case.probability is None else case.probability
    weight = np.repeat(np.prod(chance[sequences], axis=1), len(patterns)) / len(patterns)
    traces = [OwnersOnly(row) for row in np.repeat(sequences, len(patterns), axis=0)]
    if draws == 0:
        patterns = np.zeros((1, t))
    signs = np.tile(patterns, (len(sequences), 1))
    scopes = [SimpleNamespace(generator=lambda _, row=row: row) for row in signs]
    noise = _TwoPoint(case.scale, case.noise)
    path = replay(traces, case.steps, AnswerModel(o, noise), scopes, 1)
    deviation = path.central - o.optimum
    mean = np.einsum("r,kra->ka", weight, path.central)
    return mean, np.einsum("r,kra,krb->kab", weight, deviation, deviation)
