"""The answer without training: how good, how soon, at what privacy cost, and who gains."""

from dataclasses import replace
from typing import Literal

import numpy as np

from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.units import counts_rounds
from asyncdp_sim.decision.forecast import Forecast
from asyncdp_sim.forecasts.costs import by_observer, energy_forecast
from asyncdp_sim.forecasts.gains import Asked, gains
from asyncdp_sim.forecasts.population import (
    Population,
    half_width,
    population,
    simulated,
    value_alone,
)
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.all import predict, require_room

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
