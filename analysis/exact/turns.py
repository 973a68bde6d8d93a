"""Exact moments of asynchronous learning turn by turn: where budgets end, or given the order.

An update of owner i takes the deviations u of all models from θ*, θ_L first, to A_i u + c_i and
noise on θ_i (:class:`~analysis.exact.per_update.GossipMap`). Matrices of all models are worked
out, which takes longer than the blocks of :mod:`~analysis.exact.per_update`.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from analysis.exact import per_update
from analysis.exact.per_update import GossipMap, Initial, Moments, Shape
from analysis.exact.sample_spread import SampleSpread
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.network import Network, simulate


@dataclass(frozen=True, eq=False)
class Turn:
    """An update of one owner.

    Attributes
    ----------
    owner : int
        i, from 0.
    factor, shift : array (d, d), array (d,)
        A_i and c_i, d = (N + 1) p.
    form : array (p, p)
        Covariance of noise of variance 1.
    step : float
        s_i.
    spread : SampleSpread, optional
        Where answers are over samples of records.
    """

    owner: int
    factor: Array
    shift: Array
    form: Array
    step: float
    spread: SampleSpread | None = None

    @classmethod
    def every(
        cls, process: GossipMap, noise: Shape, spread: SampleSpread | None = None
    ) -> "list[Turn]":
        """Return those of all owners; the last two parameters as for ``per_update.moments``."""
        size, p = process.n_owners + 1, process.n_features
        central, found = process.central_factor * np.eye(p), []
        for i, (own, drift) in enumerate(zip(process.factor, process.drift, strict=True)):
            factor = np.eye(size * p).reshape(size, p, size, p)
            shift, pair = np.zeros((size, p)), [0, i + 1]
            for row, part, moved in ((0, central, process.central_drift), (i + 1, own, drift)):
                factor[row], shift[row] = 0.0, moved
                factor[row][:, pair] = part[:, None] / 2  # of the mean of both models
            step, form = float(process.step[i]), per_update.form_of(process, noise)
            found.append(cls(i, factor.reshape(size * p, -1), shift.ravel(), form, step, spread))
        return found

    def after(self, chance: Array, mean: Array, second: Array, level: Array) -> tuple[Array, Array]:
        """Return E u and E uuᵀ on events after the update.

        Parameters
        ----------
        chance : array (S,)
            Probabilities of the events.
        mean, second : array (S, d), array (S, d, d)
            On the events, before.
        level : array (S,)
            Variance of each coordinate of what noise adds to θ_i.
        """
        moved = mean @ self.factor.T
        mixed = moved[:, :, None] * self.shift
        found = self.factor @ second @ self.factor.T + mixed + mixed.transpose(0, 2, 1)
        found += chance[:, None, None] * np.outer(self.shift, self.shift)
        p = len(self.form)
        own = slice((self.owner + 1) * p, (self.owner + 2) * p)
        found[:, own, own] += (chance * level)[:, None, None] * self.form
        if self.spread is not None:
            met = (second[:, :p] + second[:, own]) / 2
            middle, q = (met[:, :, :p] + met[:, :, own]) / 2, (mean[:, :p] + mean[:, own]) / 2
            sampled = self.spread.of_owner(self.owner, middle, q, chance)
            found[:, own, own] += self.step**2 * sampled
        return moved + chance[:, None] * self.shift, found


def _start(process: GossipMap, initial: Initial, events: int) -> tuple[Array, Array]:
    v, u = per_update.started(process, initial)
    return np.tile(v.ravel(), (events, 1)), np.tile(u.reshape(v.size, -1), (events, 1, 1))


def capped_size(process: GossipMap, answers: Ints) -> int:
    """Return how many numbers :func:`capped_moments` works out, N ((N+1)p)² for every count."""
    per_state = process.n_owners * ((process.n_owners + 1) * process.n_features) ** 2
    states = prod(cap + 1 for cap in np.minimum(answers, process.updates).tolist())
    return int(states * per_state)


def capped_moments(
    process: GossipMap,
    answers: Ints,
    noise_variance: Array | None = None,
    *,
    noise: Shape = "vector",
    initial: Initial = "zeros",
    spread: SampleSpread | None = None,
) -> Moments:
    """Run the recursion over the counts m_i of answers so far: exact, whatever the caps.

    Until its K_i-th answer owner i is next with probability π_i/Σ π_j over those that are not
    silent. Whose updates they were depends on the past through m = (m_1 … m_N) alone, so that

        P(m⁺) = Σ_i w_i(m) P(m),   m⁺ = m + e_i,   w_i(m) = π_i/Σ_{j: m_j < K_j} π_j,

    and so with E[u; m] and E[uuᵀ; m], each transformed by owner i's update. Moments after k updates
    are sums over the m with Σ m_i = k. There are Π (K_i + 1) of these, see :func:`capped_size`.

    Parameters
    ----------
    process : GossipMap
        The algorithm with its numbers; π_i while nobody is silent.
    answers : array of int (N,)
        K_i ≥ 1.
    noise_variance : array (N,) or (N, K), optional
        As there; or, of K ≥ K_i columns, of the first, second … answer of each owner.
    noise, initial, spread
        As for :func:`~analysis.exact.per_update.moments`.

    Returns
    -------
    Moments
        For k = 0 … min(T, Σ K_i), after which nobody is left.
    """
    n, p, units = process.n_owners, process.n_features, np.eye(process.n_owners, dtype=np.int64)
    caps = np.minimum(answers, process.updates)
    caps = caps * (process.probability > 0)  # who never has an update is not waited for
    levels = per_update.variances(process, noise_variance)
    turns = Turn.every(process, noise, spread)
    counts, chance = np.zeros((1, n), dtype=np.int64), np.ones(1)
    v, u = _start(process, initial, 1)
    mean, second = [v[0, :p]], [u[0, :p, :p]]
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for _ in range(min(process.updates, int(caps.sum()))):
            left = counts < caps
            weight = left * process.probability
            weight /= weight.sum(axis=1, keepdims=True)
            rows = [np.flatnonzero(left[:, i]) for i in range(n)]
            before, reached = counts, [counts[rows[i]] + units[i] for i in range(n)]
            counts, where = np.unique(np.concatenate(reached), axis=0, return_inverse=True)
            targets = np.split(where.ravel(), np.cumsum(list(map(len, rows[:-1]))))
            sums = [np.zeros((len(counts), *part.shape[1:])) for part in (chance, v, u)]
            for i, (of, to) in enumerate(zip(rows, targets, strict=True)):
                share = weight[of, i]
                level = levels[i] if levels.ndim == 1 else levels[i, before[of, i]]
                events = chance[of] * share
                moved = turns[i].after(
                    events, v[of] * share[:, None], u[of] * share[:, None, None], level
                )
                for total, part in zip(sums, (events, *moved), strict=True):
                    total[to] += part
            chance, v, u = sums
            mean.append(v[:, :p].sum(axis=0))
            second.append(u[:, :p, :p].sum(axis=0))
    v, u = v.sum(axis=0).reshape(n + 1, p), u.sum(axis=0).reshape(n + 1, p, n + 1, p)
    return Moments(
        hessian=process.hessian,
        optimum=process.optimum,
        mean=np.array(mean) + process.optimum,
        second=np.array(second),
        copies_mean=v[1:] + process.optimum,
        copies_second=u[1:, :, 1:],
        cross_second=u[0][:, 1:],
    )


def ordered(
    process: GossipMap,
    owners: Ints,
    ks: Ints,
    noise_variance: Array | None = None,
    *,
    noise: Shape = "vector",
    initial: Initial = "zeros",
    numbers: Ints | None = None,
    hessian: Array | None = None,
    optimum: Array | None = None,
) -> Array:
    """Return E f(θ_L,k) − f(θ*) at chosen k given whose updates 1, 2, … are, (R, J).

    Noise is averaged over, not drawn. The order of the updates may have any law, as long as it does
    not look at the models.

    Parameters
    ----------
    process : GossipMap
        The algorithm with its numbers; its π_i do not matter.
    owners : array of int (R, T)
        Owners (from 0) of each order's updates; −1 after its last, where models stay.
    ks : array of int (J,)
        Rising, from 0 to T.
    noise_variance : array (N,) or (N, K), optional
        As for :func:`~analysis.exact.per_update.moments`; or of the first, second …
        answer of each owner.
    noise, initial : str
        As there.
    numbers : array of int (R, T), optional
        How many answers each update's owner had released before: required where there are K.
    hessian, optimum : array (p, p), array (p,), optional
        Of another quadratic fitness that judges the model; the training one by default.
    """
    variance, turns = per_update.variances(process, noise_variance), Turn.every(process, noise)
    levels = variance[owners] if variance.ndim == 1 else variance[owners, numbers]
    (v, u), p = _start(process, initial, len(owners)), process.n_features
    found = []
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for k in range(int(ks[-1]) + 1):
            if k in ks:
                seen = per_update.CentralMoments(
                    process.hessian, process.optimum, v[:, :p] + process.optimum, u[:, :p, :p]
                )
                found.append(seen.expected_excess(hessian, optimum))
            for turn in turns if k < ks[-1] else ():
                of = np.flatnonzero(owners[:, k] == turn.owner)
                v[of], u[of] = turn.after(np.ones(len(of)), v[of], u[of], levels[of, k])
    return np.stack(found, axis=1)


@dataclass(frozen=True, eq=False)
class Orders:
    """Orders and times of updates, of simulations of a network.

    Attributes
    ----------
    owners : array of int (R, K)
        Owners (from 0) of the updates; −1 after a run's last, and where several make one.
    numbers : array of int (R, K)
        How many answers each update's owner had released before, lost ones too; 0 where none is.
    staleness : array of int (R, K)
        Updates between each update's read and its use; 0 where owners are −1.
    times : array (R, K + 1)
        Time units until update k = 0, 1, …; a run that has ended stays where it ended.
    """

    owners: Ints
    numbers: Ints
    staleness: Ints
    times: Array


def orders(network: Network, count: int, seed: int) -> Orders:
    """Simulate a network, whose timing does not look at models, so many times.

    Parameters
    ----------
    network : Network
    count : int
        R ≥ 2.
    seed : int
    """
    streams = Streams(seed).within("forecast", "network")
    traces = [simulate(network, streams.within(r)) for r in range(count)]
    longest = max(trace.n_updates for trace in traces)
    owners, times = np.full((count, longest), -1), np.zeros((count, longest + 1))
    numbers = np.zeros((count, longest), dtype=np.int64)
    staleness = np.zeros_like(numbers)
    for row, trace in enumerate(traces):
        if not network.protocol.makes_updates:
            owners[row, : trace.n_updates] = trace.updates["owner"] - 1
            numbers[row, : trace.n_updates] = trace.numbers
            staleness[row, : trace.n_updates] = trace.updates["staleness"]
        times[row, 1 : trace.n_updates + 1] = to_units(trace.update_ticks)
        times[row, trace.n_updates + 1 :] = times[row, trace.n_updates]
    return Orders(owners, numbers, staleness, times)
