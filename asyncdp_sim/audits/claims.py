"""The claims of a scenario, by textbook: worked out from its fields, without what is attacked.

K_i answers, ε_i/K_i of each or the price that the scenario names; Gaussian answers by μ, which
composes as √K; under an accountant, losses composed anew. Nothing here asks the accountant, the
budget or the noise of the package, but of a mechanism that says that it composes by a rule of its
own: it is held to what it says.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor, inf, sqrt

import numpy as np
from typing_extensions import override

from asyncdp_sim.audits import recomposed
from asyncdp_sim.audits.check import Claim
from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.specification import per_owner
from asyncdp_sim.learning.answers import AnswerNoise
from asyncdp_sim.privacy.accountants import Accountant, gradients_of
from asyncdp_sim.privacy.mechanisms import GaussianShares
from asyncdp_sim.privacy.pairs import LaplacePair, epsilon_of, mu_of
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import ExchangeOutcome, Trace


@dataclass(frozen=True)
class Owed:
    """The claim about one owner.

    Attributes
    ----------
    answers : int
        K, distinct answers that its budget holds; gradients, where answers are made of several.
    each, whole : float
        What one of them, and all K, may cost: ε, or μ of Gaussian noise.
    delta : float
        δ; 0 is pure.
    gaussian : bool
    slack : float
        Of what answers cost: what a ledger may say less, for charges are found in two ways.
    """

    answers: int
    each: float
    whole: float
    delta: float
    gaussian: bool
    slack: float = field(default=1e-5, kw_only=True)

    @property
    def dearest(self) -> int:
        """How many answers were released before the one that costs the most."""
        return 0

    def of_one(self) -> Claim:
        """Return the claim of one answer, of which none costs more."""
        return Claim(self.cost(1), self.delta, self.gaussian)

    def of_all(self, *, gaussian: bool) -> Claim:
        """Return the claim of a whole run; ``gaussian`` says whether all in it is, besides."""
        epsilon = epsilon_of(self.whole, self.delta) if self.gaussian else self.whole
        return Claim(epsilon, self.delta, self.gaussian and gaussian)

    def cost(self, answers: int) -> float:
        """Return ε of so many answers."""
        if self.gaussian:
            return epsilon_of(self.each * sqrt(answers), self.delta)
        return self.each * answers if answers > 0 else 0.0


@dataclass(frozen=True)
class Stated(Owed):
    """The claim about one owner where the mechanism alone knows how answers compose."""

    accountant: Accountant
    owner: int

    @override
    def cost(self, answers: int) -> float:
        counts = np.full(len(self.accountant.answers), answers)
        return float(self.accountant.spent(counts)[self.owner])


@dataclass(frozen=True)
class Composed(Owed):
    """The claim about one owner whose answers are composed to (ε, δ).

    Attributes
    ----------
    law : callable
        The losses that each is composed as, by ε; of Gaussian answers over samples, by μ.
    """

    law: recomposed.Law
    slack: float = field(default=1e-3, kw_only=True)

    @override
    def cost(self, answers: int) -> float:
        return recomposed.epsilon_of(self.law, (self.each,), self.delta, answers)


@dataclass(frozen=True)
class UnlikeParts(Owed):
    """The claim about one owner whose answers have unequal parts of its budget.

    ``each`` is what the dearest costs, as ``whole`` is what all do.

    Attributes
    ----------
    parts : tuple of float
        Of what adds up, ε or μ²; or, where pure answers are composed to (ε, δ), what they cost.
    law : callable, optional
        The losses that they are composed as; absent, what they cost adds up.
    """

    parts: tuple[float, ...]
    law: recomposed.Law | None = None
    slack: float = field(default=3e-3, kw_only=True)

    @property
    @override
    def dearest(self) -> int:
        return self.parts.index(max(self.parts))

    @override
    def of_one(self) -> Claim:
        epsilon = epsilon_of(self.each, self.delta) if self.gaussian else self.each
        delta = self.delta if self.law is None else 0.0
        return Claim(epsilon, delta, self.gaussian)

    @override
    def cost(self, answers: int) -> float:
        released = self.parts[:answers]
        if self.law is not None:
            return recomposed.epsilon_of(self.law, released, self.delta)
        if self.gaussian:
            return epsilon_of(self.whole * sqrt(sum(released)), self.delta)
        return self.whole * sum(released) if answers > 0 else 0.0


_SLACK = 1 + 1e-6
"""Of (μ/μ₁)²: where so many answers fit exactly, roots may say a little less."""


def owed(scenario: Scenario) -> tuple[Owed, ...]:
    """Return what a scenario claims of every owner.

    With κ = ``overlap`` > 1 it is an owner's part of the least ε: a κ-th of it, or, of Gaussian
    noise, of μ². Of one of N copies it is an owner's N-th part; or, where the learner's own answers
    are exact, the (N − 1)-th, and nothing of the learner.
    """
    privacy = scenario.privacy
    rule = privacy.mechanism.composition
    gaussian = rule == "gaussian"
    if not privacy.budget.even:
        return _unlike(scenario, gaussian=gaussian)
    if privacy.accountant is not None and (privacy.sampling is not None or not gaussian):
        return _composed(scenario)
    if rule == "own":
        return _stated(scenario)
    delta = privacy.delta or 0.0 if gaussian else 0.0
    claims = []
    for owner, total in enumerate(_totals(scenario, delta, gaussian=gaussian)):
        answers, cost_of_one = _spread(scenario, owner, total, delta if gaussian else None)
        claims.append(Owed(answers, cost_of_one, total, delta, gaussian))
    return _in_sums(claims) if privacy.listener.sees_sums else tuple(claims)


def _totals(scenario: Scenario, delta: float, *, gaussian: bool) -> list[float]:
    """Return ε, or μ, of all answers of each owner; κ that share a record have parts of the least.

    They are parts of ε, or of μ² of Gaussian noise.
    """
    budgets, shared = _of_a_copy(scenario), scenario.privacy.overlap
    if shared > 1:
        budgets = (min(budgets),) * len(budgets)
    if gaussian:
        return [mu_of(epsilon, delta) / sqrt(shared) for epsilon in budgets]
    return [_part(epsilon, shared) for epsilon in budgets]


def _unlike(scenario: Scenario, *, gaussian: bool) -> tuple[UnlikeParts, ...]:
    """Return the claim for budgets divided by a rule or a list."""
    privacy, shared, claims = scenario.privacy, scenario.privacy.overlap, []
    composed = privacy.accountant is not None and not gaussian
    law = _law(scenario) if composed else None
    delta = (privacy.delta or 0.0) / (shared if composed else 1) if privacy.needs_delta else 0.0
    for owner, total in enumerate(_totals(scenario, delta, gaussian=gaussian)):
        parts = _by_rule(scenario, owner)
        dearest = total * (sqrt(max(parts)) if gaussian else max(parts))
        if law is not None and len(parts) > 1:  # one alone is charged whole, as the accountant does
            charge = recomposed.charge_of(law, total, delta, parts)
            parts = tuple(charge * part for part in parts)
            dearest = max(parts)
        elif law is not None:
            parts = (total,)
        claim = UnlikeParts(len(parts), dearest, total, delta, gaussian, parts, law)
        many = law is not None and len(set(parts)) > recomposed.GROUPS
        claims.append(replace(claim, slack=2e-2) if many else claim)
    return tuple(claims)


def _by_rule(scenario: Scenario, owner: int) -> tuple[float, ...]:
    """Return the parts of an owner's answers, which add up to 1."""
    rule, n_owners = scenario.privacy.budget.model_dump(), scenario.owners.count
    if rule["shares"] is not None:
        weights = list(rule["shares"])[: scenario.privacy.most]
    else:
        count = min(per_owner(rule["answers"], n_owners)[owner], scenario.privacy.most)
        growth, power = (
            per_owner(default if rule[name] is None else rule[name], n_owners)[owner]
            for name, default in (("growth", 1.0), ("power", 0.0))
        )
        weights = [growth ** (k - count) * (k / count) ** power for k in range(1, count + 1)]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def _in_sums(claims: list[Owed]) -> tuple[Owed, ...]:
    """Return what is claimed of answers in sums, whose noise is that of the strictest owner."""
    least = min(claim.each for claim in claims)
    return tuple(
        replace(claim, each=least, whole=min(claim.whole, least * sqrt(claim.answers)))
        for claim in claims
    )


