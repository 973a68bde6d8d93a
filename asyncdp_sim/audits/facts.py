"""Facts that a claim rests on besides the noise, counted and compared in the attacked runs.

An owner that releases more answers than its budget holds has spent more than ε_i, however hard it
is to see; and what is shown of the mechanism is worth as much as runs use that mechanism. Noise of
its own never coincides with that of another answer, of another coordinate, or with 0: where it does
under one dataset and not under the other, the difference of two answers is an exact function of the
records, and gives the record away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.audits.check import Fact
from asyncdp_sim.audits.claims import Owed, owed
from asyncdp_sim.audits.eavesdropper import View, overhear
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.words import number
from asyncdp_sim.learning.answers import AnswerNoise
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy.ledger import Ledger
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome

_ROUNDING = 1e-13
"""Of noise of scale 1, and of an answer in such units: what two ways to a gradient leave over. So
little that among all pairs of all runs no two that are independent come as close by chance."""
MOST = 64
"""Answers of a run that are compared, of the attacked owner first."""
_EXACT = 1e-9
"""Of noise of scale 1: what is closer coincides, but for rounding."""


def coincidence_scores(
    noise: AnswerNoise, owner: int, views: Sequence[View], first: Array, second: Array
) -> Array:
    """Return for each run how much closer noise comes to other noise under the second dataset.

    The logarithm of the least distance under the first over that under the second. Only pairs of
    which the record changes the distance are looked at, each of which has a number of the
    attacked owner in it.

    Parameters
    ----------
    noise : AnswerNoise
    owner : int
        Who is attacked, from 0.
    views : sequence of View
        What was heard in each run.
    first, second : array (m, p)
        Gradients of all answers of all runs, run after run, on the two datasets.
    """
    scores, begin = np.zeros(len(views)), 0
    for run, view in enumerate(views):
        rows = slice(begin, begin + len(view.owners))
        begin = rows.stop
        order = np.argsort(view.owners != owner, kind="stable")[:MOST]
        own = int(np.count_nonzero(view.owners[order] == owner))
        if own == 0:
            continue
        places, answers = view.places[order], view.answers[order]
        drawn = np.stack(
            [noise.drawn(places, exact[rows][order], answers) for exact in (first, second)]
        )
        apart = np.abs(_differences(np.where(np.isfinite(drawn), drawn, np.nan), own))
        changed = np.abs(apart[0] - apart[1]) > _EXACT
        if changed.any():
            least = np.maximum(apart[:, changed].min(axis=1), _EXACT)
            scores[run] = np.log(least[0] / least[1])
    return scores


def count_without_own_noise(noise: AnswerNoise, view: View, exact: Array) -> int:
    """Return how many answers of a run have no noise of their own; 0 where it lies on a grid.

    They have that of another answer, or none. An answer that is another one's equal says nothing
    new. On a grid noise may coincide by chance.

    Parameters
    ----------
    noise : AnswerNoise
    view : View
        What was heard in the run.
    exact : array (m, p)
        The gradients at its queries, on the dataset that it was run on.
    """
    if noise.added is None or len(view.owners) == 0:
        return 0
    noisy = noise.scale[view.places] > 0
    answers = view.answers[noisy]
    drawn = noise.drawn(view.places[noisy], exact[noisy], answers) / view.times[noisy, None]
    units = np.abs(answers).max(axis=1, initial=0.0) / noise.scale[view.places[noisy]]
    close = _ROUNDING * (1 + units.max(initial=0.0))
    none = np.abs(drawn).max(axis=1, initial=0.0) < close
    order = np.argsort(drawn[:, 0])
    near = (np.abs(np.diff(drawn[order], axis=0)) < close).all(axis=1)
    same = (np.diff(answers[order], axis=0) == 0).all(axis=1)
    return int(np.count_nonzero(none)) + int(np.count_nonzero(near & ~same & ~none[order][1:]))


def _differences(drawn: Array, own: int) -> Array:
    """Return differences (2, pairs) of noise (2, m, p), the first ``own`` rows with all others.

    Of the same coordinate in two answers, of two coordinates in one answer, and from 0.
    """
    mine = drawn[:, :own]
    first, other = np.triu_indices(own, 1)
    left, right = np.triu_indices(drawn.shape[2], 1)
    parts = [
        mine,
        mine[:, first] - mine[:, other],
        mine[:, :, None] - drawn[:, None, own:],
        mine[:, :, left] - mine[:, :, right],
    ]
    return np.concatenate([part.reshape(2, -1) for part in parts], axis=1)


RUNS = 8
"""Runs whose every answer and model is compared."""
_SAME = 1e-9
"""Relative to the largest number of an answer: gradients taken one by one round otherwise."""


@dataclass(frozen=True, order=True)
class Undercharge:
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


def answers_sent(view: View) -> Ints:
    """Return how many distinct answers each owner sent, by what was on the air.

    Gradients, where answers are made of several.
    """
    if view.trace.answers_once:  # what is on the air again is worked out of the first
        return np.bincount(view.owners, minlength=view.trace.n_owners).astype(np.int64)
    rows = view.trace.exchanges
    sent = rows["owner"][rows["transmissions"] > 0] - 1
    return np.bincount(sent, minlength=view.trace.n_owners).astype(np.int64) * view.gradients


def charged_unit(scenario: Scenario) -> str:
    """Return what is charged: answers, or the gradients that they are made of."""
    return "gradients" if scenario.values_hidden > 1 else "answers"


def budget_fact(scenario: Scenario, most: Ints) -> Fact:
    """Judge the owner that sends most beyond its budget.

    Parameters
    ----------
    scenario : Scenario
    most : array (N,)
        Sent in a run, at most.
    """
    claims, called = owed(scenario), scenario.owners.participants
    over = [int(count) - claim.answers for count, claim in zip(most, claims, strict=True)]
    worst = int(np.argmax(over))
    claim, count = claims[worst], int(most[worst])
    sentence = f"{charged_unit(scenario)} of owner {called[worst]} in a run: up to {count} sent"
    sentence += f", {claim.answers} claimed"
    if over[worst] > 0:
        sentence += f", ε = {number(claim.cost(count))} by composition"
    return Fact(sentence, over[worst] > 0)


def largest_undercharge(
    problem: Problem, claims: Sequence[Owed], views: Sequence[View]
) -> Undercharge:
    """Return where a ledger charges the least of what was sent in these runs."""
    ledger = Ledger.from_traces(problem.accountant, [view.trace for view in views])
    worst = Undercharge()
    for view, spent in zip(views, ledger.spent.tolist(), strict=True):
        for owner, (count, claim) in enumerate(
            zip(answers_sent(view).tolist(), claims, strict=True)
        ):
            cost = claim.cost(min(count, claim.answers))
            if np.isfinite(cost) and spent[owner] < cost * (1 - claim.slack):
                worst = max(worst, Undercharge(cost - spent[owner], owner, count, cost))
    return worst


def ledger_fact(short: Undercharge, called: Sequence[int]) -> Fact:
    """Judge whether the ledger charges all that was on the air."""
    sentence = "the ledger charges every answer that was sent"
    if short.amount > 0:
        sentence = (
            f"the ledger: owner {called[short.owner]} sent {short.count} answers, which cost "
            f"ε = {number(short.cost)}, and was charged {number(short.cost - short.amount)}"
        )
    return Fact(sentence, short.amount > 0)


def recomputed_fact(whose: str, stated: float, anew: float | None) -> Fact:
    """Judge an ε that was stated of an observer beside the same, computed by a second method."""
    if anew is None:
        sentence = f"{whose}: ε = {number(stated)} stated; a second computation takes too long here"
        return Fact(sentence, False)
    sentence = f"{whose}: ε = {number(stated)} stated, {number(anew)} computed by a second method"
    return Fact(sentence, stated < anew * (1 - Owed.slack))


def own_noise_fact(without: int) -> Fact:
    """Judge how many answers, of all runs, have the noise of another one, or none.

    The difference of two answers with the same noise is an exact function of records: no ε is
    finite.
    """
    if without > 0:
        return Fact(f"{without} answers have the noise of another one, or none, ε = ∞", True)
    return Fact("every answer has noise of its own", False)


def own_noise_fact_of_few_runs(problem: Problem, views: Sequence[View]) -> Fact:
    """Judge whether each answer of some runs has noise of its own, or say it was not compared.

    That whole runs carry no more than that is left to attacks on many of them.
    """
    noise = problem.task.reply.noise
    if noise.added is None:
        return Fact("noise lies on a grid: not compared from answer to answer", False)
    without = 0
    for view in views:
        exact = problem.task.reply.exact(view.owners, view.points, view.bounds)
        without += count_without_own_noise(noise, view, exact)
    if without > 0:
        return own_noise_fact(without)
    count = sum(len(view.owners) for view in views)
    sentence = f"each of {count:,} answers of {len(views)} runs has noise of its own"
    return Fact(f"{sentence} (whole runs on two tables were not compared: --thorough)", False)


def same_noise_fact(scenario: Scenario, problem: Problem) -> Fact:
    """Judge whether runs send what the attacked mechanism gives, and learn of nothing else.

    The j-th answer that is used is the gradient at its query, hidden by row j of the run's noise,
    or of its copy's; and replay, which is what a run's models come from, ends where live learning
    does.
    """
    for replicate in range(1, RUNS + 1):
        odd = _odd(scenario, problem, replicate)
        if odd is not None:
            return Fact(f"noise in runs is not that of the attacked answers: {odd}", True)
    return Fact(f"noise in {RUNS} runs is that of the attacked answers", False)


def _sent_before(view: View) -> Ints:
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


def _exact(scenario: Scenario, problem: Problem, view: View, scope: Scope) -> Array:
    """Return the gradients that answers of a run hide, over sampled records if there are any."""
    probability, used, bounds = scenario.privacy.sampling, slice(0, view.used), view.bounds
    owners, points = view.owners[used], view.points[used]
    if probability is None:
        return problem.task.reply.exact(owners, points, None if bounds is None else bounds[used])
    most = max(len(targets) for targets in problem.records.targets)
    draws = scope.generator("sample").random((len(owners), most))
    return problem.records.included(owners, points, draws, probability)


def _miscounted(problem: Problem, view: View, scope: Scope) -> int | None:
    """Return the first round whose bound does not follow from its votes and its noise."""
    law = problem.task.reply.bound
    if law is None or view.path is None:
        return None
    rounds = len(view.path) - 1
    votes, owners = votes_by_round(problem, view), np.bincount(view.trace.updates["k"])[1:]
    noisy = votes + law.noise * scope.generator("count").standard_normal(rounds)
    due = -law.rate * (noisy / owners + 0.5 - law.quantile)
    off = np.abs(np.diff(np.log(view.path)) - due) > _SAME * np.maximum(1.0, np.abs(due))
    return int(np.argmax(off)) + 1 if off.any() else None


def votes_by_round(problem: Problem, view: View) -> Array:
    """Return the sum of votes in each round of a run, (K,), were it on these records."""
    law, made = problem.task.reply.bound, view.trace.updates["k"]
    if law is None or view.bounds is None:
        return np.zeros(view.trace.n_updates)
    used = slice(0, len(made))
    exact = problem.task.reply.gradients.gradient(view.owners[used], view.points[used])
    _, votes = law.clip(exact, view.bounds[used])
    return np.asarray(np.bincount(made, votes, view.trace.n_updates + 1)[1:], dtype=float)


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
        exact = _exact(scenario, problem, view, streams().within(*name))
        misplaced = np.flatnonzero(places != task.reply.places(owners, _sent_before(view)))
        if len(misplaced) > 0:
            return f"answer {misplaced[0] + 1} of run {number} has the part of another one"
        [source] = task.reply.noise_of([streams().within(*name)])
        rows = noise.drawing(size)(source, view.used) * view.times[used, None]
        due = noise.add_noise(places, exact, rows)
        with np.errstate(invalid="ignore"):
            off = np.abs(due - view.answers[used]).max(axis=1)
            far = off > _SAME * np.maximum(1.0, np.abs(due).max(axis=1))
        if far.any():
            return f"answer {int(np.argmax(far)) + 1} of run {number} is another one"
        counted = _miscounted(problem, view, streams().within(*name))
        if counted is not None:
            return f"the clip bound after round {counted} of run {number} is another one"
        made = view.otherwise()
        if made is not None:
            return f"answer {made} of run {number} is made of more than its noisy gradients"
    if scenario.timing_unaccounted is None:
        options = ([streams().within(*name)], task.record_every, task.asks)
        path = replay([view.trace], task.steps, task.reply, *options)
        if path.final[0].tobytes() != view.final.tobytes():
            return f"replay of run {number} ends at another model"
    return None
