"""Facts that a claim rests on besides the noise, counted and compared in the attacked runs.

An owner that releases more answers than its budget holds has spent more than ε_i, however hard it
is to measure. An attack on the mechanism counts only if runs use that mechanism. And independent
noise never coincides with other noise or with 0: where it does under one dataset and not under the
other, the difference of two answers is an exact function of the records, and reveals a record.

Of a :class:`View`, ``used`` is how many of its answers learning used, which come first; ``places``
are the rows of the noise scales that its answers have; and ``times`` is how much larger than in the
first round each answer's noise is, where clip bounds move. ``drawn`` is noise in units of its
scale. Owners count from 0 in arrays and in names that end in ``index``, from 1 in sentences.
"""

from collections import Counter
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
from asyncdp_sim.privacy.guarantee import Ledger
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome

RUNS = 8
"""Number of runs of which every answer and model is compared with what it should be."""
MOST = 64
"""Number of answers of a run that are compared in pairs; those of the attacked owner come first."""
_SAME_NOISE = 1e-13
"""Distance below which two rows of noise of scale 1 are the same, times 1 + the largest answer in
units of its noise. Rounding of two ways to one gradient stays below it; of 10⁵ answers (5·10⁹
pairs) with one coordinate of independent Laplace noise, some pair comes as close by chance with
probability 3·10⁻⁴ times this factor, and with more coordinates practically never."""
_LEAST_DISTANCE = 1e-9
"""Distance of noise of scale 1 that counts as none. Noise is found as (answer − gradient)/scale,
which rounds by up to 10⁻¹⁶ times an answer's size in noise scales: less than this up to 10⁶ scales.
It caps a score at ln 10⁹ = 21 if distances are of order 1."""
_SAME_NUMBER = 1e-9
"""Relative difference up to which two computations of one number agree. Gradients of a batch differ
from those taken one by one by about 10⁻¹³; another noise, or none, changes the first digits."""

_ROUNDED = 1e-5
"""Of δ: what a ledger may say less, besides a share of ε, where δ alone nearly suffices. A charge
that is a millionth smaller, as accountants round it, lowers ε by a few millionths of δ there."""


def coincidence_scores(
    noise: AnswerNoise, owner: int, views: Sequence[View], first: Array, second: Array
) -> Array:
    """Return for each run how much closer noise comes to other noise under the second dataset.

    A score is ln(d₁/d₂), where d₁ and d₂ are the smallest distances between two numbers of noise of
    scale 1, or between one and 0, under the two datasets. Only pairs whose distance the attacked
    record changes count; each has a number of the attacked owner in it. 0 where there are none.

    Parameters
    ----------
    noise : AnswerNoise
    owner : int
        The attacked owner, from 0.
    views : sequence of View
        What the observer received in each run.
    first, second : array (m, p)
        Gradients of all answers of all runs, run after run, on the two datasets.

    Returns
    -------
    array (runs,)
    """
    scores = np.zeros(len(views))
    ends = np.cumsum([len(view.owners) for view in views])
    of_runs = zip(views, np.split(first, ends[:-1]), np.split(second, ends[:-1]), strict=True)
    for run, (view, *gradients) in enumerate(of_runs):
        order = np.argsort(view.owners != owner, kind="stable")[:MOST]
        own = int(np.count_nonzero(view.owners[order] == owner))
        if own == 0:
            continue
        places, answers = view.places[order], view.answers[order]
        drawn = np.stack([noise.drawn(places, exact[order], answers) for exact in gradients])
        drawn /= view.times[order, None]  # noise grows with a moving clip bound, its rows do not
        distances = np.abs(_differences(np.where(np.isfinite(drawn), drawn, np.nan), own))
        changed = np.abs(distances[0] - distances[1]) > _LEAST_DISTANCE
        if changed.any():
            least = np.maximum(distances[:, changed].min(axis=1), _LEAST_DISTANCE)
            scores[run] = np.log(least[0] / least[1])
    return scores


def _differences(drawn: Array, own: int) -> Array:
    """Return differences (2, pairs) of noise (2, m, p), the first ``own`` rows with all others."""
    mine = drawn[:, :own]
    first, other = np.triu_indices(own, 1)
    left, right = np.triu_indices(drawn.shape[2], 1)
    parts = [
        mine,  # each number of an own answer, less 0
        mine[:, first] - mine[:, other],  # one coordinate, of two own answers
        mine[:, :, None] - drawn[:, None, own:],  # one coordinate, of an own and another's answer
        mine[:, :, left] - mine[:, :, right],  # two coordinates, of one own answer
    ]
    return np.concatenate([part.reshape(2, -1) for part in parts], axis=1)


