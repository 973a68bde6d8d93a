"""The privacy of a scenario in words: budgets, whom they are against, noise and claims."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from asyncdp_sim.core.messages import FormattedMessage
from asyncdp_sim.core.words import extent
from asyncdp_sim.privacy import Privacy
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.label import composition, stated_participation, stated_unit
from asyncdp_sim.scenario import Scenario


def privacy_lines(scenario: Scenario, whole: Scenario) -> Iterator[str]:
    """Yield lines on the privacy of a cell, and of the whole sweep that it belongs to."""
    privacy, n_owners = scenario.privacy, scenario.owners.count
    if not privacy.hides:
        yield _unhidden(scenario)
        yield from _participation(scenario)
        return
    accountant = scenario.accountant
    yield from _budget(privacy, accountant, n_owners)
    yield from _participation(scenario)
    yield from _listener(scenario)
    yield from _local(scenario)
    yield from _parts(scenario)
    yield from _composed(privacy, accountant, n_owners)
    yield from _spent_early(scenario)
    yield from _claims(scenario)
    yield from _together(whole)


def against_privacy(scenario: Scenario) -> Iterator[str]:
    """Yield problems of a cell's privacy, and budgets that end a run."""
    if not scenario.privacy.hides:
        yield _unhidden(scenario)
        return
    yield from _spent_early(scenario)
    yield from _not_as_claimed(scenario)


def _unhidden(scenario: Scenario) -> str:
    exact = not scenario.algorithm.obfuscates
    words = "none, the answers are exact gradients" if exact else "obfuscated, no DP guarantee"
    return f"privacy: {words}"


def _budget(privacy: Privacy, accountant: Accountant, n_owners: int) -> Iterator[str]:
    """Yield the budget of owners, their number of answers, and the accounting rule."""
    epsilon, answers = accountant.epsilon, accountant.answers
    per_answer = accountant.spent(np.ones_like(answers))
    stated = "" if privacy.delta is None else f", δ = {privacy.delta:g}"
    named = "per answer" if privacy.budget.even else "for the first answer"
    yield (
        f"privacy: ε {extent(epsilon)} per owner over {extent(answers)} answers{stated}, "
        f"{extent(per_answer)} {named}, {privacy.change}"
    )
    allotment = privacy.allotment(n_owners)
    if allotment is not None:
        yield (
            f"schedule: answers use {extent(allotment.relative)} times an equal part of their "
            "owner's budget, in the order of release; a lost answer spends its part, and an "
            "answer that is never computed does not"
        )
    if privacy.accountant is not None:
        yield privacy.accountant.describe(accountant)


