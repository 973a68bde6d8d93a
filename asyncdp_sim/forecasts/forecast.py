"""The answer without training: how good, how soon, at what privacy cost, and who gains.

Costs beside ψ are the energy of owners, and what each observer that applies learns of a record.
"""

from dataclasses import replace
from typing import Literal, cast

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.specification import members
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import counts_rounds
from asyncdp_sim.decision.forecast import CostAgainst, EnergyForecast, Forecast
from asyncdp_sim.forecasts.gains import Asked, gains
from asyncdp_sim.forecasts.population import (
    Population,
    half_width,
    population,
    simulated,
    value_alone,
    with_privacy,
)
from asyncdp_sim.measures.energy import expected
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.accountants import gaussian_multiplier
from asyncdp_sim.privacy.observers import Observer, ObserverKind
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.all import predict, require_room
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


PLAIN = Asked()
"""Gains as the definition has them."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def forecast(
    scenario: Scenario,
    *,
    private: bool = False,
    target: float | None = None,
    workers: int = 1,
    known: Population | None = None,
    judged: Asked | None = PLAIN,
    whose: str | None = None,
    progress: Progress | None = None,
    whole: bool = True,
) -> Forecast:
    """Forecast a scenario by simulated runs, on data that may be read.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    private : bool
        Whether a real table's private records may be read.
    target : float, optional
        ψ > 0 to reach.
    workers : int
        Processes for runs, ≥ 1.
    known : Population, optional
        Data of the forecast, if they are computed already.
    judged : Asked, optional
        How gains are judged; None for none.
    whose : str, optional
        The owner on whose machine it is, by name or number: all its rows are read.
    progress : Progress, optional
        Receives the progress.
    whole : bool
        Whether the curve has all recorded updates; else the start and the end alone, which takes
        less time. A target is looked for in the whole one.

    Raises
    ------
    SpecError
        If this machine has too little memory for a run.
    DataError
        If a real table has no twin and may not be read, or a data file does not fit the scenario.
    """
    require_room(scenario.base())
    unsound = scenario.unsound
    if known is None:
        known = population(scenario.base(), private=private)
    scenario = known.scenario
    runs = simulated(known, workers, progress, whole=whole or target is not None)
    psi, psi_half_width = runs.psi, half_width(runs.final)
    accountant = known.problem.accountant
    spent = accountant.spent(np.rint(runs.answers).astype(np.int64))
    if known.problem.xi is None:
        spent = np.full(len(spent), np.inf)
    judged_gains = None
    if judged is not None:
        options = replace(judged, workers=workers, progress=progress)
        judged_gains = gains(known, options, whose)
    reached = np.flatnonzero(runs.curve <= (np.nan if target is None else target))
    between: Literal["linear", "nearest"] = "linear"
    if not np.isfinite(runs.final).all():
        between = "nearest"
    observer = None if scenario.privacy.observer is None else scenario.privacy.listener
    predictions = predict(scenario.network)
    pace = (each for each in predictions if each.quantity == "throughput")
    time, time_half_width = float(runs.ends.mean()), half_width(runs.ends)
    return Forecast(
        scenario=scenario,
        participants=known.participants,
        psi=psi,
        psi_half_width=psi_half_width,
        quantiles={
            level: float(np.quantile(runs.final, level, method=between)) for level in QUANTILES
        },
        noise_free=runs.noise_free,
        curve=runs.curve,
        times=runs.times,
        time=time,
        time_half_width=time_half_width,
        target=target,
        target_time=float(runs.times[reached[0]]) if len(reached) > 0 else None,
        target_probability=None if target is None else float(np.mean(runs.final <= target)),
        alone=value_alone(known),
        epsilon_spent=np.asarray(spent, dtype=float),
        gains=judged_gains,
        method=f"{len(runs.final)} simulated runs",
        data=known.words,
        release=not known.private and whose is None,
        timing=scenario.timing_unaccounted,
        unsound="; ".join(unsound) or None,
        against=None if observer is None else observer.describe(),
        known_after=observer is not None and not observer.by_count,
        observers=by_observer(known, psi, runs.noise_free),
        energy=energy_forecast(scenario, time, time_half_width),
        throughput=next((each for each in pace if each.between is not None), None),
        time_unit=scenario.run.time_unit,
        rounds=scenario.protocol.clocked
        and counts_rounds(scenario.run.time_unit, scenario.clock.model_dump()),
    )


__all__ = ["Forecast", "forecast"]
