"""Coalitions of owners: what each is expected to cost, and the best one of every size."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.moments import broken
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.algorithms import Schedule
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.privacy.budgets import Horizon, enough
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.arguments import positive
from asyncdp_sim.theory.formulas.contraction import CentralStep
from analysis.exact.per_update import Initial, Shape, drawn
from analysis.exact.synchronous import LOST, descend
from asyncdp_sim.theory.predict.update_order import releases, selection
from asyncdp_sim.theory.prediction import Unknown


@dataclass(frozen=True, eq=False)
class Course:
    """Numbers that all groups of owners share; vectors are in C's eigenvectors.

    Attributes
    ----------
    values : array (p,)
        Eigenvalues of C.
    optimum : array (p,)
        θ*.
    start : array (p,)
        E θ_0.
    scatter : float
        Variance of each coordinate of each copy of θ_0.
    pattern : array (p,)
        Variance of noise of unit variance along each eigenvector: 1 ("vector"), or (vᵀ1)².
    sigma : float
        σ > 0.
    least : float
        f(θ*) > 0.
    central_step : str
        "proof" or "text".
    updates : int
        T.
    """

    values: Array
    optimum: Array
    start: Array
    scatter: float
    pattern: Array
    sigma: float
    least: float
    central_step: CentralStep
    updates: int

    @classmethod
    def from_objective(
        cls,
        objective: Quadratic,
        *,
        updates: int,
        central_step: CentralStep = "proof",
        noise: Shape = "vector",
        initial: Initial = "zeros",
    ) -> "Course":
        """Fill in the numbers from an objective; C and r are taken pooled over its owners."""
        gram = np.einsum("i,ijk->jk", objective.weights, objective.gram)
        values, vectors = np.linalg.eigh(gram)
        ones = vectors.T @ np.ones(len(values))
        mean, scatter = drawn(initial)
        return cls(
            values=values,
            optimum=vectors.T @ objective.free_optimum,
            start=mean * ones,
            scatter=scatter,
            pattern=np.ones(len(values)) if noise == "vector" else ones**2,
            sigma=positive("sigma", objective.sigma),
            least=objective.least,
            central_step=central_step,
            updates=updates,
        )

    @property
    def hessian(self) -> Array:
        """Eigenvalues of H = C + (σ/2) I, shape (p,)."""
        return self.values + self.sigma / 2

    @property
    def per_record(self) -> float:
        """(s²/f*) tr(C H⁻¹): ψ that a sample of n_S records misses, over 1/n_S − 1/n.

        See :func:`~asyncdp_sim.forecasts.benefit.value_alone`.
        """
        error = self.least - self.sigma / 2 * float(self.optimum @ self.optimum)
        return error / self.least * float(np.sum(self.values / self.hessian))


def one_size(course: Course, rho: Array, members: Array | Ints) -> tuple[Array, Array]:
    """Return E ψ(θ_L,T) without noise, and what a unit of every answer's noise variance adds.

    With the same second moments for all owners the recursion of
    :mod:`~analysis.exact.per_update` falls apart, in C's eigenvectors, into p
    recursions of numbers. For k owners alike these are 1, v, E u_L, E u, E u_L², E u_L u, E u²,
    E u u' (u, u' of two owners; v the noise variance), and an update is linear in them. The T-th
    power of its matrix takes log₂ T products. Budgets may differ: by symmetry only the mean of the
    owners' noise variances counts.

    Parameters
    ----------
    course : Course
    rho : array (B,)
        ρ > 0.
    members : array (B,)
        k ≥ 1.

    Returns
    -------
    tuple of array (B,)
        Infinite where learning diverges.
    """
    k, unit = np.asarray(members, dtype=float)[:, None], np.ones(len(course.values))
    rate = np.asarray(rho)[:, None] / course.updates**2
    m = 1 - (rate / 2 if course.central_step == "proof" else (k - 1) / k * rate) * unit
    step, chance = rate / course.sigma, 1 / k * unit
    big = 1 - rate / 2 - 2 * step * course.values  # M
    a, e = (m - 1) * course.optimum, (step * course.sigma - rate / 2) * course.optimum
    rest = k - 1
    turn = np.zeros((*big.shape, 8, 8))
    turn[..., 0, 0] = turn[..., 1, 1] = 1

    def put(row: int, terms: dict[int, Array]) -> None:
        for column, value in terms.items():
            turn[..., row, column] += value

    put(2, {0: a, 2: m / 2, 3: m / 2})
    put(3, {0: chance * e, 2: chance * big / 2, 3: 1 - chance + chance * big / 2})
    square = np.array([1, 2, 1]) / 4  # (u_L + u)²/4
    for column, share in zip((4, 5, 6), square.tolist(), strict=True):
        put(4, {column: m**2 * share})
        put(5, {column: chance * m * big * share})
        put(6, {column: chance * big**2 * share})
    put(4, {0: a**2, 2: m * a, 3: m * a})
    mixed = chance * (m * e + a * big) / 2
    put(5, {0: chance * a * e, 2: mixed, 3: mixed + chance * rest * a})
    put(5, {5: chance * rest * m / 2, 7: chance * rest * m / 2})
    put(6, {0: chance * e**2, 1: chance * step**2 * course.pattern})
    put(6, {2: chance * big * e, 3: chance * big * e, 6: 1 - chance})
    put(7, {3: 2 * chance * e, 5: chance * big, 7: 1 - 2 * chance + chance * big})

    u = course.start - course.optimum
    alone, shared = u**2 + course.scatter, u**2
    start = np.stack([unit, 0 * unit, u, u, alone, shared, alone, shared], -1)
    noise = np.eye(8)[1] * unit[:, None]
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        power = np.linalg.matrix_power(turn, course.updates)
        weight = course.hessian / course.least
        free, gain = (
            np.einsum("bdj,dj,d->b", power[..., 4, :], vector, weight) for vector in (start, noise)
        )
    stable = np.isfinite(free) & np.isfinite(gain)
    return np.where(stable, free, np.inf), np.where(stable, gain, np.inf)


def rounds(course: Course, schedule: Schedule) -> tuple[Array, Array]:
    """Return E ψ after T rounds without noise, and what a unit of a round's noise variance adds.

    The variance of a round is Σ (n_i/n)² v_i: nothing else of who takes part matters
    (:mod:`analysis.exact.synchronous`).

    Parameters
    ----------
    course : Course
    schedule : Schedule
        With ``sizes`` (T, R), a column for each choice of the step.

    Returns
    -------
    tuple of array (R,)
        Infinite where learning diverges, or first steps are so long that deviations grow before
        they shrink and the digits of their average are lost.
    """
    square = np.square(course.start - course.optimum) + course.scatter
    weight = course.hessian / course.least

    def free(left: Array) -> Array:
        return np.square(left[..., 0]) @ (square * weight)

    def gain(added: Array) -> Array:
        return added[..., 0, 0] @ weight

    by_direction = Schedule(schedule.sizes[..., None], schedule.kept)  # directions on their own
    with np.errstate(over="ignore", invalid="ignore"):  # a learning that diverges
        most = np.stack([np.full(schedule.sizes.shape[1], weight @ square), 0 * schedule.sizes[0]])
        for left in descend(course.hessian[:, None], course.pattern[:, None, None], by_direction):
            most = np.maximum(most, np.stack([free(left.start), gain(left.noise)]))
        quiet, loud = free(left.judged_start), gain(left.judged_noise)
        stable = np.isfinite(quiet) & np.isfinite(loud)
        if schedule.kept is not None:
            stable &= (np.sqrt(quiet) > LOST * np.sqrt(most[0])) & (loud > LOST * most[1])
    return np.where(stable, quiet, np.inf), np.where(stable, loud, np.inf)


SHARES_OF_T = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""T that are tried, over the scenario's, with ``tuned``."""
STRIDES = np.geomspace(0.02, 20.0, 20)
"""First step of a round times the largest curvature, of those that are tried."""
FOLDS = np.geomspace(0.1, 60.0, 20)
"""How often over a run a deviation of average curvature shrinks by e, of the ρ that are tried."""
ORDERS = 2000
"""Orders of joining that are tried at most."""


