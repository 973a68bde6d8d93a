"""Owners that fall silent under a lock: how likely they do before the last update.

As an owner whose budget ends leaves the others to make the later updates, exact moments hold only
where that is improbable.
"""

from functools import lru_cache
from math import ceil, fsum, log2, sqrt

import numpy as np

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.network import Network
from asyncdp_sim.theory.formulas.channels import mean_attempts
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.update_order import Releases, gap_law, releases
from asyncdp_sim.theory.prediction import Unknown

RARE = 1e-3
"""Probability of an owner's falling silent before T that is taken for none."""
ENDLESS = 10**9
"""Answers that no run releases."""
BUDGETS_END = "budgets may end before T; later updates are of the remaining owners only"
_FARTHEST = 40.0
"""So many standard deviations above its mean no count is ever met, skewed as it may be."""


def silent_by(law: Releases, answers: Ints, updates: int) -> float:
    """Return a bound on P(some owner is silent before update T), by a sum over owners.

    Owner i, if its budget did not end, would release as many answers until the last exchange
    before update T's as Σ_{k<T} X_k + L: X_k from one update to the next, that one included,
    L in vain before update T. With u the rate of others' updates, and x(z) and f(z) owner i's
    rate of exchanges that end in an update and in vain, each with z to the power of its
    answers,

    E z^X = (u + x(z))/(u + x(1) + f(1) − f(z)),
    E z^L = (u + x(1))/(u + x(1) + f(1) − f(z)),

    from which probabilities follow by a discrete Fourier transform. Where nothing is lost the
    count is binomial with parameters T − 1 and π_i.

    Parameters
    ----------
    law : Releases
    answers : array of int (N,)
        K_i ≥ 1.
    updates : int
        T ≥ 1.
    """
    owners = list(zip(law.rate.tolist(), law.loss.tolist(), answers.tolist(), strict=True))
    chances = {kind: _silent(law, *kind, updates) for kind in dict.fromkeys(owners)}
    return min(1.0, fsum(chances[kind] for kind in owners))


def _silent(law: Releases, rate: float, loss: float, answers: int, updates: int) -> float:
    """Return P(an owner releases K answers before update T)."""
    tries, vain, total = law.attempts, loss**law.attempts, fsum(law.used.tolist())
    most = tries if law.fresh else 1  # answers of an exchange
    mean = updates * rate / total * (mean_attempts(loss, tries) if law.fresh else 1.0)
    gap = rate * vain / total * most + most  # released between updates, and at one
    size = 2 ** ceil(log2(2 * mean + _FARTHEST * (sqrt(mean * gap) + gap)))
    if answers >= size:
        return 0.0
    z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    arrived = (1 - vain) * z
    if law.fresh:
        arrived = sum(loss ** (g - 1) * (1 - loss) * z**g for g in range(1, tries + 1))
    until = total + rate * (vain - vain * z**most)
    used = rate * (1 - vain)
    chance = ((total - used + rate * arrived) / until) ** (updates - 1) * total / until
    return float(max(0.0, np.fft.irfft(chance, size)[answers:].sum()))


def answering(network: Network) -> Releases | Unknown:
    """Return how owners release answers until update T, none of them silent before, or why not."""
    return _answering(facts_of(network))


@lru_cache(maxsize=1)  # as predictions are kept
def _answering(facts: Facts) -> Releases | Unknown:
    network: Network = facts.network
    law = releases(endless(network))
    if isinstance(law, Unknown):
        return law
    rare = silent_by(law, np.array(network.answers_allowed), network.updates) < RARE
    return law if rare else Unknown(BUDGETS_END)


def endless(network: Network) -> Network:
    """Return a network whose budgets never end."""
    return network.model_copy(update={"answers_allowed": (ENDLESS,) * network.n_owners})


def surely_until(network: Network, updates: int) -> bool:
    """Return whether a run surely has so many updates before ``until``; False if unknown."""
    result = gap_law(network)
    return not isinstance(result, Unknown) and result.n_gaps >= updates