def _composed(scenario: Scenario) -> tuple[Composed, ...]:
    """Return what is claimed of answers that an accountant composes.

    With κ > 1 an owner spends a κ-th of the least ε at a κ-th of δ.
    """
    privacy, n_owners = scenario.privacy, scenario.owners.count
    law, delta = _law(scenario), (privacy.delta or 0.0) / privacy.overlap
    prices = getattr(privacy.budget, "per_answer", None)
    claims = []
    for owner, total in enumerate(_totals(scenario, delta, gaussian=False)):
        answers = 1 if prices is not None else _gradients(scenario, owner)
        charge = total if prices is None else float(per_owner(prices, n_owners)[owner])
        if answers > 1 or isinstance(law, recomposed.Sampled):
            charge = recomposed.charge_of(law, charge, delta, times=answers)
        if prices is not None:
            answers = min(privacy.most, recomposed.answers_of(law, charge, total, delta))
        claims.append(Composed(answers, charge, total, delta, gaussian=False, law=law))
    return tuple(claims)


def _law(scenario: Scenario) -> recomposed.Law:
    """Return the losses of an answer."""
    privacy = scenario.privacy
    if privacy.sampling is None:
        laplace = privacy.mechanism.pair is LaplacePair
        return recomposed.laplace if laplace else recomposed.response
    gaussian = privacy.mechanism.composition == "gaussian"
    return recomposed.Sampled(privacy.sampling) if gaussian else recomposed.response


