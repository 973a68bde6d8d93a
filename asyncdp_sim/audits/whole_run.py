"""A scenario attacked end to end: many runs on each of two neighbouring datasets.

Where answers are summed, nothing but sums is heard. Who attacks knows both datasets, so that of
every sum with the attacked owner in it all is known but noise; and what as many other owners added
as may collude. As many others drop out of a sum as are tolerated: their noise is not in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audits.check import Check, Fact, Pair, attack, most_shown
from asyncdp_sim.audits.claims import Opened, owed
from asyncdp_sim.audits.derived import (
    Counts,
    Short,
    coincidences,
    heard,
    shared,
    undercharged,
    votes_of,
)
from asyncdp_sim.audits.eavesdropper import View, overhear
from asyncdp_sim.audits.neighbours import Neighbours
from asyncdp_sim.audits.per_answer import ratio
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Advance
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.privacy.mechanisms import LearnerNoise
from asyncdp_sim.runs.replicates import Map, blocks
from asyncdp_sim.scenario import Scenario


SCORES = ("likelihood", "differences", "answers", "first answer", "end")
"""Of each run: the log-likelihood ratio of all answers, how closely their noise coincides, how many
the attacked owner released, the tick of its first one, and the tick at which the run ended."""
_PART = 100
"""Runs that a worker is given at once."""


@dataclass(frozen=True, eq=False)
class Attacked:
    """The outcome of runs on both datasets.

    Attributes
    ----------
    check : Check
    most : array of int (N,)
        The largest number of answers that each owner sent in a run.
    short : Short
        What the ledger did not charge, at worst.
    shared : int
        Answers without noise of their own, in all runs.
    fewest : int
        Of answers in a sum that was opened, where sums are heard.
    """

    check: Check
    most: Counts
    short: Short
    shared: int
    fewest: int


def audit_run(
    scenario: Scenario,
    pair: Neighbours,
    runs: int,
    doubt: float,
    *,
    what: str = "the whole run",
    stream: str = "run",
    workers: int = 1,
    run_map: Map,
    advance: Advance | None = None,
) -> Attacked:
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
    workers : int
        Number of processes, ≥ 1. Results do not depend on it.
    run_map : callable
        A ``map`` over so many; see :func:`~asyncdp_sim.runs.replicates.processes`.
    advance : callable, optional
        Told how many more runs are done.
    """
    # what is seen of timing that depends on records is no function of Gaussian answers
    claim = owed(scenario)[pair.owner].of_all(gaussian=scenario.timing_unaccounted is None)
    numbers, results = range(1, runs + 1), list[_Part]()
    parts = [numbers[block] for block in blocks(runs, -(-runs // _PART))]
    for side in (0, 1):
        attacked = partial(_attacked, scenario, pair, stream, side)
        for at in range(0, len(parts), workers):
            lots = parts[at : at + workers]
            results += run_map(attacked, lots)
            if advance is not None:
                advance(sum(map(len, lots)))
    scored, most, short, bare, fewest = zip(*results, strict=True)
    sides = scored[: len(parts)], scored[len(parts) :]
    first, second = (np.concatenate(side_scores, axis=1) for side_scores in sides)
    scores: dict[str, Pair] = {name: (first[row], second[row]) for row, name in enumerate(SCORES)}
    shown, largest = attack(scores, claim, doubt), most_shown(claim, runs, doubt)
    called = scenario.owners.participants[pair.owner]
    check = Check(what, called, claim, shown, runs, largest, scenario.privacy.noun)
    return Attacked(check, np.max(most, axis=0), max(short), sum(bare), min(fewest))


_Part = tuple[Array, Counts, Short, int, int]


def _attacked(
    scenario: Scenario, pair: Neighbours, stream: str, side: int, numbers: Sequence[int]
) -> _Part:
    """Return the scores (len(SCORES), runs) of runs on one dataset, and what was counted."""
    problem = (pair.first, pair.second)[side]
    within = Streams(scenario.run.seed).within("audit", stream, side)
    views = [overhear(scenario.network, problem.task, within.within(n)) for n in numbers]
    opened = Opened.of(scenario) if scenario.privacy.listener.sees_sums else None
    scores, bare, fewest = _judged(pair, views, side, opened)
    short = undercharged(problem, owed(scenario), views)
    return scores, np.max(list(map(heard, views)), axis=0), short, bare, fewest


def _judged(
    pair: Neighbours, views: Sequence[View], side: int, opened: Opened | None
) -> tuple[Array, int, int]:
    """Return the scores of runs, how many answers had no noise of their own, and the least sum.

    ``opened`` is None where single answers are seen.
    """
    count = [len(view.owners) for view in views]
    owners = np.concatenate([view.owners for view in views])
    places = np.concatenate([view.places for view in views])
    points = np.concatenate([view.points for view in views])
    answers = np.concatenate([view.answers for view in views])
    likelihood, close = np.zeros(len(views)), np.zeros(len(views))
    bare, fewest = 0, pair.first.task.objective.n_owners
    if len(owners) > 0:
        moving = [view.bounds for view in views if view.bounds is not None]
        bounds = np.concatenate(moving) if len(moving) > 0 else None
        first, second = (
            problem.task.reply.exact(owners, points, bounds)
            for problem in (pair.first, pair.second)
        )
        noise = pair.first.task.reply.noise
        exact = np.split((first, second)[side], np.cumsum(count)[:-1])
        bare = sum(map(shared, [noise] * len(views), views, exact))
        if opened is not None:
            parts = [np.split(problem, np.cumsum(count)[:-1]) for problem in (first, second)]
            sum_scores = told_in_runs(opened, pair, views, *parts)
            likelihood = np.array([score for score, _ in sum_scores])
            fewest = min(few for _, few in sum_scores)
        else:
            close = coincidences(noise, pair.owner, views, first, second)
            ratios = ratio(noise, places, answers, first, second)
            with np.errstate(invalid="ignore"):
                np.add.at(likelihood, np.repeat(np.arange(len(views)), count), ratios)
    attacked = [view.trace.exchanges["owner"] == pair.owner + 1 for view in views]
    sent = [
        view.trace.exchanges[his & (view.trace.exchanges["transmissions"] > 0)]
        for view, his in zip(views, attacked, strict=True)
    ]
    scores = np.array(
        [
            np.nan_to_num(likelihood, nan=0.0, posinf=np.inf, neginf=-np.inf),
            close,
            [float(len(rows)) for rows in sent],
            [float(rows["release_tick"].min()) if len(rows) > 0 else np.inf for rows in sent],
            [float(view.trace.end_tick) for view in views],
        ]
    )
    return scores, bare, fewest


def told_in_runs(
    opened: Opened,
    pair: Neighbours,
    views: Sequence[View],
    first: Sequence[Array],
    second: Sequence[Array],
) -> list[tuple[float, int]]:
    """Return of each run what its sums tell, and the fewest answers in one that was opened.

    A sum of m shares that nobody tells has noise of variance m (n_i s_i)² on each coordinate; that
    it tells is its log-likelihood ratio. Clip bounds that move tell noisy counts besides. Sums with
    noise that is correlated over rounds are whitened first, all of them.

    Parameters
    ----------
    opened : Opened
        The fewest answers of a sum, and how many owners reveal their shares of noise.
    pair : Neighbours
    views : sequence of View
        What went on air in each run.
    first, second : sequence of array (m, p)
        Gradients of those answers on the two datasets.
    """
    records = pair.first.task.objective.records.astype(float)
    runs = zip(views, first, second, strict=True)
    return [_told(pair, records, opened, *run) for run in runs]


def _told(
    pair: Neighbours, records: Array, opened: Opened, view: View, first: Array, second: Array
) -> tuple[float, int]:
    scale, owner = pair.first.noise.scale, pair.owner
    made = view.trace.updates["k"]
    if len(made) == 0:
        return 0.0, len(scale)
    owners, used = view.owners[: len(made)], len(made)
    n = records[owners][:, None]
    unknown, moved = n * (view.answers - first)[:used], n * (second - first)[:used]
    likelihood, fewest, times = _counted(pair, view), len(scale), view.times
    rounds, noise = _runs_of(made), pair.first.noise
    if isinstance(noise, LearnerNoise) and len(noise.column) > 1:
        begins = [begin for begin, _ in rounds]
        sums = (np.add.reduceat(values, begins) for values in (unknown, moved))
        left, apart = (noise.whitened(summed) for summed in sums)
        variance = noise.parts * (scale * records)[owner] ** 2
        fewest = min(end - begin for begin, end in rounds)
        return float(((left - apart / 2) * apart).sum() / variance), fewest
    for begin, end in rounds:
        summed = owners[begin:end]
        fewest = min(fewest, len(summed))
        other_owners = np.flatnonzero(summed != owner)
        if len(other_owners) == len(summed):
            continue
        missing = opened.colluders + max(0, len(summed) - opened.least)
        hidden = np.delete(np.arange(begin, end), other_owners[:missing])
        apart = moved[begin:end].sum(axis=0)
        left = unknown[hidden].sum(axis=0) - apart / 2
        variance = np.square((scale * records)[owners[hidden]] * times[hidden]).sum()
        likelihood += float(left @ apart / variance)
    return likelihood, fewest


def _counted(pair: Neighbours, view: View) -> float:
    """Return the log-likelihood ratio of the noisy counts that a run's clip bounds tell."""
    law = pair.first.task.reply.bound
    if law is None or view.path is None:
        return 0.0
    first, second = (votes_of(problem, view) for problem in (pair.first, pair.second))
    owners = np.bincount(view.trace.updates["k"])[1:]
    shares = law.quantile - np.diff(np.log(view.path)) / law.rate
    left = (shares - 0.5) * owners - (first + second) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = left * (second - first) / np.square(law.noise)
    return float(np.sum(ratios[second != first]))


def _runs_of(made: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    """Return where the answers of each update begin and end."""
    ends = np.flatnonzero(np.diff(made)) + 1
    return list(zip([0, *ends.tolist()], [*ends.tolist(), len(made)], strict=True))


def sums_hold(scenario: Scenario, fewest: Sequence[int]) -> list[Fact]:
    """Check the least number of answers in an opened sum, for observers of sums."""
    if scenario.privacy.listener.aggregation(scenario.owners.count) is None:
        return []
    seen, least = min(fewest), Opened.of(scenario).least
    sentence = f"sums opened: of {seen} answers or more, {least} claimed"
    return [Fact(sentence, seen < least)]
