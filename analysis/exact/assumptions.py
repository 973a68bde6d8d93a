"""Assumptions of the exact moments of learning, and which of them a scenario breaks.

As an owner whose budget ends leaves the others to make the later updates, exact moments hold only
where it is improbable that one falls silent before the last update.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import ceil, fsum, log2, sqrt

import numpy as np

from analysis.exact.sample_spread import LARGEST, fourth_moments
from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.network import Network
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.channels import mean_attempts
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.update_order import Releases, gap_law, never_stale, releases
from asyncdp_sim.theory.prediction import Unknown

ENDS_EARLY = "the run may end at run.until, before T"
UNEQUAL = "answers have unequal parts of a budget, which depend on the owner's earlier answers"


def out_of_order(scenario: Scenario) -> list[str]:
    """Return the reasons why the order of owners is unknown, which exact moments need."""
    network, result = scenario.network, list[str]()
    if facts_of(network).unknown:
        result.append(facts_of(network).unknown)
    parts = scenario.privacy.allotment(scenario.owners.count)
    if parts is not None and scenario.algorithm.in_rounds is None:
        result.append(UNEQUAL)
    if network.until is not None and not surely_until(network, network.updates):
        result.append(ENDS_EARLY)
    if scenario.algorithm.in_rounds is not None:
        result += _absent(scenario)
    elif not network.protocol.makes_updates and never_stale(network):
        law = answering(network)
        if isinstance(law, Unknown):
            result.append(f"the law of the next update's owner is not known: {law}")
    return result


def _absent(scenario: Scenario) -> Iterator[str]:
    """Yield why rounds are not linear in the answers of all owners, a reason each."""
    network = scenario.network
    facts, least = facts_of(network), min(network.answers_allowed)
    if scenario.algorithm.sample is not None:
        yield "answers use a new random sample of the owner's records each"
    asked, count = scenario.protocol.asked_at_most, scenario.owners.count
    if asked is not None and asked < count:
        yield f"each round is of {asked} of {count} owners, drawn at random"
    deadline = scenario.protocol.round_deadline
    if deadline is not None and not facts.within(deadline):
        yield "answers that miss the deadline are not in their round"
    if facts.loses("answer") or facts.loses("query"):
        yield "rounds may lack answers: messages are lost"
    elif facts.vanishing:
        yield "rounds may lack answers: owners vanish"
    shared = network.channel.contended
    if facts.shared and not (shared is not None and shared.in_turn):
        yield f"rounds may lack answers: {facts.shared}"
    online = scenario.availability.online_share(scenario.owners.count)
    surely = online is not None and min(online) == 1
    if not (scenario.availability.all_return or surely):
        yield f"rounds may lack owners: availability is {scenario.availability.kind}"
    if least < network.updates:
        yield f"a budget of {least} answers is spent before round {network.updates}"


def nonlinear(scenario: Scenario, *, interior: bool = True) -> list[str]:
    """Return the reasons why there are no moments even for a known order of owners.

    Models must be linear in noise and starts for a given order.

    Parameters
    ----------
    scenario : Scenario
    interior : bool
        Whether the optimum without bounds lies in Θ, which data alone tell.
    """
    algorithm, result = scenario.algorithm, list[str]()
    if algorithm.one_on_one is None and algorithm.in_rounds is None:
        several = " with local steps" if algorithm.gradients_per_answer > 1 else ""
        result.append(f"algorithm {algorithm.kind}{several} has no exact moments here")
    if scenario.algorithm.looks_at_models and not never_stale(scenario.network):
        result.append(f"answers under protocol {scenario.protocol.kind} may be stale")
    if not scenario.model.quadratic:
        result.append(f"the loss of model {scenario.model.kind} is not quadratic")
    elif not interior:
        result.append("the optimum lies on the bound of Θ, where the projection acts")
    if scenario.privacy.clip_bound is not None:
        result.append(CLIPPED)
    if scenario.privacy.bound_moves:
        result.append(MOVING)
    sampled = scenario.privacy.sampling is not None
    if sampled and fourth_moments(scenario.owners.count, scenario.numbers) > LARGEST:
        result.append(TOO_LARGE)
    if scenario.network.stops:
        result.append("timing depends on the model")
    return result


SAMPLED = "answers are over samples of records, whose spread depends on the model, not on the order"
TOO_LARGE = "answers are over samples of records, and there are too many fourth moments to compute"
CLIPPED = "clipped gradients are not linear in the model"
MOVING = (
    "the clip bound moves by noisy counts (break-even ε assumes that what noise costs falls with "
    "1/ε², which is rough here)"
)


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