def _stated(scenario: Scenario) -> tuple[Owed, ...]:
    """Return the claim that a mechanism with its own composition declares."""
    accountant, _ = gradients_of(scenario.accountant)
    costs = accountant.spent(np.ones_like(accountant.answers)).tolist()
    counts, delta = accountant.answers.tolist(), accountant.delta
    claims = enumerate(zip(counts, costs, accountant.epsilon.tolist(), strict=True))
    return tuple(
        Stated(answers, cost, total, delta, gaussian=False, accountant=accountant, owner=owner)
        for owner, (answers, cost, total) in claims
    )


def _spread(scenario: Scenario, owner: int, whole: float, delta: float | None) -> tuple[int, float]:
    """Return K and what one answer costs, of a budget that ``whole`` says; δ where Gaussian."""
    budget, n_owners = scenario.privacy.budget, scenario.owners.count
    price = getattr(budget, "per_answer", None)
    if price is not None:
        cost = float(per_owner(price, n_owners)[owner])
        if delta is None:
            return min(scenario.privacy.most, floor(_decimal(whole) / _decimal(cost))), cost
        mu = mu_of(cost, delta)
        return min(scenario.privacy.most, floor((whole / mu) ** 2 * _SLACK)), mu
    answers = _gradients(scenario, owner)
    return answers, whole / (answers if delta is None else sqrt(answers))


def _gradients(scenario: Scenario, owner: int) -> int:
    """Return how many gradients an owner's budget holds: E of each of its K answers.

    Where a whole owner is hidden, its answer is one value, after all its local steps.
    """
    named = getattr(scenario.privacy.budget, "answers", scenario.run.updates)
    answers: int = per_owner(named, scenario.owners.count)[owner]
    if scenario.privacy.budget.of_asked:
        answers = _as_asked(scenario, owner)
    answers = min(answers, scenario.privacy.most)
    local_steps = getattr(scenario.algorithm, "local_steps", None)
    if local_steps is None or scenario.privacy.unit == "owner":
        return answers
    return answers * int(local_steps)


def _as_asked(scenario: Scenario, owner: int) -> int:
    """Return the least K with N P(Bin(T − 1, p_i) ≥ K) ≤ 10⁻³, T with what is left open."""
    from scipy.stats import binom  # a slow import

    n_owners, protocol = scenario.owners.count, scenario.protocol
    chance = (protocol.selection_probabilities(n_owners) or ())[owner]
    asked = scenario.run.updates * (scenario.algorithm.answers_per_update or 1) + protocol.left_open
    return 1 if asked == 1 else 1 + int(binom.isf(1e-3 / n_owners, asked - 1, chance))


