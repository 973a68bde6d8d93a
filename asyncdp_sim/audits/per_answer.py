"""Attack on a scenario's mechanism by single answers, and on a table of answers of any mechanism.

Noise may be far below the answers. Numbers are centred in their own type, where the difference of
two is exact, before they become floats of 53 bits.

An answer over a Poisson sample has the record in it with probability q, or has not, and nobody
else's gradient moves: then least is hidden. Too little noise in every answer may be too little to
see in any: what an answer costs is read off its noise, and as many answers as a budget holds are
composed without the accountant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import expm1, inf, log, log1p
from typing import Any

import numpy as np

from asyncdp_sim.audits.check import Check, Claim, Fact, Finding, Pair, attack, most_shown
from asyncdp_sim.audits.claims import Composed, Owed, hiding, owed
from asyncdp_sim.audits.facts import charged_unit
from asyncdp_sim.audits.neighbours import MadeUp, most_charged_owner
from asyncdp_sim.audits.recomposed import Sampled
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.words import number
from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.answers import AdaptiveBound, AnswerNoise
from asyncdp_sim.runs.problem import Problem
from asyncdp_sim.scenario import Scenario

LEAST = 100
"""Rows of each of two data sets."""


def attack_answers(frame: Any, dataset: str, delta: float, doubt: float) -> Finding:
    """Return what the answers of a table show.

    Parameters
    ----------
    frame : DataFrame
    dataset : str
        The column that says which of two data sets an answer is of.
    delta, doubt : float

    Raises
    ------
    SpecError
        If these are no answers of two data sets.
    """
    first, second = _sides(frame, dataset)
    apart = second[::2].mean(axis=0) - first[::2].mean(axis=0)
    variance = second[::2].var(axis=0) + first[::2].var(axis=0)
    weights = np.divide(apart, variance, out=np.zeros_like(apart), where=variance > 0)
    scores: Mapping[str, Pair] = {
        **{str(name): (first[:, j], second[:, j]) for j, name in enumerate(_names(frame, dataset))},
        "all numbers": (first @ weights, second @ weights),
    }
    return attack(scores, Claim(inf, delta), doubt)


def centred(column: Any) -> Array | None:
    """Return numbers less one of them, as floats; None where these are no finite numbers.

    Parameters
    ----------
    column : Series
        Integers of any type, floats, or exact numbers such as ``Decimal``.
    """
    if column.isna().any():
        return None
    values = column.to_numpy()
    if column.dtype.kind == "b":
        return np.asarray(values, dtype=float)
    if values.dtype.kind in "iu":  # whole numbers of Python, of any size
        values = values.astype(object)
    elif values.dtype.kind == "f":
        values = values.astype(np.promote_types(values.dtype, np.float64))
    elif values.dtype.kind == "c" or not all(hasattr(value, "__float__") for value in values):
        return None  # else Decimal, Fraction, int
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            middle = np.partition(values, len(values) // 2)[len(values) // 2]
            apart = np.asarray(values - middle, dtype=float)
    except ArithmeticError:  # of infinite decimals, and of whole numbers too far apart for floats
        return None
    return apart if np.isfinite(apart).all() else None


def _names(frame: Any, dataset: str) -> list[object]:
    return [name for name in frame.columns if name != dataset]


def _sides(frame: Any, dataset: str) -> tuple[Array, Array]:
    """Return the centred answers of the two data sets, shape (rows, numbers) each."""
    if not hasattr(frame, "columns"):
        problem = f"a value of type {type(frame).__name__}"
        raise _refused("frame", problem, "allowed is a pandas DataFrame")
    if (count := list(frame.columns).count(dataset)) != 1:
        problem = "no such column" if count == 0 else f"{count} columns of this name"
        raise _refused(dataset, problem, "required: one column, the data set of each row")
    names = _names(frame, dataset)
    if len(names) == 0:
        hint = "required: a column for each number of an answer"
        raise _refused(dataset, "no column besides it", hint)
    for name in names:
        if (count := names.count(name)) > 1:
            raise _refused(name, f"{count} columns of this name", "allowed is each name once")
    if frame[dataset].isna().any():
        problem = f"no value in {int(frame[dataset].isna().sum()):,} of {len(frame):,} rows"
        raise _refused(dataset, problem, "required: the data set of each row")
    side = frame[dataset].astype(str)
    labels, counts = np.unique(side, return_counts=True)
    if len(labels) != 2 or counts.min() < LEAST:
        least = f", the smallest of {counts.min()} rows" if len(labels) > 0 else ""
        problem = f"{len(labels)} data set{'' if len(labels) == 1 else 's'}{least}"
        raise _refused(dataset, problem, f"allowed are two of {LEAST} rows or more")
    columns = []
    for name in names:
        numbers = centred(frame[name])
        if numbers is None:
            problem = "a value that is no finite number, or more than 1e308 away from others"
            raise _refused(name, problem, "allowed are numbers")
        columns.append(numbers)
    answers = np.column_stack(columns)
    return answers[(side == labels[0]).to_numpy()], answers[(side == labels[1]).to_numpy()]


def _refused(column: object, given: str, hint: str) -> SpecError:
    return SpecError([Fault(str(column), given, hint)])


_EXACT = 1e-9
"""The standard deviation of noise that is none."""
_CHUNK = 2**16
"""Numbers drawn at a time: half a megabyte, so that they stay in the cache."""


def audit_answer(
    scenario: Scenario, dataset: Dataset, problem: Problem, made: MadeUp | None, runs: int,
    doubt: float,
) -> Check:  # fmt: skip
    """Attack one answer of the owner that pays the most for one.

    Two gradients differ by all that one record can move an answer, 2Ξ/n_i in the norm of the
    scenario's bound: along one coordinate, and along all of them alike. Two more differ by what a
    made-up record moves the owner's answer. Each is hidden ``runs`` times by the scenario's own
    mechanism, and each answer is scored by its exact log-likelihood ratio. n_i is counted in the
    owner's records. Over Poisson samples the record is in an answer or is not, and every other
    gradient is 0: see :func:`_scores`.

    Parameters
    ----------
    scenario : Scenario
    dataset : Dataset
        Its records.
    problem : Problem
        Its numbers.
    made : MadeUp or None
        What a record that was made up changes, where the bound is enforced.
    runs : int
        Answers per gradient and direction, ≥ 4.
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    """
    listener, owner = scenario.privacy.listener, most_charged_owner(scenario, dataset)
    noise = hiding(scenario, problem.noise)
    claim = owed(scenario)[owner]
    number, reply = np.array([claim.dearest]), problem.task.reply
    [place] = reply.places(np.array([owner]), number).tolist()
    size = problem.task.steps.answer_size
    xi = 0.0 if problem.xi is None else problem.xi
    probability = scenario.privacy.sampling
    divisor = scenario.privacy.divisors(dataset.records)[owner]
    reach = 2 * xi / (divisor * (1.0 if probability is None else probability))
    start = xi / size * np.cos(np.arange(1.0, size + 1))
    shifts = _directions(reach, size, scenario.privacy.norm)
    claim_of_one = claim.of_one()
    scope = Streams(scenario.run.seed).within("audit", "answer")
    if probability is None:
        pairs = {name: (start, start + shift) for name, shift in shifts.items()}
        if made is not None:
            unit = "an owner" if scenario.privacy.per_owner else "a record"
            pairs[f"likelihood, {unit}"] = made.farthest
        if reply.bound is not None:
            votes = 1 / divisor, float(noise.scale[place])
            pairs = {
                name: _with_votes(reply.bound, pair, *votes, clip=name not in shifts)
                for name, pair in pairs.items()
            }
    else:  # the record moves an answer by half a shift, one way or the other
        pairs = {name: (-shift / 2, shift / 2) for name, shift in shifts.items()}
    scores = {
        name: _scores(noise, place, *pair, runs, scope.within(name), probability)
        for name, pair in pairs.items()
    }
    finding, most = attack(scores, claim_of_one, doubt), most_shown(claim_of_one, runs, doubt)
    called = scenario.owners.participants[owner]
    attacked = "one answer in a sum" if listener.sees_sums else "one answer"
    if reply.bound is not None:
        attacked = "one answer in a sum and a count"
    if scenario.values_hidden > 1:
        attacked = "one gradient"
    return Check(attacked, called, claim_of_one, finding, runs, most, scenario.privacy.noun)


def _with_votes(
    law: AdaptiveBound, pair: tuple[Array, Array], apart: float, scale: float, *, clip: bool
) -> tuple[Array, Array]:
    """Return two answers and their votes, as one number more, in a unit with as much noise.

    Votes are as far ``apart`` as they can be, or those of answers that are to be clipped.
    """
    answers, votes = np.stack(pair), np.array([0.0, apart])
    if clip:
        answers, votes = law.clip(answers, np.full(2, law.start))
    first, second = np.column_stack([answers, votes * scale / max(float(law.noise), _EXACT)])
    return first, second


def _directions(reach: float, size: int, norm: str) -> dict[str, Array]:
    """Return shifts of a norm: along one coordinate, and along all of them."""
    shift = np.zeros(size)
    shift[0] = reach
    if size == 1:
        return {"likelihood, one coordinate": shift}
    every = np.full(size, reach / (size if norm == "l1" else size**0.5))
    return {"likelihood, one coordinate": shift, "likelihood, all coordinates": every}


def _scores(
    noise: AnswerNoise,
    place: int,
    first: Array,
    second: Array,
    runs: int,
    scope: Scope,
    probability: float | None = None,
) -> Pair:
    """Return log-likelihood ratios of answers that hide the first, and the second gradient.

    With a ``probability`` q an answer hides the gradient if the record is in its sample, else 0.
    """
    chunk = max(1, _CHUNK // len(first))
    scores = []
    for side, truth in (("first", first), ("second", second)):
        generator = scope.generator(side)
        inside = np.ones((runs, 1), dtype=np.bool_)
        if probability is not None:
            inside = generator.random((runs, 1)) < probability
        parts = []
        for begin in range(0, runs, chunk):
            hidden = inside[begin : begin + chunk] * truth
            places = np.full(len(hidden), place)
            rows = noise.rows(generator, len(places), len(truth))
            answers = noise.add_noise(places, hidden, rows)
            parts.append(ratio(noise, places, answers, first[None], second[None], probability))
        scores.append(np.concatenate(parts))
    return scores[0], scores[1]


def ratio(
    noise: AnswerNoise,
    owners: Ints,
    answers: Array,
    first: Array,
    second: Array,
    probability: float | None = None,
) -> Array:
    """Return ln p(answer | second gradient) − ln p(answer | first), shape (r,).

    0 where neither can have given the answer. With a ``probability`` q either is in the answer with
    q, and else 0 is.
    """

    def law(gradient: Array) -> Array:
        likely = noise.log_likelihood(owners, gradient, answers)
        if probability is None:
            return likely
        without = noise.log_likelihood(owners, np.zeros_like(gradient), answers)
        return np.logaddexp(log(probability) + likely, log1p(-probability) + without)

    with np.errstate(invalid="ignore"):
        difference = law(second) - law(first)
    return np.where(np.isnan(difference), 0.0, difference)


_DRAWS = 256
"""Answers among which one has the largest ratio that there is: each has it with a third or more."""


def noise_composes(
    scenario: Scenario, problem: Problem, divisors: Array, claims: Sequence[Owed]
) -> tuple[Fact, ...]:
    """Judge the owner whose answers cost the most of what is claimed; nothing is judged else.

    An answer's ε₀ is the largest of its log-likelihood ratios where a record moves one coordinate
    by 2Ξ/n_i, or an owner by 2Ξ or Ξ.

    Parameters
    ----------
    scenario : Scenario
    problem : Problem
    divisors : array (N,)
        n_i, or what 2Ξ is divided by where a whole owner is hidden.
    claims : sequence of Owed
        One per owner.
    """
    facts, sampling = [], scenario.privacy.sampling
    share = 1.0 if sampling is None else sampling
    for owner, claim in enumerate(claims):
        if isinstance(claim, Composed) and np.isfinite(claim.whole):
            drawn = share * float(divisors[owner])
            if isinstance(claim.law, Sampled):
                seen = _multiplier(problem, owner, drawn)
                charge_words = f"noise of multiplier {number(1 / seen)} on each"
            else:
                seen = _epsilon_of_one_answer(problem, owner, drawn, Streams(scenario.run.seed))
                if share < 1:
                    seen = log1p(share * expm1(seen / 2)) - log1p(share * expm1(-seen / 2))
                charge_words = f"ε₀ = {number(seen)} each by their noise"
            cost = replace(claim, each=seen).cost(claim.answers)
            sentence = (
                f"{claim.answers} {charged_unit(scenario)} of owner "
                f"{scenario.owners.participants[owner]}, {charge_words}, "
                f"compose to ε = {cost:.5g} at δ = {claim.delta:g}, {claim.whole:g} claimed"
            )
            facts.append((cost / claim.whole, Fact(sentence, refutes=cost > claim.whole)))
    return tuple(fact for _, fact in sorted(facts, key=lambda each: -each[0])[:1])


def _farthest_gradients(problem: Problem, records: float) -> Array:
    """Return two gradients (1, p), which a record moves as far as it can, along one coordinate."""
    pair = np.zeros((2, 1, problem.task.steps.answer_size))
    pair[1, 0, 0] = 2 * (0.0 if problem.xi is None else problem.xi) / records
    return pair


def _multiplier(problem: Problem, owner: int, drawn: float) -> float:
    """Return μ = 1/z of Gaussian noise: μ²/2 is the log-likelihood ratio of the middle of a law."""
    noise, (first, second) = problem.task.reply.noise, _farthest_gradients(problem, drawn)
    owners, still = np.array([owner]), np.zeros((1, noise.width(first.shape[1])))
    middle = noise.add_noise(owners, second.copy(), still)
    return float(np.sqrt(2 * ratio(noise, owners, middle, first, second)[0]))


def _epsilon_of_one_answer(problem: Problem, owner: int, records: float, streams: Streams) -> float:
    """Return ε₀ of an answer by its noise."""
    noise, (first, second) = problem.task.reply.noise, _farthest_gradients(problem, records)
    owners, size = np.full(_DRAWS, owner), first.shape[1]
    rows = noise.rows(streams.generator("audit", "composition", owner), _DRAWS, size)
    answers = noise.add_noise(owners, np.tile(second, (_DRAWS, 1)), rows)
    return max(0.0, float(ratio(noise, owners, answers, first, second).max()))