@dataclass(frozen=True)
class Coalition:
    """Some of the owners, and what their model is expected to cost.

    The cost is E f(θ_L,T)/f(θ*) − 1, the expectation over which records are whose, over noise and
    over who answers when. f and θ* are those of all owners' records, members' or not. It is the ψ
    of the members' learning about their own optimum θ_S*, and what θ_S* misses; their product has
    about mean 0 and is left out. Differences between the owners' optima, and clipping, are not in
    it.

    Attributes
    ----------
    members : tuple of int
        From 1, ascending.
    records : int
        n_S.
    cost : float
    rho : float
        ρ, and
    updates : int
        T, that it is with.
    answers : int
        K, answers that share each member's budget.
    """

    members: tuple[int, ...]
    records: int
    cost: float
    rho: float
    updates: int
    answers: int


@dataclass(frozen=True, eq=False)
class EqualSizeCost:
    """The cost of a coalition by its number of members k, its records n_S and its noise W_S.

        cost = free[k] + b (1/n_S − 1/n) + noise[k] W_S/n_S²,   W_S = Σ_S w_i,   w_i = n_i² v_i,

    v_i the variance of i's noise for a budget of a single answer. For rounds with all members
    that is exact. For one-on-one learning it is exact for k owners of one size, whatever their
    budgets; owners of other sizes forget faster or slower, and the more their sizes differ (or
    the larger the steps are) the more it is off. A coalition takes what suits it best of R choices
    of ρ and T, which are worked out from public numbers.

    Attributes
    ----------
    courses : tuple of Course
        One for each choice.
    rho, answers, free, noise : array (N, R)
        ρ (c_1 or α where that is the step), K, E ψ without noise, and its growth, for k = 1 … N.
    total : float
        n.
    """

    courses: tuple[Course, ...]
    rho: Array
    answers: Ints
    free: Array
    noise: Array
    total: float

    @classmethod
    def one_on_one(
        cls,
        choices: Sequence[tuple[Course, Array]],
        answers: Callable[[int, int], int],
        total: float,
    ) -> "EqualSizeCost":
        """Work out all choices: of each a course, and its ρ for k = 1 … N members, (N,)."""
        columns = []
        for course, rho in choices:
            members = np.arange(1, len(rho) + 1)
            caps = np.array([answers(k, course.updates) for k in members.tolist()])
            quiet, gain = one_size(course, rho, members)
            columns.append((rho, caps, quiet, gain * members * np.square(caps.astype(float))))
        rho_of, allowed_of, free, noise = (
            np.stack(column, axis=1) for column in zip(*columns, strict=True)
        )
        courses = tuple(course for course, _ in choices)
        return cls(courses, rho_of, allowed_of, free, noise, total)

    def cost(self, members: Ints, records: Array, spread: Array) -> tuple[Array, Ints]:
        """Return the cost, and which choice it is with, of coalitions with k, n_S and W_S, (B,)."""
        relative = np.asarray(spread) / np.asarray(records, dtype=float) ** 2
        best = np.full(len(relative), np.inf)
        place = np.zeros(len(relative), dtype=np.int64)
        for at in range(self.free.shape[1]):
            with np.errstate(invalid="ignore"):  # ∞ · 0
                cost = self.free[members - 1, at] + self.noise[members - 1, at] * relative
            better = cost < best
            best, place = np.where(better, cost, best), np.where(better, at, place)
        return best + self.courses[0].per_record * (1 / records - 1 / self.total), place