def count_without_own_noise(noise: AnswerNoise, view: View, exact: Array) -> int:
    """Return how many answers of a run have the noise of another answer, or none at all.

    An answer that repeats another one exactly does not count: it says nothing new. 0 where noise
    lies on a grid, on which independent noise may coincide.

    Parameters
    ----------
    noise : AnswerNoise
    view : View
        What the observer received in the run.
    exact : array (m, p)
        The gradients at its queries, on the dataset that it was run on.
    """
    if noise.added is None or len(view.owners) == 0:
        return 0
    noisy = noise.scale[view.places] > 0
    answers = view.answers[noisy]
    drawn = noise.drawn(view.places[noisy], exact[noisy], answers) / view.times[noisy, None]
    units = np.abs(answers).max(axis=1, initial=0.0) / noise.scale[view.places[noisy]]
    close = _SAME_NOISE * (1 + units.max(initial=0.0))
    none = np.abs(drawn).max(axis=1, initial=0.0) < close
    # Rows with the same noise agree in the first coordinate: sorted by it they are neighbours, and
    # m − 1 comparisons find them in place of m(m − 1)/2.
    order = np.argsort(drawn[:, 0])
    same_noise = (np.abs(np.diff(drawn[order], axis=0)) < close).all(axis=1)
    same_answer = (np.diff(answers[order], axis=0) == 0).all(axis=1)
    of_another = same_noise & ~same_answer & ~none[order][1:]
    return int(np.count_nonzero(none)) + int(np.count_nonzero(of_another))


@dataclass(frozen=True, order=True)
class Undercharge:
    """The ε that a ledger charges an owner too little for one run.

    Attributes
    ----------
    amount : float
        ε that is not charged; 0 where nothing is missing. Undercharges are ordered by it.
    owner_index : int
    count : int
        How many answers (or gradients, see :func:`charged_unit`) it sent in the run, up to those
        that its budget holds. What it sent beyond them is judged by :func:`budget_fact`.
    cost : float
        ε of this count.
    """

    amount: float = 0.0
    owner_index: int = 0
    count: int = 0
    cost: float = 0.0


def charged_values_sent(view: View) -> Ints:
    """Return how many distinct values with a charge each owner sent in a run, (N,), lost ones too.

    They are answers, or the gradients that these are made of: see :func:`charged_unit`. An owner
    that answers once, and repeats that answer, has sent one.
    """
    if view.trace.answers_once:
        return np.bincount(view.owners, minlength=view.trace.n_owners).astype(np.int64)
    rows = view.trace.exchanges
    sent = rows["owner"][rows["transmissions"] > 0] - 1
    return np.bincount(sent, minlength=view.trace.n_owners).astype(np.int64) * view.gradients


def charged_unit(scenario: Scenario) -> str:
    """Return what a ledger charges, in words: answers, or the gradients that they are made of."""
    return "gradients" if scenario.values_hidden > 1 else "answers"


def budget_fact(scenario: Scenario, most: Ints) -> Fact:
    """Judge whether some owner sends more answers in a run than its budget holds.

    Parameters
    ----------
    scenario : Scenario
    most : array of int (N,)
        The largest number of charged values that each owner sent in a run.
    """
    claims, numbers = owed(scenario), scenario.owners.participants
    over = [int(count) - claim.answers for count, claim in zip(most, claims, strict=True)]
    worst = int(np.argmax(over))
    claim, count = claims[worst], int(most[worst])
    sentence = f"{charged_unit(scenario)} of owner {numbers[worst]} in a run: up to {count} sent"
    sentence += f", {claim.answers} claimed"
    if over[worst] > 0:
        sentence += f", ε = {number(claim.cost(count))} by composition"
    return Fact(sentence, refutes=over[worst] > 0)


def largest_undercharge(
    problem: Problem, claims: Sequence[Owed], views: Sequence[View]
) -> Undercharge:
    """Return the largest undercharge of an owner in these runs, by the cost that a claim states."""
    ledger = Ledger.from_traces(problem.accountant, [view.trace for view in views])
    worst = Undercharge()
    for view, spent in zip(views, ledger.spent.tolist(), strict=True):
        for i, sent in enumerate(charged_values_sent(view).tolist()):
            count = min(sent, claims[i].answers)
            cost = claims[i].cost(count)
            least = cost * (1 - claims[i].slack) - _ROUNDED * claims[i].delta
            if np.isfinite(cost) and spent[i] < least:
                worst = max(worst, Undercharge(cost - spent[i], i, count, cost))
    return worst


