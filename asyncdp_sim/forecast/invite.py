"""Whom a scenario's learner should invite, and what each of its owners adds."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecast.alike import Alike, enough_answers, steps, strides
from asyncdp_sim.forecast.assumptions import broken
from asyncdp_sim.forecast.coalition import Coalition, Invitation, best_coalition
from asyncdp_sim.forecast.decoupled import Course
from asyncdp_sim.forecast.fair import ENUMERATED, Division, Members, sampled, shapley
from asyncdp_sim.forecast.population import Population, population
from asyncdp_sim.forecast.synchronous import Synchronous, scheduled, step_of
from asyncdp_sim.learning.algorithms import AsyncGossip
from asyncdp_sim.privacy import Clip
from asyncdp_sim.privacy.budget import Horizon
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.streams import Streams
from asyncdp_sim.theory.updating import releases, selection

Array = npt.NDArray[np.float64]
PERMUTATIONS = 1000
SHARES_OF_T = (1.0, 0.5, 0.25, 0.125, 0.0625)
"""T that are tried, over the scenario's, with ``tuned``."""


@dataclass(frozen=True, eq=False)
class Invited:
    """Who should be invited to a scenario's learning, and what its owners add.

    Attributes
    ----------
    invitation : Invitation
    worth : Division
        Shapley's division of what everybody's learning is worth, by the quick cost: a coalition
        is worth ψ(θ_0) less its cost, or nothing where its model would be worse than θ_0.
    moments : str
        Of what data.
    doubts : tuple of str
        What the forecast takes for granted.
    not_for_release : bool
        Whether private records were read.
    """

    invitation: Invitation
    worth: Division
    moments: str
    doubts: tuple[str, ...]
    not_for_release: bool

    def lines(self) -> list[str]:
        """Return the advice in words."""
        found = self.invitation
        how = "all" if found.exhaustive else "greedily"
        certain = "proven" if found.proven else "stated"
        marked = ": uses private data, not for release" if self.not_for_release else ""
        value = np.argsort(-self.worth.share)
        return [
            f"invite    {_who(found.best)}",
            f"everybody {_who(found.everybody)}",
            *(f"next best {_who(each)}" for each in found.others),
            f"compared  {found.ranked} coalitions ({how}), {found.worked_out} of them exactly",
            f"gap       at most {found.gap:.2%}, {certain}; exact over quick cost "
            f"{found.ratio[0]:.4g} to {found.ratio[1]:.4g}",
            "adds most "
            + ", ".join(f"owner {i + 1}: {self._share(i)}" for i in value[:5].tolist()),
            "adds least "
            + ", ".join(f"owner {i + 1}: {self._share(i)}" for i in value[:-4:-1].tolist()),
            *(f"assumed   {doubt}" for doubt in self.doubts),
            f"data      {self.moments}{marked}",
        ]

    def _share(self, i: int) -> str:
        error = float(self.worth.error[i])
        return f"{self.worth.share[i]:.4g}" + (f" ± {error:.2g}" if error > 0 else "")


def invite(scenario: Scenario, *, private: bool = False, tuned: bool = True) -> Invited:
    """Say whom to invite, without training a model: to asynchronous gossip, or to rounds.

    Every coalition learns by itself: N, n and the shares n_i/n are its own. Under a cap each
    member's budget is for as many answers as members of a coalition of that size need
    (:func:`~asyncdp_sim.forecast.alike.enough_answers`), for T under a horizon.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read.
    tuned : bool
        Whether a coalition takes what suits it best of a grid of ρ and of T up to the scenario's,
        its own among them, or only the scenario's. At one ρ a large coalition, whose copies each
        move less often, is further from its optimum than a small one at the end, whatever the
        records are.

    Raises
    ------
    SpecError
        If the exact moments are not those of the scenario. Clipped gradients are let pass: they
        are taken as if no record's gradient were clipped, and ``doubts`` says so.
    DataError
        As :func:`~asyncdp_sim.forecast.forecast`.
    """
    known = population(scenario.base(), "common", private=private)
    alike, records, spread, doubts = prepared(known, tuned=tuned)
    objective = known.problem.task.objective
    untrained = alike.courses[0].untrained

    def value(members: Members) -> Array:
        some = members.any(axis=1)
        cost = np.full(len(members), untrained)
        chosen = members[some].astype(float)
        k = members[some].sum(axis=1)
        trained = alike.cost(k, chosen @ records, chosen @ spread)[0]
        cost[some] = np.minimum(trained, untrained)  # who would do worse than θ_0 does not train
        return untrained - cost

    n = objective.n_owners
    if n <= ENUMERATED:
        worth = shapley(value, n)
    else:
        draws = Streams(known.scenario.run.seed).within("forecast").generator("permutations")
        worth = sampled(value, n, PERMUTATIONS, draws)
    return Invited(
        best_coalition(alike, records, spread), worth, known.words, doubts, known.private
    )