def best_of_each_size(alike: EqualSizeCost, records: Array, spread: Array) -> list[Coalition]:
    """Return the best coalition that is found of 1, 2, … N owners.

    The cost of k members falls with n_S and grows with W_S. For every price λ ≥ 0 of a record, the
    k owners with the least w_i − λ n_i have the least W_S − λ n_S: owners join in that order, one
    after the other, and the best of all orders is taken. For each k they span the corner of the
    convex hull of all (n_S, W_S) where the best lies.

    Parameters
    ----------
    alike : EqualSizeCost
    records, spread : array (N,)
        n_i and w_i.

    Raises
    ------
    SpecError
        If learning diverges for every coalition.
    """
    n, w = np.asarray(records, dtype=float), np.asarray(spread, dtype=float)
    # at one price the largest of equals come first; an infinite price is by size alone
    scores = [-n if np.isinf(price) else w - price * n for price in _prices(n, w)]
    orders = np.stack([np.lexsort((w, -n, score)) for score in scores])
    held, loud = np.cumsum(n[orders], axis=1), np.cumsum(w[orders], axis=1)
    members = np.tile(np.arange(1, len(n) + 1), len(orders))
    cost, place = (column.reshape(held.shape) for column in
                   alike.cost(members, held.ravel(), loud.ravel()))  # fmt: skip
    if not np.isfinite(cost).any():
        raise SpecError([Fault("algorithm.rho", "a step with which learning diverges", "lower it")])
    best = np.argmin(cost, axis=0)
    return [
        Coalition(
            members=tuple(sorted((orders[row, : k + 1] + 1).tolist())),
            records=round(float(held[row, k])),
            cost=float(cost[row, k]),
            rho=float(alike.rho[k, place[row, k]]),
            updates=alike.courses[place[row, k]].updates,
            answers=int(alike.answers[k, place[row, k]]),
        )
        for k, row in enumerate(best.tolist())
    ]


