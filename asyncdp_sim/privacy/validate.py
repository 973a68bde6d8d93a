"""Faults of a privacy section: fields that do not match each other, the owners or the model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.privacy.budgets import MOST_ANSWERS
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.privacy.observers import Observer, ObserverKind
from asyncdp_sim.spec.base import kind_of, members, wrong_length
from asyncdp_sim.spec.validation import show

if TYPE_CHECKING:
    from asyncdp_sim.privacy.spec import Privacy


def misfits(privacy: "Privacy", n_owners: int, model: Model) -> list[Fault]:
    """Return faults of combinations of fields, and of fields that do not match the owners."""
    faults = _out_of_range(privacy, n_owners)
    if privacy.hides:
        faults += _missing(privacy)
    if privacy.learner is not None and not _adds_up(privacy.mechanism):
        fitting = [kind_of(mechanism) for mechanism in members(Mechanism) if _adds_up(mechanism)]
        hint = f"allowed with an own learner: {', '.join(fitting)}, whose ε of copies add up"
        faults.append(Fault("privacy.mechanism", repr(privacy.mechanism.kind), hint))
    if len(faults) == 0:
        faults += _beyond(privacy, n_owners)
    if len(faults) == 0:
        faults += [*_unaffordable(privacy, n_owners), *_half_private(privacy, n_owners)]
    if privacy.accountant is not None:
        faults += privacy.accountant.faults(privacy)
    if privacy.sampling is not None:
        faults += _unsampled(privacy, privacy.sampling)
    if not privacy.budget.even:
        faults += _undivided(privacy)
    return [*faults, *_whole(privacy), *_correlated(privacy), *_unfit(privacy, model)]


def _out_of_range(privacy: "Privacy", n_owners: int) -> list[Fault]:
    """Return faults of fields for a wrong number of owners; with them no ε_i is known."""
    faults = privacy.budget.faults(n_owners)
    faults += wrong_length("privacy.epsilon", privacy.epsilon, n_owners)
    if privacy.learner is not None:
        faults += privacy.learner.faults(n_owners)
    if privacy.overlap > n_owners:
        hint = f"allowed is at most {n_owners}, the number of owners"
        faults.append(Fault("privacy.overlap", str(privacy.overlap), hint))
    return faults


def _whole(privacy: "Privacy") -> Iterator[Fault]:
    """Yield what is not known to hide a whole owner, or is known of owners alone."""
    bound, listener = privacy.bounded, privacy.listener
    kind = repr(getattr(bound, "kind", None))
    if not privacy.per_owner and privacy.adjacency not in (None, "replaced"):
        hint = 'allowed only with privacy.unit = "owner": one record is replaced'
        yield Fault("privacy.adjacency", repr(privacy.adjacency), hint)
    if privacy.per_owner:
        yield from _not_of_owners(privacy)
    if privacy.bound_moves and not (privacy.per_owner and listener.learner_adds_noise):
        learner = 'privacy.unit = "owner" and privacy.observer "model", whose learner counts'
        yield Fault("privacy.sensitivity.kind", kind, f"allowed with {learner}")


def _not_of_owners(privacy: "Privacy") -> Iterator[Fault]:
    """Yield what is not known to hide a whole owner."""
    bound, listener = privacy.bounded, privacy.listener
    kinds = cast("list[type[ObserverKind]]", members(Observer))
    ways = [kind_of(kind) for kind in kinds if kind.model_validate({}).for_owners().hides_owners]
    checks: list[tuple[bool, str, str, str]] = [
        (bound is not None and bound.clip_bound is None, "sensitivity.kind",
         repr(getattr(bound, "kind", None)), "clip, which bounds an owner's whole answer"),
        (bound is not None and bound.norm == "l2-as-published", "sensitivity.norm",
         "'l2-as-published'", f"{privacy.mechanism.norm}, in which an answer costs its ε"),
        (not listener.hides_owners, "observer.kind", repr(listener.name), " or ".join(ways)),
        (privacy.sampling is not None, "sampling", f"{privacy.sampling}", "nothing: an owner is "
         "in every answer of its own"),
        (privacy.overlap > 1, "overlap", str(privacy.overlap), "1: no two owners are one"),
        (privacy.learner is not None, "learner", "a table", "nothing: one copy of the model"),
    ]  # fmt: skip
    for wrong, name, value, hint in checks:
        if wrong:
            yield Fault(f"privacy.{name}", value, f"allowed with privacy.unit owner: {hint}")


def _correlated(privacy: "Privacy") -> Iterator[Fault]:
    """Yield what noise that is correlated over rounds is not accounted with."""
    if privacy.correlation is None:
        return
    key, bands = "privacy.correlation", len(privacy.correlation.column)
    apart = 1 if privacy.participation is None else privacy.participation.apart or 1
    checks = [
        (not privacy.listener.learner_adds_noise, 'with privacy.unit "owner" and observer "model", '
         "where the learner adds the noise"),
        (apart < bands, f"where an owner's answers are {bands} updates apart or more: set "
         f"privacy.participation.apart to {bands} or more, given {apart}"),
        (privacy.bound_moves, "with a clip bound that stays as it is: sensitivity clip"),
    ]  # fmt: skip
    for wrong, hint in checks:
        if wrong:
            yield Fault(key, f"{bands} bands", f"allowed only {hint}")


def _undivided(privacy: "Privacy") -> Iterator[Fault]:
    """Yield faults of settings without a proof for unequal parts of a budget."""
    budget, listener = privacy.budget.kind, privacy.listener
    if privacy.mechanism.composition == "own":
        hint = f"allowed with privacy.budget {budget}: what adds up, pure or Gaussian noise"
        yield Fault("privacy.mechanism", repr(privacy.mechanism.kind), hint)
    if privacy.sampling is not None:
        hint = f"allowed is nothing with privacy.budget {budget}: samples are not accounted"
        yield Fault("privacy.sampling", f"{privacy.sampling:g}", hint)
    if not listener.knows_parts:
        hint = f"allowed with privacy.budget {budget}: transcript"
        yield Fault("privacy.observer.kind", repr(listener.name), hint)


def _unsampled(privacy: "Privacy", probability: float) -> Iterator[Fault]:
    """Yield faults of settings without a proof for answers over samples."""
    mechanism, bound = privacy.mechanism, privacy.sensitivity
    if mechanism.over_samples is None:
        with_noise = "laplace, or gaussian with an accountant: of no other is a proof known"
        hint = f"allowed with privacy.sampling: {with_noise}"
        yield Fault("privacy.mechanism", repr(mechanism.kind), hint)
    elif mechanism.over_samples == "gaussian" and privacy.accountant is None:
        hint = "required is privacy.accountant: sampled Gaussian noise has no exact curve"
        yield Fault("privacy.sampling", f"{probability:g}", hint)
    if bound is not None and not bound.enforced:
        hint = "allowed with privacy.sampling: clip or domain; a declared bound is not watched"
        yield Fault("privacy.sensitivity.kind", repr(bound.kind), hint)
    if bound is not None and bound.norm == "l2-as-published":
        hint = f"allowed with privacy.sampling: {mechanism.norm}, in which an answer costs its ε"
        yield Fault("privacy.sensitivity.norm", repr(bound.norm), hint)
    if privacy.noise != "vector":
        hint = 'allowed with privacy.sampling: "vector"; one draw on all coordinates has no ε'
        yield Fault("privacy.noise", repr(privacy.noise), hint)
    if privacy.overlap > 1:
        hint = "allowed with privacy.sampling: 1; shared records are not accounted"
        yield Fault("privacy.overlap", str(privacy.overlap), hint)
    if privacy.learner is not None:
        hint = "allowed is nothing with an own learner: copies are not accounted"
        yield Fault("privacy.sampling", f"{probability:g}", hint)


def _missing(privacy: "Privacy") -> Iterator[Fault]:
    needed = f"this field is required with mechanism {privacy.mechanism.kind}"
    if privacy.epsilon is None:
        yield Fault("privacy.epsilon", "nothing", f"{needed}: ε > 0, or inf")
    if privacy.sensitivity is None:
        hint = f"{needed}: declared, clip or domain"
        yield Fault("privacy.sensitivity", "nothing", hint)
    if privacy.needs_delta and privacy.delta is None:
        if not privacy.mechanism.needs_delta:
            needed = "this field is required with an accountant"
        hint = f"{needed}: δ in (0, 1), well below 1/n"
        yield Fault("privacy.delta", "nothing", hint)


def _unaffordable(privacy: "Privacy", n_owners: int) -> Iterator[Fault]:
    """Yield a fault if a budget holds no answer of its price, or too many."""
    prices, key = privacy.prices(n_owners), "privacy.budget.per_answer"
    if len(prices) == 0:
        return
    budgets, stated = (
        privacy.epsilons(n_owners).tolist(),
        show(privacy.budget.model_dump().get("per_answer")),
    )
    if np.inf in budgets:
        hint = "allowed is nothing where ε = ∞: no number of answers spends that"
        yield Fault(key, stated, hint)
        return
    for price, epsilon in zip(prices, budgets, strict=True):
        if price * MOST_ANSWERS < epsilon:
            hint = f"allowed is at least {epsilon / MOST_ANSWERS:g}, for 10^9 answers"
            yield Fault(key, f"{price:g}", hint)
            return
        if price > epsilon:
            yield Fault(key, f"{price:g}", f"allowed is at most the budget, ε = {epsilon:g}")
            return
    if max(privacy.budgeted(n_owners, 1)) > MOST_ANSWERS:  # a Gaussian budget holds more
        yield Fault(key, stated, "allowed are prices of which a budget holds at most 10^9")


def _beyond(privacy: "Privacy", n_owners: int) -> Iterator[Fault]:
    """Yield faults if noise for an ε cannot be computed to full precision."""
    epsilons_by_key = {
        "privacy.epsilon": privacy.asked(n_owners).tolist(),
        "privacy.budget.per_answer": privacy.prices(n_owners),
    }
    least, largest = privacy.mechanism.calibrated
    hint = f"allowed is {least:g} to {largest:g} with mechanism {privacy.mechanism.kind}"
    for key, epsilons in epsilons_by_key.items():
        for epsilon in sorted({e for e in epsilons if np.isfinite(e)}):
            if not least <= epsilon <= largest:
                yield Fault(key, f"{epsilon:g}", hint)


def _half_private(privacy: "Privacy", n_owners: int) -> Iterator[Fault]:
    """Yield a fault if several owners, but not all, have no noise."""
    exact = int(np.isinf(privacy.asked(n_owners)).sum())
    if exact in (0, n_owners) or (exact == 1 and privacy.overlap == 1):
        return
    hint = "allowed is inf for all owners, or for one that plays the learner (as published)"
    if privacy.overlap > 1:
        hint = "allowed is inf for all owners or for none, where owners share records"
    yield Fault("privacy.epsilon", f"inf for {exact} of {n_owners} owners", hint)


def _unfit(privacy: "Privacy", model: Model) -> Iterator[Fault]:
    """Yield faults of fields that do not match the mechanism or the model."""
    bound, mechanism = privacy.sensitivity, privacy.mechanism
    if privacy.noise not in mechanism.shapes:
        hint = f"allowed is {', '.join(mechanism.shapes)} with mechanism {mechanism.kind}"
        yield Fault("privacy.noise", repr(privacy.noise), hint)
    if privacy.grid is not None and not mechanism.gridded:
        hint = f"allowed is nothing with mechanism {mechanism.kind}, which has no grid"
        yield Fault("privacy.grid", show(privacy.grid), hint)
    elif privacy.grid is not None and np.frexp(privacy.grid)[0] != 0.5:
        hint = "allowed is a power of two, such as 0.0009765625 = 2^-10"
        yield Fault("privacy.grid", show(privacy.grid), hint)
    if bound is None:
        return
    if bound.norm is not None and bound.norm not in mechanism.norms:
        hint = f"allowed with mechanism {mechanism.kind}: {', '.join(mechanism.norms)}"
        yield Fault("privacy.sensitivity.norm", repr(bound.norm), hint)
    yield from bound.faults(model)


def _adds_up(mechanism: Any) -> bool:
    return not mechanism.exact and mechanism.composition == "pure"
