"""Facts that a claim rests on besides the noise, counted and compared in the attacked runs.

An owner that releases more answers than its budget holds has spent more than ε_i, however hard it
is to see; and what is shown of the mechanism is worth as much as runs use that mechanism.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.check import Fact
from asyncdp_sim.audits.overheard import View, overhear
from asyncdp_sim.audits.owed import Owed
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy.ledger import Ledger
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.trace import ExchangeOutcome

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
RUNS = 8
"""Runs whose every answer and model is compared."""
_SAME = 1e-9
"""Relative to the largest number of an answer: gradients taken one by one round otherwise."""


@dataclass(frozen=True, order=True)
class Short:
    """The amount by which a ledger charges less than it should, at worst.

    Attributes
    ----------
    amount : float
        Of ε; 0 is nothing.
    owner : int
        From 0.
    count : int
        Answers that it sent in a run.
    cost : float
        Their ε.
    """

    amount: float = 0.0
    owner: int = 0
    count: int = 0
    cost: float = 0.0


def heard(view: View) -> Counts:
    """Return how many distinct answers each owner sent, by what was on the air.

    Gradients, where answers are made of several.
    """
    if view.trace.answers_once:  # what is on the air again is worked out of the first
        return np.bincount(view.owners, minlength=view.trace.n_owners).astype(np.int64)
    rows = view.trace.exchanges
    sent = rows["owner"][rows["transmissions"] > 0] - 1
    return np.bincount(sent, minlength=view.trace.n_owners).astype(np.int64) * view.gradients


def budgets_hold(
    claims: Sequence[Owed], most: Counts, called: Sequence[int], what: str = "answers"
) -> Fact:
    """Judge the largest number of answers that each owner sent in a run, shape (N,).

    ``called`` are the owners' numbers, ``what`` is "gradients" where answers are made of several.
    """
    over = [int(count) - claim.answers for count, claim in zip(most, claims, strict=True)]
    worst = int(np.argmax(over))
    claim, count = claims[worst], int(most[worst])
    said = f"{what} of owner {called[worst]} in a run: up to {count} sent"
    said += f", {claim.answers} claimed"
    if over[worst] > 0:
        said += f", ε = {claim.cost(count):.4g} by composition"
    return Fact(said, over[worst] > 0)


def undercharged(problem: Problem, claims: Sequence[Owed], views: Sequence[View]) -> Short:
    """Return where a ledger charges the least of what was sent in these runs."""
    ledger = Ledger.of(problem.accountant, [view.trace for view in views])
    found = Short()
    for view, spent in zip(views, ledger.spent.tolist(), strict=True):
        for owner, (count, claim) in enumerate(zip(heard(view).tolist(), claims, strict=True)):
            cost = claim.cost(min(count, claim.answers))
            if np.isfinite(cost) and spent[owner] < cost * (1 - claim.slack):
                found = max(found, Short(cost - spent[owner], owner, count, cost))
    return found


def ledger_holds(short: Short, called: Sequence[int]) -> Fact:
    """Judge whether the ledger charges all that was on the air."""
    said = "the ledger charges every answer that was sent"
    if short.amount > 0:
        said = (
            f"the ledger: owner {called[short.owner]} sent {short.count} answers, which cost "
            f"ε = {short.cost:.4g}, and was charged {short.cost - short.amount:.4g}"
        )
    return Fact(said, short.amount > 0)


def stated_anew(whose: str, stated: float, anew: float | None) -> Fact:
    """Judge an ε that was stated of an observer beside the same, worked out by a second way."""
    if anew is None:
        said = f"{whose}: ε = {stated:.4g} stated; a second way to work it out takes too long here"
        return Fact(said, False)
    said = f"{whose}: ε = {stated:.4g} stated, {anew:.4g} worked out by a second way"
    return Fact(said, stated < anew * (1 - Owed.slack))


def own_noise(without: int) -> Fact:
    """Judge how many answers, of all runs, have the noise of another one, or none.

    The difference of two answers with the same noise is an exact function of records: no ε is
    finite.
    """
    if without > 0:
        return Fact(f"{without} answers have the noise of another one, or none, ε = ∞", True)
    return Fact("every answer has noise of its own", False)


def same_noise(scenario: Scenario, problem: Problem) -> Fact:
    """Judge whether runs send what the attacked mechanism gives, and learn of nothing else.

    The j-th answer that is used is the gradient at its query, hidden by row j of the run's noise,
    or of its copy's; and replay, which is what a run's models come from, ends where live learning
    does.
    """
    for number in range(1, RUNS + 1):
        odd = _odd(scenario, problem, number)
        if odd is not None:
            return Fact(f"noise in runs is not that of the attacked answers: {odd}", True)
    return Fact(f"noise in {RUNS} runs is that of the attacked answers", False)


def _sent_before(view: View) -> Counts:
    """Return how many answers its owner had sent before each one that was used, (used,).

    The last of them may have waited for an update that was never made.
    """
    trace = view.trace
    rows = trace.exchanges[trace.exchanges["transmissions"] > 0]
    waiting = trace.exchanges[trace.came_to(ExchangeOutcome.buffered)]
    used = [*trace.updates["message"].tolist(), *waiting["message"].tolist()]
    sent = sorted(rows[["owner", "release_tick", "message"]].tolist())
    before = {
        message: place - next(k for k, row in enumerate(sent) if row[0] == owner)
        for place, (owner, _, message) in enumerate(sent)
    }
    return np.array([before[message] for message in used])


def _exact(
    scenario: Scenario, problem: Problem, owners: Counts, points: Array, scope: Scope
) -> Array:
    """Return what answers of a run hide: gradients, or those over what its stream says is in."""
    probability = scenario.privacy.sampling
    if probability is None:
        return problem.task.reply.gradients.gradient(owners, points)
    most = max(len(targets) for targets in problem.records.targets)
    draws = scope.generator("sample").random((len(owners), most))
    return problem.records.included(owners, points, draws, probability)


def _odd(scenario: Scenario, problem: Problem, number: int) -> str | None:
    """Return what is not as it should be in a run."""
    task = problem.task

    def streams() -> Streams:
        return Streams(scenario.run.seed)

    name = ("audit", "same", number)
    view = overhear(scenario.network, task, streams().within(*name))
    noise, size, used = task.reply.noise, task.steps.answer_size, slice(0, view.used)
    if view.used > 0:
        owners, places = view.owners[used], view.places[used]
        exact = _exact(scenario, problem, owners, view.points[used], streams().within(*name))
        misplaced = np.flatnonzero(places != task.reply.places(owners, _sent_before(view)))
        if len(misplaced) > 0:
            return f"answer {misplaced[0] + 1} of run {number} has the part of another one"
        [source] = task.reply.noise_of([streams().within(*name)])
        due = noise.hide(places, exact, noise.rows(source, view.used, size))
        with np.errstate(invalid="ignore"):
            off = np.abs(due - view.answers[used]).max(axis=1)
            far = off > _SAME * np.maximum(1.0, np.abs(due).max(axis=1))
        if far.any():
            return f"answer {int(np.argmax(far)) + 1} of run {number} is another one"
        made = view.otherwise()
        if made is not None:
            return f"answer {made} of run {number} is made of more than its noisy gradients"
    if scenario.timing_unaccounted is None:
        how = ([streams().within(*name)], task.record_every, task.asks)
        path = replay([view.trace], task.steps, task.reply, *how)
        if path.final[0].tobytes() != view.final.tobytes():
            return f"replay of run {number} ends at another model"
    return None