def _of_a_copy(scenario: Scenario) -> tuple[float, ...]:
    """Return ε_i, or the part of it that is promised of this copy."""
    privacy, n_owners = scenario.privacy, scenario.owners.count
    asked = per_owner(inf if privacy.epsilon is None else privacy.epsilon, n_owners)
    learner = privacy.learner
    if learner is None:
        return asked
    exact = learner.own == "exact-as-published"
    parts = [_part(epsilon, n_owners - 1 if exact else n_owners) for epsilon in asked]
    if exact:
        parts[learner.owner - 1] = inf
    return tuple(parts)


def _part(epsilon: float, parts: int) -> float:
    """Return ε divided, as decimals."""
    return inf if epsilon == inf else float(_decimal(epsilon) / parts)


def _decimal(number: float) -> Fraction:
    """Return a number as it is written: 0.3 holds three of 0.1."""
    return Fraction(repr(float(number)))


Vector = dict[int, Fraction]
"""How often each node's own vector counts in a vector."""
_STARTS = 200
"""Rounds that are tried as the first of those that hide a record, at most."""
_MEETINGS, _NODES = 5000, 30
"""Beyond which fractions take too long."""


def of_models(scenario: Scenario, trace: Trace, claims: Sequence[Owed]) -> Array:
    """Return μ² of every owner's record against an observer that sees central models, (N,).

    One record of owner u moves the sum of a round by 2Ξ/n, and the noise in it has variance Σ z_j²
    of those owners j that answered in it, in that unit.
    """
    squared = np.array([claim.each for claim in claims]) ** -2.0
    rounds: dict[int, set[int]] = defaultdict(set)
    for k, owner in trace.updates[["k", "owner"]].tolist():
        rounds[k].add(owner - 1)
    present = np.zeros((len(rounds), len(claims)), dtype=np.bool_)
    for row, owners in zip(present, rounds.values(), strict=True):
        row[list(owners)] = True
    noise = present @ squared
    squared_mu = np.asarray((present / noise[:, None]).sum(axis=0))
    if scenario.privacy.listener.model_dump()["sees"] == "all" or len(rounds) == 0:
        return squared_mu
    last = _of_the_last(scenario, np.array(list(rounds)), present, noise)
    return np.asarray(np.minimum(squared_mu, last))


