"""Exact moments of asynchronous learning where owners fall silent after so many answers."""

import numpy as np

from analysis.exact.gossip_map import GossipMap
from analysis.exact.per_update import Initial, Moments, Shape, form_of, started, variances
from analysis.exact.sample_spread import SampleSpread
from asyncdp_sim.core.arrays import Array, Ints


def capped_size(process: GossipMap, answers: Ints) -> int:
    """Return how many numbers :func:`capped_moments` works out, N ((N+1)p)² for every count."""
    per_state = process.n_owners * ((process.n_owners + 1) * process.n_features) ** 2
    caps = np.minimum(answers, process.updates).tolist()
    states = 1
    for cap in caps:
        states *= cap + 1
    return states * per_state


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

    and so with E[u; m] and E[uuᵀ; m], u all models' deviations from θ*, each transformed by owner
    i's update (:class:`~analysis.exact.gossip_map.GossipMap`). Moments after k updates
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
    n, units = process.n_owners, np.eye(process.n_owners, dtype=np.int64)
    caps = np.minimum(answers, process.updates)
    caps = caps * (process.probability > 0)  # who never has an update is not waited for
    levels, form = variances(process, noise_variance), form_of(process, noise)
    v, u = started(process, initial)
    counts, chance, v, u = np.zeros((1, n), dtype=np.int64), np.ones(1), v[None], u[None]
    mean, second = [v[0, 0]], [u[0, 0, :, 0]]
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        for _ in range(min(process.updates, int(caps.sum()))):
            left = counts < caps
            weight = left * process.probability
            weight /= weight.sum(axis=1, keepdims=True)
            turns = [np.flatnonzero(left[:, i]) for i in range(n)]
            reached = np.concatenate([counts[turns[i]] + units[i] for i in range(n)])
            before = counts
            counts, where = np.unique(reached, axis=0, return_inverse=True)
            targets = np.split(where.ravel(), np.cumsum([len(rows) for rows in turns[:-1]]))
            sums = [np.zeros((len(counts), *part.shape[1:])) for part in (chance, v, u)]
            for i, (rows, to) in enumerate(zip(turns, targets, strict=True)):
                share = weight[rows, i]
                chances, means = chance[rows] * share, v[rows] * share[:, None, None]
                squares = u[rows] * share[:, None, None, None, None]
                level = levels[i] if levels.ndim == 1 else levels[i, before[rows, i]]
                _turn(process, i, chances, means, squares, chances * level, form, spread)
                for total, part in zip(sums, (chances, means, squares), strict=True):
                    total[to] += part
            chance, v, u = sums
            mean.append(v[:, 0].sum(axis=0))
            second.append(u[:, 0, :, 0].sum(axis=0))
    v, u = v.sum(axis=0), u.sum(axis=0)
    return Moments(
        hessian=process.hessian,
        optimum=process.optimum,
        mean=np.array(mean) + process.optimum,
        second=np.array(second),
        copies_mean=v[1:] + process.optimum,
        copies_second=u[1:, :, 1:],
        cross_second=u[0][:, 1:],
    )


def _turn(
    process: GossipMap,
    i: int,
    chance: Array,
    v: Array,
    u: Array,
    loud: Array,
    form: Array,
    spread: SampleSpread | None,
) -> None:
    """Replace moments on events of these probabilities by those after an update of owner i.

    Parameters
    ----------
    process : GossipMap
    i : int
        From 0.
    chance : array (S,)
    v : array (S, N + 1, p)
        θ_L first.
    u : array (S, N + 1, p, N + 1, p)
    loud : array (S,)
        The variance of each coordinate of what noise adds to θ_i, times ``chance``, and
    form : array (p, p)
        its covariance, of variance 1.
    spread : SampleSpread or None
        Where answers are over samples of records.
    """
    big, own = process.factor[i], 1 + i
    # both models are made of the average: θ_L⁺ and θ_i⁺ are [m I; M_i] ū + [a; e_i], and noise
    turn = np.stack([process.central_factor * np.eye(len(big)), big])  # (2, p, p)
    drift = np.stack([process.central_drift, process.drift[i]])
    q = (v[:, 0] + v[:, own]) / 2
    met = (u[:, 0] + u[:, own]) / 2  # E ū u_jᵀ, (S, p, N + 1, p)
    middle = (met[:, :, 0] + met[:, :, own]) / 2
    moved = np.einsum("xab,sb->sxa", turn, q)
    new = np.einsum("xab,sbc,ydc->sxayd", turn, middle, turn, optimize=True)
    mixed = np.einsum("sxa,yd->sxayd", moved, drift)
    new += mixed + mixed.transpose(0, 3, 4, 1, 2)
    new += np.einsum("s,xa,yd->sxayd", chance, drift, drift)
    new[:, 1, :, 1] += loud[:, None, None] * form
    if spread is not None:
        new[:, 1, :, 1] += process.step[i] ** 2 * spread.of_owner(i, middle, q, chance)
    rows = np.einsum("xab,sbjc->sxajc", turn, met, optimize=True)
    rows += np.einsum("xa,sjc->sxajc", drift, v)
    pair = [0, own]
    u[:, pair] = rows
    u[:, :, :, pair] = rows.transpose(0, 3, 4, 1, 2)
    for x, first in enumerate(pair):
        for y, other in enumerate(pair):
            u[:, first, :, other] = new[:, x, :, y]
    v[:, pair] = moved + chance[:, None, None] * drift