def _prices(n: Array, w: Array) -> list[float]:
    """Return 0, λ between those at which two owners change places (not too many), and ∞."""
    more, louder = n[:, None] - n, w[:, None] - w
    change = np.unique((louder / np.where(more == 0, np.inf, more))[(more > 0) & (louder > 0)])
    if len(change) > ORDERS:
        change = change[np.linspace(0, len(change) - 1, ORDERS).astype(np.int64)]
    between = (change[1:] + change[:-1]) / 2
    return [0.0, *between.tolist(), np.inf]


def enough_answers(members: int, updates: int) -> int:
    """Return the least K with which k members fall silent before T with probability ≤ 10⁻³.

    One of them has K of the first T − 1 updates with probability P(Bin(T − 1, 1/k) ≥ K).

    Parameters
    ----------
    members : int
        k ≥ 1.
    updates : int
        T ≥ 1.
    """
    return enough(1 / members, members, updates)


def costs(known: Population, *, tuned: bool) -> tuple[EqualSizeCost, Array, Array]:
    """Return the costs of coalitions, and n_i and w_i of every owner.

    w_i = n_i² v_i = 2 (2Ξ/ε_i)², v_i the variance if one answer had all of ε_i. Clipping is taken
    as inactive.

    Parameters
    ----------
    known : Population
    tuned : bool
        Whether ρ and T are chosen for each size, or are the scenario's.

    Raises
    ------
    SpecError
        If coalitions have no moments.
    """
    _refuse(known)
    scenario, objective = known.scenario, known.objective
    if objective is None:
        raise TypeError("_refuse() lets no such scenario pass")
    updates, lengths = scenario.run.updates, [scenario.run.updates]
    if tuned:
        lengths = sorted({max(1, round(share * updates)) for share in SHARES_OF_T})
    of_kind = _one_on_one if scenario.algorithm.in_rounds is None else _in_rounds
    alike = of_kind(scenario, objective, lengths, tuned=tuned)
    xi = 0.0 if known.problem.xi is None else known.problem.xi
    epsilon = scenario.privacy.epsilons(scenario.owners.count)
    return alike, objective.records.astype(float), np.asarray(2 * np.square(2 * xi / epsilon))


def _in_rounds(
    scenario: Scenario, objective: Quadratic, lengths: list[int], *, tuned: bool
) -> EqualSizeCost:
    """Return the costs of coalitions that learn in rounds, for these T."""
    algorithm = scenario.algorithm.in_rounds
    if algorithm is None:
        raise TypeError("_refuse() lets no such scenario pass")
    course = partial(
        Course.from_objective, objective, noise=scenario.privacy.noise, initial=algorithm.initial
    )
    courses = [course(updates=length) for length in lengths]
    choices = [(courses[-1], algorithm.step)]
    for shorter in courses * tuned:
        first = algorithm.schedule(np.ones(1), shorter.updates).sizes[0, 0]
        unit = float(first) * float(shorter.hessian.max())
        choices += [(shorter, stride / unit) for stride in STRIDES.tolist()]
    outcomes = [
        rounds(chosen, algorithm.schedule(np.array([step]), chosen.updates))
        for chosen, step in choices
    ]
    free, gain = (np.concatenate(column) for column in zip(*outcomes, strict=True))
    paid = np.array([chosen.updates for chosen, _ in choices])  # K = T
    step = np.array([step for _, step in choices])
    step, answers, free, noise = (
        np.tile(column, (objective.n_owners, 1)) for column in (step, paid, free, gain * paid**2.0)
    )
    of_choices, total = tuple(chosen for chosen, _ in choices), float(objective.records.sum())
    return EqualSizeCost(of_choices, step, answers, free, noise, total)


