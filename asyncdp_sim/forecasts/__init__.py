"""The answer without training: how good, how soon, at what privacy cost, and who gains."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.units import counts_rounds
from asyncdp_sim.forecasts.by_observer import CostAgainst, by_observer
from asyncdp_sim.forecasts.by_runs import half_width
from asyncdp_sim.forecasts.energy import EnergyForecast, energy_forecast
from asyncdp_sim.forecasts.gains import Asked, GainForecast, gains
from asyncdp_sim.forecasts.population import Population, population, value_alone
from asyncdp_sim.forecasts.simulated import simulated
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.size import require_room
from asyncdp_sim.theory.prediction import Prediction

PLAIN = Asked()
"""Gains as the definition has them."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Forecast:
    """Forecast of a scenario: expected ψ, time, and what owners gain by joining.

    Attributes
    ----------
    scenario : Scenario
        On the data that it was made from.
    participants : Participants
        The owners.
    psi : float
        Expected ψ at the end.
    psi_half_width : float
        Of its 95 % interval.
    quantiles : dict
        Quantiles of ψ at the end, by level.
    noise_free : float
        Expected ψ at the end without noise, with the same clipping.
    curve : array (J,)
        Expected ψ of the model, from k = 0 on.
    times : array (J,)
        Expected times of these (time units).
    time : float
        Expected time of the last update (time units).
    time_half_width : float
        Half width of its 95 % interval.
    target : float or None
        The ψ to be reached, as requested.
    target_time : float or None
        Time at which the expected ψ first reaches the target; None if it never does.
    target_probability : float or None
        P(ψ at the end ≤ target).
    alone : array (N,)
        ψ of each owner's own optimum: its fit to all records, which decides nothing. Without
        members where the loss is not quadratic.
    epsilon_spent : array (N,)
        Expected ε of each owner at the end of the run.
    gains : GainForecast or None
        What owners gain by joining; None where that was not asked for.
    method : str
        How many runs were simulated.
    data : str
        Data that they learned from.
    not_for_release : bool
        Whether private records were read.
    timing : str, optional
        Information on records that timing reveals and no ε accounts for: no finite ε holds then.
    unsound : str, optional
        Reason why private records influence other records' answers, or the settings: no finite ε
        holds then.
    against : str, optional
        Observer that ε is against, if the scenario names one.
    known_after : bool
        Whether the ε against that observer is known only after a run: the ε spent is then reported
        against an observer that receives every answer, which is never less.
    observers : tuple of CostAgainst
        Cost of records against each observer that applies, if several do.
    energy : EnergyForecast, optional
        Expected energy of owners, if the scenario has ``[energy]``.
    throughput : Prediction, optional
        Limits of the updates per time unit for any laws of the times, if no formula gives a
        value.
    time_unit : str, optional
        Name of a time unit.
    rounds : bool
        Whether the time unit has no name and is one round of answers.
    """

    scenario: Scenario
    participants: Participants
    psi: float
    psi_half_width: float
    quantiles: dict[float, float]
    noise_free: float
    curve: Array
    times: Array
    time: float
    time_half_width: float
    target: float | None
    target_time: float | None
    target_probability: float | None
    alone: Array
    epsilon_spent: Array
    gains: GainForecast | None
    method: str
    data: str
    not_for_release: bool
    timing: str | None = None
    unsound: str | None = None
    against: str | None = None
    known_after: bool = False
    observers: tuple[CostAgainst, ...] = ()
    energy: EnergyForecast | None = None
    throughput: Prediction | None = None
    time_unit: str | None = None
    rounds: bool = False

    @property
    def cost_of_privacy(self) -> float:
        """Expected ψ that noise adds."""
        return self.psi - self.noise_free


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
    runs = simulated(known, workers, progress)
    psi, psi_half_width = runs.psi, half_width(runs.final)
    accountant = known.problem.accountant
    spent = accountant.spent(np.rint(runs.answers).astype(np.int64))
    if known.problem.xi is None:
        spent = np.full(len(spent), np.inf)
    found = None
    if judged is not None:
        options = replace(judged, workers=workers, progress=progress)
        found = gains(known, options, whose)
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
        gains=found,
        method=f"{len(runs.final)} simulated runs",
        data=known.words,
        not_for_release=known.private or whose is not None,
        timing=scenario.timing_unaccounted,
        unsound="; ".join(unsound) or None,
        against=None if observer is None else observer.describe(),
        known_after=observer is not None and not observer.by_count,
        observers=by_observer(known, psi, runs.noise_free),
        energy=energy_forecast(scenario, time, time_half_width),
        throughput=next((each for each in pace if each.between is not None), None),
        time_unit=scenario.run.time_unit,
        rounds=counts_rounds(scenario.run.time_unit, scenario.clock.model_dump()),
    )


__all__ = ["Forecast", "forecast"]
