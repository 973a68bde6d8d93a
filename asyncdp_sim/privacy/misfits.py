"""Faults of a privacy section: whatever does not fit together, the owners or the model."""

from typing import TYPE_CHECKING, Any

import numpy as np

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import show
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.privacy.budgets import MOST_ANSWERS
from asyncdp_sim.privacy.mechanisms import Mechanism, MechanismKind
from asyncdp_sim.spec import kind_of, members, wrong_length

if TYPE_CHECKING:
    from asyncdp_sim.privacy.spec import Privacy


def misfits(privacy: "Privacy", n_owners: int, model: Model) -> list[Fault]:
    """Return what does not fit together, or does not fit the owners."""
    found = out_of_range(privacy, n_owners)
    if privacy.hides:
        found += _missing(privacy)
    if privacy.learner is not None:
        found += _not_added_up(privacy.mechanism)
    if len(found) == 0:
        found += _beyond(privacy, n_owners)
    if len(found) == 0:
        found += _unaffordable(privacy, n_owners) + _half_private(privacy, n_owners)
    if privacy.accountant is not None:
        found += privacy.accountant.faults(privacy)
    if privacy.sampling is not None:
        found += _unsampled(privacy, privacy.sampling)
    if not privacy.budget.even:
        found += _undivided(privacy)
    return found + _unfit(privacy, model)


def out_of_range(privacy: "Privacy", n_owners: int) -> list[Fault]:
    """Return what is of other owners than there are: until it is mended, no ε_i is known."""
    found = privacy.budget.faults(n_owners)
    found += wrong_length("privacy.epsilon", privacy.epsilon, n_owners)
    if privacy.learner is not None:
        found += privacy.learner.faults(n_owners)
    if privacy.overlap > n_owners:
        allowed = f"allowed is at most {n_owners}, the number of owners"
        found.append(Fault("privacy.overlap", str(privacy.overlap), allowed))
    return found


def _undivided(privacy: "Privacy") -> list[Fault]:
    """Return what a budget is not known to be spent unevenly with."""
    budget, listener = privacy.budget.kind, privacy.listener
    found = []
    if privacy.mechanism.composition == "own":
        allowed = f"allowed with privacy.budget {budget}: what adds up, pure or Gaussian noise"
        found.append(Fault("privacy.mechanism", repr(privacy.mechanism.kind), allowed))
    if privacy.sampling is not None:
        allowed = f"allowed is nothing with privacy.budget {budget}: samples are not accounted"
        found.append(Fault("privacy.sampling", f"{privacy.sampling:g}", allowed))
    if not listener.knows_parts:
        allowed = f"allowed with privacy.budget {budget}: transcript"
        found.append(Fault("privacy.observer.kind", repr(listener.name), allowed))
    return found


def _unsampled(privacy: "Privacy", probability: float) -> list[Fault]:
    """Return what there is no proof for where answers are over samples."""
    mechanism, bound, found = privacy.mechanism, privacy.sensitivity, []
    if mechanism.over_samples is None:
        with_noise = "laplace, or gaussian with an accountant: of no other is a proof known"
        allowed = f"allowed with privacy.sampling: {with_noise}"
        found.append(Fault("privacy.mechanism", repr(mechanism.kind), allowed))
    elif mechanism.over_samples == "gaussian" and privacy.accountant is None:
        allowed = "required is privacy.accountant: sampled Gaussian noise has no exact curve"
        found.append(Fault("privacy.sampling", f"{probability:g}", allowed))
    if bound is not None and not bound.enforced:
        allowed = "allowed with privacy.sampling: clip or domain; a declared bound is not watched"
        found.append(Fault("privacy.sensitivity.kind", repr(bound.kind), allowed))
    if bound is not None and bound.norm == "l2-as-published":
        allowed = f"allowed with privacy.sampling: {mechanism.norm}, in which an answer costs its ε"
        found.append(Fault("privacy.sensitivity.norm", repr(bound.norm), allowed))
    if privacy.noise != "vector":
        allowed = 'allowed with privacy.sampling: "vector"; one draw on all coordinates has no ε'
        found.append(Fault("privacy.noise", repr(privacy.noise), allowed))
    if privacy.overlap > 1:
        allowed = "allowed with privacy.sampling: 1; shared records are not accounted"
        found.append(Fault("privacy.overlap", str(privacy.overlap), allowed))
    if privacy.learner is not None:
        allowed = "allowed is nothing with an own learner: copies are not accounted"
        found.append(Fault("privacy.sampling", f"{probability:g}", allowed))
    return found