def ledger_fact(scenario: Scenario, worst: Undercharge) -> Fact:
    """Judge whether a ledger charges all that was sent within budgets."""
    sentence = "the ledger charges every answer that was sent"
    if worst.amount > 0:
        owner = scenario.owners.participants[worst.owner_index]
        sentence = (
            f"the ledger: owner {owner} sent {worst.count} {charged_unit(scenario)} within its "
            f"budget, which cost ε = {number(worst.cost)}, and was charged "
            f"{number(worst.cost - worst.amount)}"
        )
    return Fact(sentence, refutes=worst.amount > 0)


def recomputed_fact(whose: str, stated: float, anew: float | None) -> Fact:
    """Judge whether a stated ε is at least the one that a second method computes.

    Parameters
    ----------
    whose : str
        The observer's name in a sentence.
    stated : float
        ε as the package computes it.
    anew : float or None
        ε by the second method; None where that takes too long, so that nothing is refuted.
    """
    if anew is None:
        sentence = f"{whose}: ε = {number(stated)} stated; a second computation takes too long here"
        return Fact(sentence, refutes=False)
    sentence = f"{whose}: ε = {number(stated)} stated, {number(anew)} computed by a second method"
    # Both methods add up μ² of Gaussian answers and put no losses on a grid, whatever the owner's
    # claim does: they differ by rounding alone.
    return Fact(sentence, refutes=stated < anew * (1 - Owed.slack))


def own_noise_fact(without: int) -> Fact:
    """Judge by how many answers of all runs have the noise of another one, or none.

    The difference of two answers with the same noise is an exact function of records, for which no
    finite ε holds.
    """
    if without > 0:
        sentence = f"{without} answers have the noise of another one, or none, ε = ∞"
        return Fact(sentence, refutes=True)
    return Fact("every answer has noise of its own", refutes=False)


def own_noise_fact_of_few_runs(problem: Problem, views: Sequence[View]) -> Fact:
    """Judge whether each answer of some runs has noise of its own, or say it was not compared.

    It does not test for leaks that only whole runs show; --thorough does.
    """
    noise = problem.task.reply.noise
    if noise.added is None:
        return Fact("noise lies on a grid: not compared from answer to answer", refutes=False)
    without = 0
    for view in views:
        exact = problem.task.reply.exact(view.owners, view.points, view.bounds)
        without += count_without_own_noise(noise, view, exact)
    if without > 0:
        return own_noise_fact(without)
    count = sum(len(view.owners) for view in views)
    sentence = f"each of {count:,} answers of {len(views)} runs has noise of its own"
    sentence += " (whole runs on two tables were not compared: --thorough)"
    return Fact(sentence, refutes=False)


def same_noise_fact(scenario: Scenario, problem: Problem) -> Fact:
    """Judge whether runs send what the attacked mechanism gives, and learn from nothing else.

    The j-th answer that is used is the gradient at its query, hidden by row j of the run's noise
    (of its copy's, where several copies run); and replay, from which a run's models come, ends at
    the model at which live learning ends.
    """
    for run in range(1, RUNS + 1):
        discrepancy = _discrepancy(scenario, problem, run)
        if discrepancy is not None:
            sentence = f"runs differ from the attacked answers: {discrepancy}"
            return Fact(sentence, refutes=True)
    return Fact(f"noise in {RUNS} runs is that of the attacked answers", refutes=False)


def _discrepancy(scenario: Scenario, problem: Problem, run: int) -> str | None:
    """Return in words what a run sends or learns from wrongly; None if nothing."""
    # Each computation takes the run's streams afresh: a name is handed out once.
    task, scope = problem.task, Streams(scenario.run.seed).within("audit", "same", run)
    view = overhear(scenario.network, task, scope)
    if view.used > 0:
        answer = _misplaced_answer(problem, view)
        if answer is not None:
            return f"answer {answer} of run {run} has the noise scale of another answer"
        answer = _other_answer(scenario, problem, view, scope)
        if answer is not None:
            return f"answer {answer} of run {run} is not its gradient plus the next row of noise"
        round_number = _other_bound(problem, view, scope.afresh())
        if round_number is not None:
            return f"the bound after round {round_number} of run {run} does not follow its votes"
        answer = view.otherwise()
        if answer is not None:
            return f"answer {answer} of run {run} is made of more than its noisy gradients"
    if scenario.timing_unaccounted is None:
        options = ([scope.afresh()], task.record_every, task.asks)
        path = replay([view.trace], task.steps, task.reply, *options)
        if path.final[0].tobytes() != view.final.tobytes():
            return f"replay of run {run} ends at another model"
    return None