def _participation(scenario: Scenario) -> Iterator[str]:
    """Yield how often owners take part, and answers that are paid for and cannot follow."""
    rule = stated_participation([{"scenario": scenario.plain()}])
    if rule is not None:
        yield f"participation: {rule}"
    fit, most = -(-scenario.run.updates // (scenario.apart or 1)), scenario.network.answers_allowed
    if scenario.apart is not None and max(most) > fit and scenario.privacy.hides:
        yield (
            f"the noise is for {extent(most)} answers of an owner, and {scenario.run.updates} "
            f"updates have room for {fit}: with privacy.participation.most = {fit} it is smaller"
        )


def _listener(scenario: Scenario) -> Iterator[str]:
    """Yield the observer that ε is against."""
    privacy = scenario.privacy
    if privacy.observer is not None:
        yield f"observer: ε is against {privacy.listener.describe()}"
    if not privacy.listener.by_count:
        yield "its ε is known after a run, and is at most that against an observer of all answers"
    yield from privacy.listener.check_words(scenario)


def _parts(scenario: Scenario) -> Iterator[str]:
    """Yield the sampling of records, the copies of the model, and the unit of privacy."""
    privacy, n_owners = scenario.privacy, scenario.owners.count
    if privacy.sampling is not None:
        yield (
            f"sampling: each record is in an answer with probability {privacy.sampling:g}; the "
            "draw is secret, and sums are divided by q n_i, which is public"
        )
    if privacy.learner is not None:
        yield (
            f"copies: one of {n_owners}, whose learner is owner {privacy.learner.owner}; "
            f"privacy.epsilon is for all copies, 1/{privacy.learner.parts(n_owners)} of it for "
            f"each, and the learner's own answers are {privacy.learner.own}"
        )
    unit = stated_unit({"scenario": scenario.plain(), "summary": {}})
    if unit is not None:
        yield unit


def _composed(privacy: Privacy, accountant: Accountant, n_owners: int) -> Iterator[str]:
    """Yield the cost of all answers of an owner, and of a record of several owners."""
    rho = accountant.zcdp(accountant.answers)
    if rho is not None and accountant.multiplier is not None:
        yield (
            f"noise multiplier {extent(accountant.multiplier)}; all answers of an owner are "
            f"{extent(rho)}-zCDP (ρ); an answer's own ε is at the same δ and does not add up"
        )
    if privacy.overlap > 1:
        yield (
            f"overlap: {privacy.overlap} owners may hold one record; in total they spend at most "
            f"ε {extent(privacy.asked(n_owners).min(keepdims=True))} of it"
        )


def _spent_early(scenario: Scenario) -> Iterator[str]:
    """Yield a line if budgets end a run before its last update."""
    answers = sum(scenario.network.answers_allowed)
    per_update, once = scenario.algorithm.answers_per_update or 1, scenario.algorithm.answers_once
    if not once and answers < scenario.run.updates * per_update:
        takes = "" if per_update == 1 else f" updates of {per_update}"
        yield FormattedMessage(
            "the budgets allow {allowed} answers in all, fewer than "
            f"T = {{updates}}{takes}: every run ends early",
            allowed=answers,
            updates=scenario.run.updates,
        )


def _local(scenario: Scenario) -> Iterator[str]:
    """Yield the number of gradients in an answer, if there are several."""
    count = scenario.algorithm.gradients_per_answer
    if count > 1 and scenario.privacy.per_owner:
        yield (
            f"local steps: an owner takes {count} exact steps, and their difference is clipped as "
            "a whole and hidden once"
        )
    elif count > 1:
        yield (
            f"local steps: an answer consists of {count} noisy gradients, and each is charged: "
            f"the noise is for {extent(scenario.accountant.answers * count)} of them"
        )


def _together(scenario: Scenario) -> Iterator[str]:
    """Yield the scope of these statements: one replicate of one cell."""
    cells = [scenario.cell(chosen) for chosen in scenario.grid()]
    cells_numbered = enumerate(cells or [scenario.base()])
    hoped = [_hoped(cell) | {"digest": number} for number, cell in cells_numbered]
    alone = composition(hoped)
    if alone is not None:
        yield f"ε {alone}"


def _hoped(scenario: Scenario) -> dict[str, Any]:
    """Return the manifest of a run in which no bound is exceeded and nothing diverges."""
    privacy, timed = scenario.privacy, scenario.timing_unaccounted is None
    is_hoped = privacy.noise == "scalar-as-published" or len(scenario.unsound) > 0
    epsilon = np.inf if is_hoped else float(privacy.asked(scenario.owners.count).max())
    summary = {"epsilon_true": epsilon, "delta": privacy.stated_delta, "timing_accounted": timed}
    return {"scenario": scenario.plain(), "summary": summary}


def _not_as_claimed(scenario: Scenario) -> Iterator[str]:
    if scenario.privacy.noise == "scalar-as-published":
        yield "not private: one noise draw on all coordinates is not private for any ε"
    sensitivity = scenario.privacy.sensitivity
    if sensitivity is not None and sensitivity.norm == "l2-as-published":
        yield "not private as claimed: Laplace noise scaled to an L2 bound gives up to √p ε"


def _claims(scenario: Scenario) -> Iterator[str]:
    yield from _not_as_claimed(scenario)
    privacy, sensitivity = scenario.privacy, scenario.privacy.sensitivity
    if sensitivity is None:
        return
    words = sensitivity.describe(scenario.model, scenario.data.features, privacy.norm)
    if words is not None:
        yield words
    xi = scenario.xi
    if scenario.trained_on is not None and xi is not None:
        records = np.array(scenario.trained_on)
        noise = scenario.noise_for(records)
        sizes = " ".join(f"{name} {extent(figure)}" for name, figure in noise.figures.items())
        manner = ", one draw for all of them" if privacy.noise == "scalar-as-published" else ""
        unit = "an answer" if scenario.values_hidden == 1 else "a gradient"
        on = "all coordinates together" if privacy.mechanism.together else "each coordinate"
        yield f"noise: {sizes or 'none'} on {on} of {unit}{manner}"
        if privacy.bound_moves:
            yield "that noise is of the first round; it grows and shrinks with the clip bound"