def _missing(privacy: "Privacy") -> list[Fault]:
    found, needed = [], f"this field is required with mechanism {privacy.mechanism.kind}"
    if privacy.epsilon is None:
        found.append(Fault("privacy.epsilon", "nothing", f"{needed}: ε > 0, or inf"))
    if privacy.sensitivity is None:
        allowed = f"{needed}: declared, clip or domain"
        found.append(Fault("privacy.sensitivity", "nothing", allowed))
    if privacy.needs_delta and privacy.delta is None:
        if not privacy.mechanism.needs_delta:
            needed = "this field is required with an accountant"
        allowed = f"{needed}: δ in (0, 1), well below 1/n"
        found.append(Fault("privacy.delta", "nothing", allowed))
    return found


def _unaffordable(privacy: "Privacy", n_owners: int) -> list[Fault]:
    """Return a fault where answers have a price, and a budget holds not one or any number."""
    each, key = privacy.prices(n_owners), "privacy.budget.per_answer"
    if len(each) == 0:
        return []
    budgets = privacy.epsilons(n_owners).tolist()
    if np.inf in budgets:
        allowed = "allowed is nothing where ε = ∞: no number of answers spends that"
        return [Fault(key, show(privacy.budget.model_dump()["per_answer"]), allowed)]
    for price, epsilon in zip(each, budgets, strict=True):
        if price * MOST_ANSWERS < epsilon:
            allowed = f"allowed is at least {epsilon / MOST_ANSWERS:g}, for 10^9 answers"
            return [Fault(key, f"{price:g}", allowed)]
        if price > epsilon:
            return [Fault(key, f"{price:g}", f"allowed is at most the budget, ε = {epsilon:g}")]
    if max(privacy.answers_allowed(n_owners, 1)) > MOST_ANSWERS:  # a Gaussian budget holds more
        allowed = "allowed are prices of which a budget holds at most 10^9"
        return [Fault(key, show(privacy.budget.model_dump()["per_answer"]), allowed)]
    return []


def _beyond(privacy: "Privacy", n_owners: int) -> list[Fault]:
    """Return faults where noise for an ε cannot be worked out to the last digits."""
    given = {
        "privacy.epsilon": privacy.asked(n_owners).tolist(),
        "privacy.budget.per_answer": privacy.prices(n_owners),
    }
    least, largest = privacy.mechanism.calibrated
    allowed = f"allowed is {least:g} to {largest:g} with mechanism {privacy.mechanism.kind}"
    return [
        Fault(key, f"{epsilon:g}", allowed)
        for key, epsilons in given.items()
        for epsilon in sorted({e for e in epsilons if np.isfinite(e)})
        if not least <= epsilon <= largest
    ]


def _half_private(privacy: "Privacy", n_owners: int) -> list[Fault]:
    """Return a fault where several owners, but not all, are without noise."""
    exact = int(np.isinf(privacy.asked(n_owners)).sum())
    if exact in (0, n_owners) or (exact == 1 and privacy.overlap == 1):
        return []
    allowed = "allowed is inf for all owners, or for one that plays the learner (as published)"
    if privacy.overlap > 1:
        allowed = "allowed is inf for all owners or for none, where owners share records"
    return [Fault("privacy.epsilon", f"inf for {exact} of {n_owners} owners", allowed)]


def _unfit(privacy: "Privacy", model: Model) -> list[Fault]:
    """Return what does not suit the mechanism, or a bounded domain the model."""
    found, bound, mechanism = [], privacy.sensitivity, privacy.mechanism
    if privacy.noise not in mechanism.shapes:
        allowed = f"allowed is {', '.join(mechanism.shapes)} with mechanism {mechanism.kind}"
        found.append(Fault("privacy.noise", repr(privacy.noise), allowed))
    if privacy.grid is not None and not mechanism.gridded:
        allowed = f"allowed is nothing with mechanism {mechanism.kind}, which has no grid"
        found.append(Fault("privacy.grid", show(privacy.grid), allowed))
    elif privacy.grid is not None and np.frexp(privacy.grid)[0] != 0.5:
        allowed = "allowed is a power of two, such as 0.0009765625 = 2^-10"
        found.append(Fault("privacy.grid", show(privacy.grid), allowed))
    if bound is None:
        return found
    if bound.norm is not None and bound.norm not in mechanism.norms:
        allowed = f"allowed with mechanism {mechanism.kind}: {', '.join(mechanism.norms)}"
        found.append(Fault("privacy.sensitivity.norm", repr(bound.norm), allowed))
    return found + bound.faults(model)


def _not_added_up(mechanism: MechanismKind) -> list[Fault]:
    """Return a fault where it is not known what answers to several copies cost in all."""
    if _adds_up(mechanism):
        return []
    fitting = [kind_of(each) for each in members(Mechanism) if _adds_up(each)]
    allowed = f"allowed with an own learner: {', '.join(fitting)}, whose ε of copies add up"
    return [Fault("privacy.mechanism", repr(mechanism.kind), allowed)]


def _adds_up(mechanism: Any) -> bool:
    return not mechanism.exact and mechanism.composition == "pure"
