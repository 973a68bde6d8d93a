"""Noise of runs against a claim whose pure answers are composed to (ε, δ), worked out anew.

Too little noise in every answer may be too little to see in any: what an answer costs is read off
its noise, and as many answers as a budget holds are composed without the accountant.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import expm1, log1p

import numpy as np

from asyncdp_sim.audits.check import Fact
from asyncdp_sim.audits.owed import Composed, Owed
from asyncdp_sim.audits.per_answer import ratio
from asyncdp_sim.audits.recomposed import Sampled
from asyncdp_sim.data import Dataset
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.streams import Streams

_DRAWS = 256
"""Answers among which one has the largest ratio that there is: each has it with a third or more."""


def noise_composes(
    problem: Problem, dataset: Dataset, claims: Sequence[Owed], streams: Streams,
    called: Sequence[int], sampling: float | None = None, what: str = "answers",
) -> tuple[Fact, ...]:  # fmt: skip
    """Judge the owner whose answers cost the most of what is claimed; nothing is judged else.

    An answer's ε₀ is the largest of its log-likelihood ratios where a record moves one coordinate
    by 2Ξ/n_i.

    Parameters
    ----------
    problem : Problem
    dataset : Dataset
        The owners' records.
    claims : sequence of Owed
        One per owner.
    streams : Streams
        Of the scenario's seed.
    called : sequence of int
        The owners' numbers.
    sampling : float, optional
        q, where answers are over samples.
    what : str, optional
        "gradients" where answers are made of several.
    """
    found, share = [], 1.0 if sampling is None else sampling
    for owner, claim in enumerate(claims):
        if isinstance(claim, Composed) and np.isfinite(claim.whole):
            drawn = share * float(dataset.records[owner])
            if isinstance(claim.law, Sampled):
                seen = _multiplier(problem, owner, drawn)
                told = f"noise of multiplier {1 / seen:.4g} on each"
            else:
                seen = _seen(problem, owner, drawn, streams)
                if share < 1:
                    seen = log1p(share * expm1(seen / 2)) - log1p(share * expm1(-seen / 2))
                told = f"ε₀ = {seen:.4g} each by their noise"
            cost = replace(claim, each=seen).cost(claim.answers)
            said = (
                f"{claim.answers} {what} of owner {called[owner]}, {told}, "
                f"compose to ε = {cost:.5g} at δ = {claim.delta:g}, {claim.whole:g} claimed"
            )
            found.append((cost / claim.whole, Fact(said, cost > claim.whole)))
    return tuple(fact for _, fact in sorted(found, key=lambda each: -each[0])[:1])


def _multiplier(problem: Problem, owner: int, drawn: float) -> float:
    """Return μ = 1/z of Gaussian noise: μ²/2 is the log-likelihood ratio of the middle of a law."""
    noise, size = problem.task.reply.noise, problem.task.steps.answer_size
    first, second = np.zeros((2, 1, size))
    second[0, 0] = 2 * (0.0 if problem.xi is None else problem.xi) / drawn
    owners, still = np.array([owner]), np.zeros((1, noise.width(size)))
    middle = noise.hide(owners, second.copy(), still)
    return float(np.sqrt(2 * ratio(noise, owners, middle, first, second)[0]))


def _seen(problem: Problem, owner: int, records: float, streams: Streams) -> float:
    """Return ε₀ of an answer by its noise."""
    noise, size = problem.task.reply.noise, problem.task.steps.answer_size
    first, second = np.zeros((2, 1, size))
    second[0, 0] = 2 * (0.0 if problem.xi is None else problem.xi) / records
    owners = np.full(_DRAWS, owner)
    rows = noise.rows(streams.generator("audit", "composition", owner), _DRAWS, size)
    answers = noise.hide(owners, np.tile(second, (_DRAWS, 1)), rows)
    return float(ratio(noise, owners, answers, first, second).max())


__all__ = ["noise_composes"]
