"""The best step and the best length of a run, by exact moments and without any training."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.forecast.alike import enough_answers, steps
from asyncdp_sim.forecast.assumptions import choice
from asyncdp_sim.forecast.decoupled import Course
from asyncdp_sim.forecast.expected import Recursions
from asyncdp_sim.forecast.invite import spread_of, unlike
from asyncdp_sim.forecast.one_size import one_size
from asyncdp_sim.forecast.population import Population, population
from asyncdp_sim.learning.algorithms import AsyncGossip
from asyncdp_sim.privacy.budget import Horizon, PerOwnerCap
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.domain import count

Array = npt.NDArray[np.float64]
LENGTHS = 16
"""T that are tried from N to twice the scenario's, in equal ratios; half as many near the best."""


MANY = 16
"""Owners from which only the best few of what is tried are worked out exactly."""
FEW = 4


@dataclass(frozen=True)
class Setting:
    """A choice of ρ and T, and what it comes to.

    Attributes
    ----------
    rho : float
    updates : int
        T.
    answers : int
        K, answers that share each budget.
    psi, noise_free : float
        E ψ(θ_L,T), with noise and without.
    """

    rho: float
    updates: int
    answers: int
    psi: float
    noise_free: float


@dataclass(frozen=True)
class Design:
    """The best choice that was found, and the scenario's own.

    Attributes
    ----------
    given, best : Setting
        Both by the exact moments of the scenario's owners; the given one is None where they do not
        apply to it, and ``doubts`` says why.
    tried : tuple of Setting
        The best ρ of each T, with all owners taken to have n/N records (exact where they do).
    scenario : Scenario
        With the best choice in it.
    moments : str
        Of what data.
    doubts : tuple of str
        What is taken for granted.
    not_for_release : bool
        Whether private records were read: a choice made from them is a release, too.
    """

    given: Setting | None
    best: Setting
    tried: tuple[Setting, ...]
    scenario: Scenario
    moments: str
    doubts: tuple[str, ...]
    not_for_release: bool

    @property
    def gain(self) -> float | None:
        """How many times as large the scenario's own E ψ is, where it is known."""
        return None if self.given is None else self.given.psi / self.best.psi

    def lines(self) -> list[str]:
        """Return the design in words."""
        marked = ": uses private data, not for release" if self.not_for_release else ""
        return [
            f"best   {_said(self.best)}",
            f"given  {'not known' if self.given is None else _said(self.given)}",
            f"gain   {'not known' if self.gain is None else f'{self.gain:.4g} times'}",
            *(f"tried  {_said(each)}" for each in self.tried),
            *(f"assumed {doubt}" for doubt in self.doubts),
            f"data   {self.moments}{marked}",
        ]