def _of_the_last(scenario: Scenario, numbers: Ints, present: Bools, noise: Array) -> Array:
    """Return μ² of the last model of a descent (``docs/privacy/last-model.md``), (N,).

    Of the shifts that may be put off until a later round's noise hides them, those whose squares
    over the noise sum to the least are an isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    model, rounds = scenario.model, scenario.algorithm.in_rounds
    domain, records = scenario.privacy.sensitivity, np.array(scenario.trained_on, dtype=float)
    curvature = model.phi.curvature
    if rounds is None or domain is None or scenario.xi is None or curvature is None:
        raise TypeError("the last model is that of a descent in rounds")
    fields = domain.model_dump()
    longest = model.longest(fields["row_norm"], fields["rows"] or scenario.privacy.norm)
    smoothness = curvature * longest**2
    steps = rounds.schedule(rounds.step_length, scenario.run.updates).sizes[numbers - 1]
    contraction = np.maximum(
        np.abs(1 - steps * model.sigma), np.abs(1 - steps * (model.sigma + smoothness))
    )
    later = np.array([contraction[k + 1 :].prod() for k in range(len(steps))])
    moved = later * steps / (present @ (records / records.sum()))
    variance = np.square(moved) * noise
    unit = 2 * scenario.xi / records.sum()
    across = 2 * float(model.theta_max or np.inf) * sqrt(scenario.numbers) / unit
    count = len(steps)
    starts = np.unique(np.geomspace(1, count, min(count, _STARTS)).astype(int))
    squared_mu = np.full(present.shape[1], np.inf)
    for owner, present_owner in enumerate(present.T):
        if not present_owner.any():
            squared_mu[owner] = 0.0
            continue
        for first in (count - starts).tolist():
            shift, weights = (moved * present_owner)[first:], variance[first:]
            if first > 0:  # the start is public, and no later model is
                shift[0] += across * contraction[first] * later[first]
            if (weights > 0).all():
                slope = isotonic_regression(shift / weights, weights=weights).x
                squared_mu[owner] = min(squared_mu[owner], float(weights @ np.square(slope)))
    return squared_mu


def of_view(trace: Trace, claims: Sequence[Owed], pool: Set[int], owner: int) -> float | None:
    """Return μ² of an owner's record against nodes that pool what they receive.

    With B the rows that they hear, in units of the noise, and without the vectors of their own,
    it is [Bᵀ(B Bᵀ)⁻¹B]_uu / z_u². None where there are too many meetings or nodes.

    Parameters
    ----------
    trace : Trace
        Of gossip.
    claims : sequence of Owed
        One per owner.
    pool : set of int
        The nodes; owners from 1, the learner is 0.
    owner : int
        From 1; not in the pool.
    """
    meetings = list(_meetings(trace))
    if len(meetings) > _MEETINGS or trace.n_owners > _NODES:
        return None
    noise = {number: 1 / Fraction(claim.each) for number, claim in enumerate(claims, 1)}
    vectors: dict[int, Vector] = {node: {node: Fraction(1)} for node in noise} | {0: {}}
    basis: list[Vector] = []
    for a, b, a_hears, b_hears in meetings:
        before = {a: vectors[a], b: vectors[b]}
        for listener, speaker, receives in ((a, b, a_hears), (b, a, b_hears)):
            if receives and listener in pool and speaker not in pool:
                _add(basis, {u: x * noise[u] for u, x in before[speaker].items() if u not in pool})
            if receives:
                vectors[listener] = _combined(before[a], before[b], Fraction(1, 2), Fraction(1, 2))
    share = sum(row.get(owner, 0) ** 2 / _product(row, row) for row in basis)
    return float(share / noise[owner] ** 2)


def _meetings(trace: Trace) -> Iterator[tuple[int, int, bool, bool]]:
    """Yield the two nodes of each meeting in order, and whether each received from the other.

    The last are those of whom the run's end cut off the messages, which were on their way.
    """
    ways = (ExchangeOutcome.applied, ExchangeOutcome.lost, ExchangeOutcome.in_flight)
    rows = trace.exchanges[trace.came_to(*ways)]
    names = ["owner", "peer", "outcome"]
    late = rows["outcome"] == ExchangeOutcome.in_flight
    rows_in_order = [*rows[~late][names].tolist(), *rows[late][names].tolist()]
    if any(
        peer == 0 for _, peer, _ in rows_in_order
    ):  # each with the learner, where nothing is lost
        yield from ((owner, 0, True, True) for owner, _, _ in rows_in_order)
        return
    for (a, b, sent), (_, _, answered) in zip(rows_in_order[::2], rows_in_order[1::2], strict=True):
        yield a, b, answered != ExchangeOutcome.lost, sent != ExchangeOutcome.lost


def _combined(first: Vector, second: Vector, one: Fraction, other: Fraction) -> Vector:
    every = {u: one * first.get(u, 0) + other * second.get(u, 0) for u in {*first, *second}}
    return {u: Fraction(x) for u, x in every.items() if x != 0}


def _product(first: Vector, second: Vector) -> Fraction:
    return sum((x * second[u] for u, x in first.items() if u in second), Fraction(0))


def _add(basis: list[Vector], row: Vector) -> None:
    """Keep what is new of a row: it is orthogonal to all that are kept."""
    for kept in basis:
        row = _combined(row, kept, Fraction(1), -_product(row, kept) / _product(kept, kept))
    if len(row) > 0:
        basis.append(row)


def opened(scenario: Scenario) -> tuple[int, int]:
    """Return n − d, the fewest answers in an opened sum, and t, owners whose noise is known.

    They are read from the observer's fields alone. Its methods are part of what is attacked: a
    wrong count there must not reach the attack that is to refute it. An observer of single answers
    has n and 0.
    """
    fields = dict(scenario.privacy.listener)
    return scenario.owners.count - int(fields.get("dropouts", 0)), int(fields.get("colluders", 0))


def hiding(scenario: Scenario, noise: AnswerNoise) -> AnswerNoise:
    """Return the noise on one answer, all other gradients of its sum being known."""
    if not isinstance(noise, GaussianShares):
        return scenario.privacy.listener.heard(noise)
    least, colluders = opened(scenario)
    return noise.summed(least - colluders)