def prepared(known: Population, *, tuned: bool) -> tuple[Alike, Array, Array, tuple[str, ...]]:
    """Return the costs of coalitions, n_i and w_i of every owner, and what is taken for granted."""
    scenario, objective = known.scenario, known.objective
    algorithm, privacy = scenario.algorithm, scenario.privacy
    if privacy.overlap > 1:
        said = "allowed is 1: who shares records changes with the coalition"
        raise SpecError([Fault("privacy.overlap", str(privacy.overlap), said)])
    doubts = unlike(known)
    if objective is None or not isinstance(algorithm, AsyncGossip | Synchronous):
        raise TypeError("unlike() lets no such scenario pass")
    course = partial(Course.of, objective, noise=privacy.noise, initial=algorithm.initial)
    n, updates = objective.n_owners, scenario.run.updates
    records = objective.records.astype(float)
    lengths = [updates]
    if tuned:
        lengths = sorted({max(1, round(share * updates)) for share in SHARES_OF_T})
    if not isinstance(algorithm, AsyncGossip):
        schedule = scheduled(algorithm)
        courses = [course(updates=length) for length in lengths]
        strided = [(courses[-1], step_of(algorithm))]
        if tuned:
            strided += [(each, c) for each in courses for c in strides(each, schedule)]
        alike = Alike.in_rounds(strided, n, float(records.sum()), schedule)
        return alike, records, spread_of(known), doubts
    courses = [course(updates=length, central_step=algorithm.central_step) for length in lengths]
    choices = [(courses[-1], np.full(n, algorithm.rho))]
    if tuned:
        choices += [(each, rho) for each in courses for rho in steps(each, n)]
    horizon = isinstance(privacy.budget, Horizon)
    allowed = (lambda _, length: length) if horizon else enough_answers
    alike = Alike.one_on_one(choices, allowed, float(records.sum()))
    return alike, records, spread_of(known), doubts


def spread_of(known: Population) -> Array:
    """Return w_i = n_i² v_i = 2 (2Ξ/ε_i)², v_i the variance if one answer had all of ε_i, (N,)."""
    xi = known.problem.xi
    epsilon = known.scenario.privacy.epsilons(known.scenario.owners.count)
    return np.asarray(2 * np.square(2 * (0.0 if xi is None else xi) / epsilon))


def unlike(known: Population) -> tuple[str, ...]:
    """Return what a forecast of coalitions takes for granted of a scenario.

    Raises
    ------
    SpecError
        If it cannot be made.
    """
    privacy = known.scenario.privacy
    granted = ["records are spread over owners as if by chance: one truth for all of them"]
    clipped = isinstance(privacy.sensitivity, Clip) and privacy.mechanism != "none"
    endless = privacy.model_copy(update={"budget": Horizon()})
    # budgets are made to fit each coalition, so that those of the scenario's do not matter here
    free = known.scenario.model_copy(update={"privacy": endless})
    doubts = broken(replace(known, scenario=free))
    if clipped:
        granted.append("no record's gradient is clipped, so that answers are linear in the model")
        doubts = [doubt for doubt in doubts if not doubt.startswith("clipped")]
    if known.objective is not None and known.objective.theta_max is not None:
        granted.append("the projection onto Θ never acts")
    if privacy.mechanism not in ("laplace", "none"):
        doubts.append(f"noise {privacy.mechanism} of other answer counts is not worked out here")
    if privacy.budget.kind == "until-spent":
        doubts.append("budgets until-spent are not worked out for coalitions")
    chosen = selection(free.network)
    if not isinstance(chosen, str) and not np.allclose(chosen, 1 / len(chosen), rtol=1e-9):
        doubts.append("owners come unequally often")
    law = releases(free.network)
    if not isinstance(law, str) and np.any(law.loss > 0):
        doubts.append("answers are lost, and use up budgets that are made to fit a coalition")
    if len(doubts) > 0:
        raise SpecError([Fault("", doubt, "no forecast of coalitions") for doubt in doubts])
    return tuple(granted)


def _who(found: Coalition) -> str:
    members = ", ".join(map(str, found.members[:12]))
    more = len(found.members) - 12
    return (
        f"ψ {found.cost:.4g} (of it too few records: {found.sampling:.3g}) by "
        f"{len(found.members)} owners with {found.records} records, ρ = {found.rho:.4g}, "
        f"T = {found.updates}, K = {found.answers}: {members}" + (f", … {more} more" * (more > 0))
    )


__all__ = ["Invited", "invite", "prepared"]