def tune(
    scenario: Scenario, *, private: bool = False, lengths: tuple[int, ...] | None = None
) -> Design:
    """Find the ρ and T of least expected ψ, of asynchronous gossip.

    For each T the best of a scan of ρ, then a bounded search on ln ρ between its neighbours.
    Under a horizon noise grows with T; under a cap K is made to fit T and N
    (:func:`~asyncdp_sim.forecast.alike.enough_answers`). Everything else stays.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read.
    lengths : tuple of int, optional
        T to try.

    Raises
    ------
    SpecError
        If the exact moments are not those of the scenario (clipped gradients are let pass, as for
        :func:`~asyncdp_sim.forecast.invite.invite`), if the projection may act with the best
        choice, or if learning diverges whatever ρ is.
    DataError
        As :func:`~asyncdp_sim.forecast.forecast`.
    """
    known = population(scenario.base(), "common", private=private)
    doubts = unlike(known)
    kind = known.scenario.algorithm.kind
    if not isinstance(known.scenario.algorithm, AsyncGossip):
        said = "the best step and T are sought for async-gossip alone"
        raise SpecError([Fault("algorithm.kind", repr(kind), said)])
    n, updates = known.scenario.owners.count, known.scenario.run.updates
    if lengths is None:
        tried = _over(known, np.geomspace(n, max(2 * updates, n + 1), LENGTHS))
        least = min(tried, key=lambda each: each.psi).updates
        near = [each.updates for each in tried if least / 2 <= each.updates <= 2 * least]
        tried += _over(known, np.geomspace(min(near), max(near), LENGTHS // 2))
        tried = sorted({each.updates: each for each in tried}.values(), key=lambda t: t.updates)
    else:
        tried = _over(known, np.array([count("lengths", length) for length in lengths]))
    doubts = (*doubts, "steps and horizons to try were found as if all owners were of one size")
    tried = _settled(known, tried)
    given = None
    try:
        given = _exactly(known, known.scenario)
    except SpecError as error:
        doubts = (*doubts, f"nothing of the given choice: {error}")
    found = min([*tried, *([] if given is None else [given])], key=lambda each: each.psi)
    return Design(
        given=given,
        best=found,
        tried=tuple(tried),
        scenario=_with(scenario.base(), found.rho, found.updates),
        moments=known.words,
        doubts=doubts,
        not_for_release=known.private,
    )


def _over(known: Population, lengths: Array) -> list[Setting]:
    return [_best_rho(known, length) for length in sorted({round(t) for t in lengths.tolist()})]


def _settled(known: Population, tried: list[Setting]) -> list[Setting]:
    """Return the exact moments of what was tried, of the best few where there are many owners.

    Raises
    ------
    SpecError
        If they are those of no choice.
    """
    few = len(tried) if known.scenario.owners.count <= MANY else FEW
    found, why = [], "no step with which learning converges was found"
    for each in sorted(tried, key=lambda setting: setting.psi)[:few]:
        if np.isfinite(each.psi):
            try:
                found.append(_exactly(known, _with(known.scenario, each.rho, each.updates)))
            except SpecError as error:
                why = error.faults[0].allowed
    if len(found) == 0:
        raise SpecError([Fault("algorithm.rho", "any of those tried", why)])
    return sorted(found, key=lambda setting: setting.updates)


def _best_rho(known: Population, updates: int) -> Setting:
    """Return the best ρ for a T, with all owners taken to be of one size."""
    from scipy.optimize import minimize_scalar  # a slow import

    algorithm, objective = known.scenario.algorithm, known.objective
    if not isinstance(algorithm, AsyncGossip) or objective is None:
        raise TypeError("unlike() lets no such scenario pass")
    course = Course.of(
        objective,
        updates=updates,
        central_step=algorithm.central_step,
        noise=known.scenario.privacy.noise,
        initial=algorithm.initial,
    )
    n, answers = objective.n_owners, _answers(known.scenario, updates)
    total = float(objective.records.sum())
    noise = n * answers**2 * float(spread_of(known).sum()) / total**2  # mean variance at n/N each

    def psi(rho: Array) -> Array:
        free, gain = one_size(course, rho, np.full(len(rho), n))
        return free + (gain * noise if noise > 0 else 0.0)

    scan = np.array([each[-1] for each in steps(course, n)])
    at = int(np.argmin(psi(scan)))
    ends = np.log(scan[[max(at - 1, 0), min(at + 1, len(scan) - 1)]])
    found = minimize_scalar(
        lambda x: float(np.minimum(psi(np.exp([x]))[0], 1e30)), bounds=ends, method="bounded",
        options={"xatol": 1e-4},
    )  # fmt: skip
    rho = float(np.exp(found.x))
    free = one_size(course, np.array([rho]), np.array([n]))[0]
    return Setting(rho, updates, answers, float(psi(np.array([rho]))[0]), float(free[0]))


def _exactly(known: Population, scenario: Scenario) -> Setting:
    """Return what a choice comes to by the exact moments of these owners."""
    from asyncdp_sim.run.problem import prepare

    problem = prepare(scenario, known.dataset)
    here = replace(known, scenario=scenario, problem=problem)
    chosen, objective = choice(here), known.objective
    algorithm = scenario.algorithm
    if isinstance(chosen, str) or objective is None or not isinstance(algorithm, AsyncGossip):
        why = chosen if isinstance(chosen, str) else "no quadratic loss"
        raise SpecError([Fault("", why, "no exact moments")])
    exact = Recursions().expect(here, objective, chosen)
    why = exact.refuted(objective.theta_max)
    if why:
        raise SpecError([Fault("algorithm.rho", f"{algorithm.rho:g}", f"no exact moments: {why}")])
    answers = max(scenario.network.answers_allowed)
    length = scenario.run.updates
    return Setting(
        algorithm.rho, length, answers, float(exact.psi[-1]), float(exact.noise_free[-1])
    )


def _answers(scenario: Scenario, updates: int) -> int:
    """Return K that share a budget."""
    horizon = isinstance(scenario.privacy.budget, Horizon)
    return updates if horizon else enough_answers(scenario.owners.count, updates)


def _with(scenario: Scenario, rho: float, updates: int) -> Scenario:
    """Return the scenario with another ρ and T, and as many answers as that takes."""
    changed = {
        "algorithm": scenario.algorithm.model_copy(update={"rho": rho}),
        "run": scenario.run.model_copy(update={"updates": updates}),
    }
    if not isinstance(scenario.privacy.budget, Horizon):
        cap = PerOwnerCap(answers=_answers(scenario, updates))
        privacy = scenario.privacy.model_copy(update={"budget": cap})
        return scenario.model_copy(update={**changed, "privacy": privacy})
    return scenario.model_copy(update=changed)


def _said(setting: Setting) -> str:
    return (
        f"ρ = {setting.rho:.4g}, T = {setting.updates}, K = {setting.answers}: expected ψ "
        f"{setting.psi:.4g} (without noise {setting.noise_free:.4g})"
    )
