"""A scenario attacked end to end: many runs on each of two neighbouring datasets.

From the outside in: :func:`audit_run` compares the scores of runs on both datasets, by name; a
worker simulates and scores a part of the runs; last come the scores of those sums of answers that
an observer receives in place of single answers.

The attacker knows both datasets: of a sum with the attacked owner's answer in it, everything but
the noise. It also knows the noise of as many other owners as may collude, and as many more may
have dropped out, so that their noise is missing from the sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from asyncdp_sim.audits import facts
from asyncdp_sim.audits.check import Check, Fact, Pair, attack, most_shown
from asyncdp_sim.audits.claims import opened, owed
from asyncdp_sim.audits.eavesdropper import View, overhear
from asyncdp_sim.audits.neighbours import Neighbours
from asyncdp_sim.audits.per_answer import ratio
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.progress import Advance
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.privacy.mechanisms import AnswerNoise, LearnerNoise
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.runs.replicates import Workers, blocks
from asyncdp_sim.scenario import Scenario

_RUNS_PER_CALL = 100
"""Runs that a worker simulates at once."""


@dataclass(frozen=True, eq=False)
class ScoredRuns:
    """Runs on one of two datasets, with their scores.

    Attributes
    ----------
    scores : mapping of array (runs,)
        By name.
    most_sent : array of int (N,)
        The largest number of charged values (answers or gradients) that each owner sent in a run.
    undercharge : Undercharge
        What the ledger did not charge, at worst.
    n_without_own_noise : int
        Answers without noise of their own, in all runs.
    fewest_summed : int
        Answers in the smallest sum that was opened, where the observer receives sums; N elsewhere.
    """

    scores: Mapping[str, Array]
    most_sent: Ints
    undercharge: facts.Undercharge
    n_without_own_noise: int
    fewest_summed: int


def audit_run(
    scenario: Scenario,
    pair: Neighbours,
    runs: int,
    doubt: float,
    *,
    what: str = "the whole run",
    stream: str = "run",
    workers: Workers,
    advance: Advance | None = None,
) -> tuple[Check, list[ScoredRuns]]:
    """Attack everything that the owner of the differing record does in a whole run.

    Parameters
    ----------
    scenario : Scenario
    pair : Neighbours
    runs : int
        Runs on each dataset, ≥ 4.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    what : str, optional
        What the runs are called.
    stream : str, optional
        The name of their random streams.
    workers : Workers
        Results do not depend on their number.
    advance : callable, optional
        Called with the number of runs that were done since the last call.

    Returns
    -------
    Check, list of ScoredRuns
        The attack on the runs' scores, and the runs on both datasets.
    """
    # timing that depends on records is no function of Gaussian answers: the claim is plain then
    claim = owed(scenario)[pair.owner].of_all(gaussian=scenario.timing_unaccounted is None)
    numbers = range(1, runs + 1)
    calls = [numbers[block] for block in blocks(runs, -(-runs // _RUNS_PER_CALL))]
    on_first, on_second = list[ScoredRuns](), list[ScoredRuns]()
    for side, of_side in enumerate((on_first, on_second)):
        worker = partial(_simulate_and_score, scenario, pair, stream, side)
        of_side += workers.map(worker, calls, advance=advance, sizes=[len(call) for call in calls])
    first, second = _joined(on_first), _joined(on_second)
    scores: dict[str, Pair] = {name: (first[name], second[name]) for name in first}
    owner, noun = scenario.owners.participants[pair.owner], scenario.privacy.noun
    finding, most = attack(scores, claim, doubt), most_shown(claim, runs, doubt)
    check = Check(what, owner, claim, finding, runs, most, noun)
    return check, [*on_first, *on_second]


def _joined(parts: Sequence[ScoredRuns]) -> dict[str, Array]:
    return {name: np.concatenate([part.scores[name] for part in parts]) for name in parts[0].scores}


def _simulate_and_score(
    scenario: Scenario, pair: Neighbours, stream: str, side: int, numbers: Sequence[int]
) -> ScoredRuns:
    """Simulate runs of these numbers on the first (``side`` 0) or second dataset, and score them.

    Scores of a run: the log-likelihood ratio of all answers, second dataset over first; how closely
    their noise coincides, if single answers are received; how many answers the attacked owner
    released; the tick of its first one; and the tick at which the run ended.
    """
    problem = (pair.first, pair.second)[side]
    within = Streams(scenario.run.seed).within("audit", stream, side)
    views = [overhear(scenario.network, problem.task, within.within(n)) for n in numbers]
    log_ratios, closeness = np.zeros(len(views)), np.zeros(len(views))
    n_without_own_noise, fewest_summed = 0, pair.first.task.objective.n_owners
    n_answers = [len(view.owners) for view in views]
    if sum(n_answers) > 0:
        noise = pair.first.task.reply.noise
        first, second = _gradients(pair.first, views), _gradients(pair.second, views)
        ends = np.cumsum(n_answers)[:-1]
        first_by_run, second_by_run = np.split(first, ends), np.split(second, ends)
        exact = (first_by_run, second_by_run)[side]
        n_without_own_noise = sum(
            facts.count_without_own_noise(noise, view, g)
            for view, g in zip(views, exact, strict=True)
        )
        if scenario.privacy.listener.sees_sums:
            sums = [
                _of_sums(pair, opened(scenario), *run)
                for run in zip(views, first_by_run, second_by_run, strict=True)
            ]
            log_ratios = np.array([log_ratio for log_ratio, _ in sums])
            fewest_summed = min(n_summed for _, n_summed in sums)
        else:
            closeness = facts.coincidence_scores(noise, pair.owner, views, first, second)
            log_ratios = _of_answers(noise, views, first, second)
    sent = [_release_ticks(view, pair.owner) for view in views]
    scores = {
        "likelihood": np.nan_to_num(log_ratios, nan=0.0, posinf=np.inf, neginf=-np.inf),
        "differences": closeness,
        "answers": np.array([float(len(ticks)) for ticks in sent]),
        "first answer": np.array([min(ticks, default=np.inf) for ticks in sent], dtype=float),
        "end": np.array([float(view.trace.end_tick) for view in views]),
    }
    return ScoredRuns(
        scores,
        most_sent=np.max([facts.charged_values_sent(view) for view in views], axis=0),
        undercharge=facts.largest_undercharge(problem, owed(scenario), views),
        n_without_own_noise=n_without_own_noise,
        fewest_summed=fewest_summed,
    )


def _of_answers(noise: AnswerNoise, views: Sequence[View], first: Array, second: Array) -> Array:
    """Return the log-likelihood ratio of each run's single answers, second dataset over first.

    ``first`` and ``second`` are the gradients (m, p) that the answers of all runs hide. In units of
    an answer's noise the ratio is the same: so each is divided by the ``times`` of its noise.
    """
    places = np.concatenate([view.places for view in views])
    times = np.concatenate([view.times for view in views])[:, None]
    answers = np.concatenate([view.answers for view in views]) / times
    run_of_answer = np.repeat(np.arange(len(views)), [len(view.owners) for view in views])
    log_ratios = np.zeros(len(views))
    with np.errstate(invalid="ignore"):
        scores = ratio(noise, places, answers, first / times, second / times)
        np.add.at(log_ratios, run_of_answer, scores)
    return log_ratios


def _gradients(problem: Problem, views: Sequence[View]) -> Array:
    """Return the gradients (m, p) that the answers of all runs hide, were they on these records."""
    owners = np.concatenate([view.owners for view in views])
    points = np.concatenate([view.points for view in views])
    moving = [view.bounds for view in views if view.bounds is not None]
    bounds = np.concatenate(moving) if len(moving) > 0 else None
    return problem.task.reply.exact(owners, points, bounds)


def _release_ticks(view: View, owner: int) -> list[int]:
    """Return the ticks at which this owner (from 0) released the answers that it sent."""
    rows = view.trace.exchanges
    sent = (rows["owner"] == owner + 1) & (rows["transmissions"] > 0)
    return list(rows["release_tick"][sent].tolist())


def _of_sums(
    pair: Neighbours, summed: tuple[int, int], view: View, first: Array, second: Array
) -> tuple[float, int]:
    """Return the log-likelihood ratio of a run's sums, second dataset over first.

    And, second, the fewest answers of one of its sums.

    A sum is that of the answers of an update, each times n_i; the noise of an answer then has
    variance (n_i s_i t)² on each coordinate, where t is its ``view.times``. For x, a sum less its
    mean on the first dataset, and ``shift`` from this mean to that on the second, the ratio is
    (x − shift/2) · shift/variance. The noisy counts of moving clip bounds add to it.

    Parameters
    ----------
    pair : Neighbours
    summed : tuple of int
        The fewest answers of a sum, and how many owners reveal their noise.
    view : View
        The run; those of its answers that updates used come first.
    first, second : array (answers, p)
        The gradients that its answers hide on the two datasets.
    """
    (least, colluders), noise = summed, pair.first.noise
    update_of_answer = view.trace.updates["k"]
    n_used, fewest = len(update_of_answer), len(noise.scale)
    if n_used == 0:
        return 0.0, fewest
    records = pair.first.task.objective.records.astype(float)  # (N,)
    owners = view.owners[:n_used]
    n = records[owners][:, None]  # rows below are those of used answers: (used, p)
    answer_minus_first = n * (view.answers - first)[:n_used]
    second_minus_first = n * (second - first)[:n_used]
    ends = np.flatnonzero(np.diff(update_of_answer, append=-1)) + 1
    begins = np.concatenate([[0], ends[:-1]])
    fewest = min(fewest, int((ends - begins).min()))
    if isinstance(noise, LearnerNoise) and len(noise.column) > 1:
        sums = (np.add.reduceat(rows, begins) for rows in (answer_minus_first, second_minus_first))
        return _of_correlated(noise, float(records[pair.owner]), pair.owner, *sums), fewest
    log_ratio, deviations = _of_counts(pair, view), noise.scale * records  # n_i s_i
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        positions_of_others = np.flatnonzero(owners[begin:end] != pair.owner)
        if len(positions_of_others) == end - begin:
            continue  # the attacked owner is not in this sum
        # the claim counts on the noise of ``least`` answers less the colluders': the rest is taken
        # off, of whichever owners, as n_i s_i is the same for all
        n_known_or_dropped = colluders + max(0, end - begin - least)
        hidden = np.delete(np.arange(begin, end), positions_of_others[:n_known_or_dropped])
        shift = second_minus_first[begin:end].sum(axis=0)
        from_middle = answer_minus_first[hidden].sum(axis=0) - shift / 2
        variance = np.square(deviations[owners[hidden]] * view.times[hidden]).sum()
        log_ratio += float(from_middle @ shift / variance)
    return log_ratio, fewest


def _of_correlated(
    noise: LearnerNoise, records: float, owner: int, answer_minus_first: Array, shift: Array
) -> float:
    """Return the log-likelihood ratio of sums (T, p) whose noise is correlated over rounds.

    They are whitened first. Such noise excludes moving clip bounds, so that there are no counts;
    and the learner adds it, so that no colluder knows a part and no drop-out takes one away.
    """
    white, white_shift = noise.whitened(answer_minus_first), noise.whitened(shift)
    variance = noise.parts * (noise.scale[owner] * records) ** 2
    return float(((white - white_shift / 2) * white_shift).sum() / variance)


def _of_counts(pair: Neighbours, view: View) -> float:
    """Return the log-likelihood ratio of the noisy counts that moving clip bounds reveal.

    Round k of m_k answers multiplies the bound by exp(−rate (share_k − quantile)), where
    share_k = (votes + noise)/m_k + ½.
    """
    law = pair.first.task.reply.bound
    if law is None or view.path is None:
        return 0.0
    of_pair = (pair.first, pair.second)
    first, second = (facts.votes_by_round(problem, view) for problem in of_pair)  # (K,)
    n_summed = np.bincount(view.trace.updates["k"])[1:]
    shares = law.quantile - np.diff(np.log(view.path)) / law.rate
    from_middle = (shares - 0.5) * n_summed - (first + second) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratios = from_middle * (second - first) / np.square(law.noise)
    return float(np.sum(log_ratios[second != first]))


def sums_hold(scenario: Scenario, fewest_summed: Sequence[int]) -> list[Fact]:
    """Check the least number of answers in an opened sum, for observers of sums."""
    if scenario.privacy.listener.aggregation(scenario.owners.count) is None:
        return []
    seen, (least, _) = min(fewest_summed), opened(scenario)
    sentence = f"sums opened: of {seen} answers or more, {least} claimed"
    return [Fact(sentence, refutes=seen < least)]
