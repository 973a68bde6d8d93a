"""Costs beside ψ: the energy of owners, and what each observer that applies learns of a record."""

from typing import cast

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.specification import members
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.decision.forecast import CostAgainst, EnergyForecast
from asyncdp_sim.forecasts.population import Population, value_alone, with_privacy
from asyncdp_sim.measures.energy import expected
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants.own import gaussian_multiplier
from asyncdp_sim.privacy.observers import Observer, ObserverKind
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.prediction import Unknown


def energy_forecast(scenario: Scenario, time: float, half_width: float) -> EnergyForecast | None:
    """Return the energy of a run of this expected duration; None where none is specified.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    time, half_width : float
        Until the last update (time units), and of its 95 % interval.
    """
    if scenario.energy is None:
        return None
    result = expected(scenario.energy, scenario.network)
    if isinstance(result, Unknown):
        return EnergyForecast(None, 0.0, (), None, None, result.reason)
    per_unit, updates = float(result.watts.sum()) * scenario.energy.seconds, result.updates * time
    return EnergyForecast(
        joules=per_unit * time,
        joules_half_width=per_unit * half_width,
        watts=tuple(result.watts.tolist()),
        bytes_sent=result.sent * updates,
        bytes_received=result.received * updates,
        reason="",
    )


def by_observer(known: Population, psi: float, noise_free: float) -> tuple[CostAgainst, ...]:
    """Return what each observer that applies learns; nothing where only one does.

    Parameters
    ----------
    known : Population
    psi, noise_free : float
        Expected ψ of the scenario, with noise and without.
    """
    observers = applying(known.scenario) if known.scenario.privacy.hides else []
    if len(observers) < 2:
        return ()
    return tuple(_cost(known, observer, psi, noise_free) for observer in observers)


def applying(scenario: Scenario) -> list[ObserverKind]:
    """Return the observers whose ε is known in a scenario, the scenario's own among them."""
    privacy, kinds = scenario.privacy, cast("list[type[ObserverKind]]", members(Observer))
    ways = [way for kind in kinds for way in kind.ways()]
    if privacy.per_owner:
        for_owners = (way.for_owners() for way in ways)
        ways = [way for way in for_owners if way.hides_owners]
    if not privacy.budget.even:
        ways = [way for way in ways if way.knows_parts]
    if privacy.bound_moves or privacy.correlation is not None:
        ways = [way for way in ways if way.learner_adds_noise]
    if privacy.listener not in ways:
        ways.append(privacy.listener)
    return [way for way in ways if len(way.misfits(with_privacy(scenario, observer=way))) == 0]


def _cost(known: Population, observer: ObserverKind, psi: float, noise_free: float) -> CostAgainst:
    asked = with_privacy(known.scenario, observer=observer)
    privacy, n_owners = asked.privacy, asked.owners.count
    accountant = asked.accountant
    scope = Streams(asked.run.seed).within("forecast", "observer")
    learned = observer.listening(asked).learned(accountant, [simulate(asked.network, scope)])
    quieter = 1.0
    if accountant.multiplier is not None and len(privacy.prices(n_owners)) == 0:
        quieter = _quieter(privacy.epsilons(n_owners), learned.most[0], accountant.delta)
    alone = value_alone(known)
    affine = len(alone) > 0 and privacy.clip_bound is None
    share = quieter * observer.share_of_noise(n_owners, asked.protocol.asked_at_most or n_owners)
    then = noise_free + share**2 * (psi - noise_free) if affine else None
    return CostAgainst(
        name=observer.name,
        observer=observer.describe(),
        epsilon=float(learned.most.max()),
        quieter=share,
        psi=then,
        psi_alone_above=None if then is None else int(np.sum(alone > then)),
    )


def _quieter(budgets: Array, learned: Array, delta: float) -> float:
    """Return the largest share of noise, of all alike, at which nobody exceeds its budget."""
    shares = [
        gaussian_multiplier(budget, delta) / gaussian_multiplier(spent, delta)
        for budget, spent in zip(budgets.tolist(), learned.tolist(), strict=True)
        if spent > 0
    ]
    return min(1.0, max(shares, default=1.0))