def _one_on_one(
    scenario: Scenario, objective: Quadratic, lengths: list[int], *, tuned: bool
) -> EqualSizeCost:
    """Return the costs of coalitions that learn one-on-one, for these T."""
    algorithm, n = scenario.algorithm.one_on_one, objective.n_owners
    if algorithm is None:
        raise TypeError("_refuse() lets no such scenario pass")
    course = partial(
        Course.from_objective, objective, noise=scenario.privacy.noise, initial=algorithm.initial,
        central_step=algorithm.central_step,
    )  # fmt: skip
    courses = [course(updates=length) for length in lengths]
    updates, sigma = scenario.run.updates, objective.sigma
    own_rho = [algorithm.rho(members, updates, sigma) for members in range(1, n + 1)]
    choices = [(courses[-1], np.array(own_rho))]
    choices += [
        (length_course, rho) for length_course in courses * tuned for rho in steps(length_course, n)
    ]
    follows = scenario.privacy.budget.follows_updates
    answers = (lambda _, length: length) if follows else enough_answers
    return EqualSizeCost.one_on_one(choices, answers, float(objective.records.sum()))


def steps(course: Course, owners: int) -> list[Array]:
    """Return ρ for k = 1 … N members, a list for each of :data:`FOLDS`, each (N,).

    The copies' mean deviation shrinks over a run by exp(−2ρh/(σT(k+1))) along a direction of
    curvature h, in the limit of small steps.
    """
    middle = float(np.exp(np.mean(np.log(course.hessian))))
    unit = course.sigma * course.updates * (np.arange(1, owners + 1) + 1) / (2 * middle)
    return [fold * unit for fold in FOLDS.tolist()]


def _refuse(known: Population) -> None:
    """Refuse scenarios whose coalitions have no moments."""
    privacy = known.scenario.privacy
    if privacy.overlap > 1:
        domain = "allowed is 1: who shares records changes with the coalition"
        raise SpecError([Fault("privacy.overlap", str(privacy.overlap), domain)])
    # budgets are made to fit each coalition, so that those of the scenario's do not matter here
    endless = privacy.model_copy(update={"budget": Horizon()})
    free = known.scenario.model_copy(update={"privacy": endless})
    doubts = [
        doubt for doubt in broken(replace(known, scenario=free))
        if privacy.clip_bound is None or not doubt.startswith("clipped")
    ]  # fmt: skip
    if privacy.per_owner:
        doubts.append("noise that hides whole owners is not worked out here")
    elif not privacy.budget.even:
        doubts.append(f"budgets {privacy.budget.kind}, of unequal parts, are not worked out here")
    elif privacy.hides and not privacy.laplace_variance:
        kind = privacy.mechanism.kind
        doubts.append(f"noise {kind} of other answer counts is not worked out here")
    if privacy.participation is not None:
        doubts.append("limits on participation are not worked out for coalitions")
    if not privacy.budget.named_answers:
        doubts.append(f"budgets {privacy.budget.kind} are not worked out for coalitions")
    doubts += [f"{part} is of all owners by their numbers" for part in free.of_everybody]
    chosen = selection(free.network)
    if not isinstance(chosen, Unknown) and not np.allclose(chosen, 1 / len(chosen), rtol=1e-9):
        doubts.append("owners come unequally often")
    law = releases(free.network)
    if not isinstance(law, Unknown) and np.any(law.loss > 0):
        doubts.append("answers are lost, and use up budgets that are made to fit a coalition")
    if len(doubts) > 0:
        raise SpecError([Fault("", doubt, "no forecast of coalitions") for doubt in doubts])


def by_themselves(known: Population, coalition: Coalition) -> tuple[Scenario, Dataset]:
    """Return the scenario of a coalition's members alone, and its records.

    Those of all others stay, as rows of nobody, for f and θ*.
    """
    places = [member - 1 for member in coalition.members]
    dataset = known.dataset.of_owners(places, range(len(known.dataset.targets)))
    dataset = replace(dataset, held_out_features=(), held_out_targets=())
    return invited(known.scenario, coalition).base(), dataset


def invited(
    scenario: Scenario, coalition: Coalition, called: Sequence[int | str] | None = None
) -> Scenario:
    """Return a scenario with the members of a coalition alone, at its ρ, T and K.

    It is judged by the records that the given one is judged by.

    Parameters
    ----------
    scenario : Scenario
    coalition : Coalition
    called : sequence of int or str, optional
        What its owners are called in ``owners.only``; their numbers, where absent.
    """
    names = scenario.owners.participants if called is None else called
    only = tuple(names[member - 1] for member in coalition.members)
    return scenario.replace(
        owners={"only": only, "score_on": scenario.owners.judging_beside(names)},
        run={"updates": coalition.updates},
        algorithm=scenario.algorithm.with_step(coalition.rho),
        privacy={"budget": scenario.privacy.budget.sized(coalition.answers), "learner": None},
    )
