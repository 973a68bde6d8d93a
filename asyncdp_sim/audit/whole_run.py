"""A scenario attacked end to end: many runs on each of two neighbouring datasets."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.audit.check import Check
from asyncdp_sim.audit.neighbours import Neighbours
from asyncdp_sim.audit.overheard import View, overhear
from asyncdp_sim.audit.per_answer import ratio
from asyncdp_sim.privacy import Gaussian
from asyncdp_sim.privacy.attack import Claim, Pair, attack, most_shown
from asyncdp_sim.run.replicates import blocks
from asyncdp_sim.run.workers import processes
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams

Array = npt.NDArray[np.float64]
SCORES = ("likelihood", "answers", "first answer", "end")
"""Of each run: the log-likelihood ratio of all answers, how many the attacked owner released, the
tick of its first one, and the tick at which the run ended."""
_TOGETHER = 200
"""Runs whose answers are judged at once."""
_PART = 100
"""Runs that a worker is given at once."""


OnPart = Callable[[int, int], object]


def audit_run(
    scenario: Scenario,
    pair: Neighbours,
    runs: int,
    doubt: float,
    *,
    workers: int = 1,
    on_part: OnPart | None = None,
) -> Check:
    """Attack everything that the owner of the differing record does in a whole run.

    Parameters
    ----------
    scenario : Scenario
    pair : Neighbours
    runs : int
        Runs on each dataset, ≥ 4.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    workers : int
        Processes, ≥ 1; does not change the result.
    on_part : callable, optional
        Told how many runs are done, and of how many.
    """
    accountant = pair.first.accountant
    # what is seen of timing that depends on records is no function of Gaussian answers
    gaussian = isinstance(accountant, Gaussian) and scenario.timing_unaccounted is None
    claim = Claim(float(accountant.epsilon[pair.owner]), accountant.delta, gaussian)
    numbers = range(1, runs + 1)
    parts = [numbers[block] for block in blocks(runs, -(-runs // _PART))]
    sides: list[Array] = []
    with processes(workers) as run_map:
        for side in (0, 1):
            found = []
            for at in range(0, len(parts), workers):
                found += run_map(partial(_scores, scenario, pair, side), parts[at : at + workers])
                if on_part is not None:
                    on_part(side * runs + sum(each.shape[1] for each in found), 2 * runs)
            sides.append(np.concatenate(found, axis=1))
    scores: dict[str, Pair] = {
        name: (sides[0][row], sides[1][row]) for row, name in enumerate(SCORES)
    }
    shown, most = attack(scores, claim, doubt), most_shown(claim, runs, doubt)
    return Check("the whole run", pair.owner + 1, claim, shown, runs, most)


def _scores(scenario: Scenario, pair: Neighbours, side: int, numbers: Sequence[int]) -> Array:
    """Return the scores of runs on one dataset, shape (len(SCORES), runs)."""
    task = (pair.first, pair.second)[side].task
    within = Streams(scenario.run.seed).within("audit", "run", side)
    found = []
    for begin in range(0, len(numbers), _TOGETHER):
        some = numbers[begin : begin + _TOGETHER]
        views = [overhear(scenario.network, task, within.within(number)) for number in some]
        found.append(_judged(pair, views))
    return np.concatenate(found, axis=1)


def _judged(pair: Neighbours, views: Sequence[View]) -> Array:
    """Return the scores of runs, from what was heard in them."""
    count = [len(view.owners) for view in views]
    owners = np.concatenate([view.owners for view in views])
    points = np.concatenate([view.points for view in views])
    answers = np.concatenate([view.answers for view in views])
    likelihood = np.zeros(len(views))
    if len(owners) > 0:
        first, second = (
            each.task.reply.gradients.gradient(owners, points) for each in (pair.first, pair.second)
        )
        ratios = ratio(pair.first.task.reply.noise, owners, answers, first, second)
        with np.errstate(invalid="ignore"):
            np.add.at(likelihood, np.repeat(np.arange(len(views)), count), ratios)
    attacked = [view.trace.exchanges["owner"] == pair.owner + 1 for view in views]
    sent = [
        view.trace.exchanges[his & (view.trace.exchanges["transmissions"] > 0)]
        for view, his in zip(views, attacked, strict=True)
    ]
    return np.array(
        [
            np.nan_to_num(likelihood, nan=0.0, posinf=np.inf, neginf=-np.inf),
            [float(len(rows)) for rows in sent],
            [float(rows["release_tick"].min()) if len(rows) > 0 else np.inf for rows in sent],
            [float(view.trace.end_tick) for view in views],
        ]
    )