def _misplaced_answer(problem: Problem, view: View) -> int | None:
    """Return the first used answer, from 1, whose noise scale is not the one due to it.

    That scale follows from how many answers its owner had sent before.
    """
    used = slice(0, view.used)
    expected = problem.task.reply.places(view.owners[used], _sent_before(view))
    wrong = np.flatnonzero(view.places[used] != expected)
    return int(wrong[0]) + 1 if len(wrong) > 0 else None


def _sent_before(view: View) -> Ints:
    """Return how many answers its owner had sent before each one that was used, (used,).

    Counted here from the exchanges, and not taken from the trace, whose count is what is audited.
    """
    trace = view.trace
    rows = trace.exchanges[trace.exchanges["transmissions"] > 0]
    sent_by_owner, before = Counter[int](), dict[int, int]()
    for owner, _, message in sorted(rows[["owner", "release_tick", "message"]].tolist()):
        before[message] = sent_by_owner[owner]
        sent_by_owner[owner] += 1
    # Answers that were used last may have waited for an update that was never made.
    waiting = trace.exchanges[trace.came_to(ExchangeOutcome.buffered)]
    used = [*trace.updates["message"].tolist(), *waiting["message"].tolist()]
    return np.array([before[message] for message in used])


def _other_answer(scenario: Scenario, problem: Problem, view: View, scope: Scope) -> int | None:
    """Return the first used answer, from 1, that is not its gradient plus the next row of noise."""
    reply, used = problem.task.reply, slice(0, view.used)
    exact = _exact_gradients(scenario, problem, view, scope.afresh())
    [source] = reply.noise_of([scope.afresh()])
    draw = reply.noise.drawing(problem.task.steps.answer_size)
    rows = draw(source, view.used) * view.times[used, None]
    expected = reply.noise.add_noise(view.places[used], exact, rows)
    largest = np.abs(np.where(np.isfinite(expected), expected, 0.0)).max(axis=1, keepdims=True)
    near = _SAME_NUMBER * np.maximum(1.0, largest)
    # Of models that diverge, infinite and undefined numbers agree with their like alone.
    wrong = ~np.isclose(view.answers[used], expected, 0.0, near, equal_nan=True).all(axis=1)
    return int(np.argmax(wrong)) + 1 if wrong.any() else None


def _exact_gradients(scenario: Scenario, problem: Problem, view: View, scope: Scope) -> Array:
    """Return the gradients (used, p) that used answers hide, over sampled records if any are."""
    probability, used, bounds = scenario.privacy.sampling, slice(0, view.used), view.bounds
    owners, points = view.owners[used], view.points[used]
    if probability is None:
        return problem.task.reply.exact(owners, points, None if bounds is None else bounds[used])
    most = max(len(targets) for targets in problem.records.targets)
    draws = scope.generator("sample").random((len(owners), most))
    return problem.records.included(owners, points, draws, probability)


def _other_bound(problem: Problem, view: View, scope: Scope) -> int | None:
    """Return the first round, from 1, whose bound does not follow from its votes and its noise."""
    law = problem.task.reply.bound
    if law is None or view.path is None:
        return None
    rounds = len(view.path) - 1
    votes, owners = votes_by_round(problem, view), np.bincount(view.trace.updates["k"])[1:]
    noisy = votes + law.noise * scope.generator("count").standard_normal(rounds)
    expected = -law.rate * (noisy / owners + 0.5 - law.quantile)
    near = _SAME_NUMBER * np.maximum(1.0, np.abs(expected))
    wrong = ~np.isclose(np.diff(np.log(view.path)), expected, 0.0, near)
    return int(np.argmax(wrong)) + 1 if wrong.any() else None


def votes_by_round(problem: Problem, view: View) -> Array:
    """Return the sum of votes in each round of a run, (K,), were it on these records."""
    law, rounds = problem.task.reply.bound, view.trace.updates["k"]
    if law is None or view.bounds is None:
        return np.zeros(view.trace.n_updates)
    used = slice(0, len(rounds))
    exact = problem.task.reply.gradients.gradient(view.owners[used], view.points[used])
    _, votes = law.clip(exact, view.bounds[used])
    return np.asarray(np.bincount(rounds, votes, view.trace.n_updates + 1)[1:], dtype=float)
