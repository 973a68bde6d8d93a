"""The answer without training: how good, how soon, at what privacy cost, and who gains."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.units import counts_rounds
from asyncdp_sim.forecasts.benefit import Errors, OwnerForecast, errors, prospects, value_alone
from asyncdp_sim.forecasts.by_moments import moment_forecast
from asyncdp_sim.forecasts.by_observer import CostAgainst, by_observer
from asyncdp_sim.forecasts.energy import EnergyForecast, energy_forecast
from asyncdp_sim.forecasts.grid import Point, grid
from asyncdp_sim.forecasts.population import Moments, Population, population
from asyncdp_sim.forecasts.simulated import simulated
from asyncdp_sim.forecasts.uncertainty import REDRAWS, MayBeOff, may_be_off
from asyncdp_sim.runs.replicates import Learned
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.size import require_room
from asyncdp_sim.theory.prediction import Prediction

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
RECORDS = "runs need records: they use those of each owner, not common moments of all owners"
"""Doubt of a forecast by runs where common moments were requested, or are the default."""


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
        Of its 95 % interval; 0 where it is exact. With common moments the interval is of the
        expected ψ of owners that differ as samples of the records do, and by τ².
    psi_bound : float or None
        Upper bound of psi by a theorem; None where none applies.
    psi_bound_of : str or None
        Name of that theorem.
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
        Half width of its 95 % interval; 0 where a formula gives the time.
    target : float or None
        The ψ to be reached, as requested.
    target_time : float or None
        Time at which the expected ψ first reaches the target; None if it never does.
    target_probability : float or None
        P(ψ at the end ≤ target).
    owners : tuple of OwnerForecast
    method : str
        Method: exact moments, or simulated runs.
    doubts : tuple of str
        Reasons why exact moments do not apply, or apply only for a given order of updates, and
        effects that common moments leave out; empty where moments are exact.
    moments : str
        Data from which moments are computed.
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
    may_be_off : MayBeOff, optional
        How far a forecast from substitute rows may be off from one of the owners' rows.
    time_unit : str, optional
        Name of a time unit.
    rounds : bool
        Whether the time unit has no name and is one round of answers.
    worth : Errors, optional
        Errors on owners' held-out rows, which decide which owners gain; None where no rows are
        held out: ψ decides then.
    """

    scenario: Scenario
    participants: Participants
    psi: float
    psi_half_width: float
    psi_bound: float | None
    psi_bound_of: str | None
    quantiles: dict[float, float]
    noise_free: float
    curve: Array
    times: Array
    time: float
    time_half_width: float
    target: float | None
    target_time: float | None
    target_probability: float | None
    owners: tuple[OwnerForecast, ...]
    method: str
    doubts: tuple[str, ...]
    moments: str
    not_for_release: bool
    timing: str | None = None
    unsound: str | None = None
    against: str | None = None
    known_after: bool = False
    observers: tuple[CostAgainst, ...] = ()
    may_be_off: MayBeOff | None = None
    energy: EnergyForecast | None = None
    throughput: Prediction | None = None
    worth: Errors | None = None
    time_unit: str | None = None
    rounds: bool = False

    @property
    def cost_of_privacy(self) -> float:
        """Expected ψ that noise adds."""
        return self.psi - self.noise_free

    @property
    def verdicts(self) -> list[bool | None]:
        """Whether each owner gains by joining; None where that is undecided."""
        if self.worth is None:
            return [owner.profits for owner in self.owners]
        return self.worth.verdicts

    @property
    def break_even(self) -> list[float | None]:
        """Smallest ε at which each owner gains; None for none, 0 below all that were tried."""
        if self.worth is None:
            return [owner.epsilon_needed for owner in self.owners]
        return [self.worth.needed(owner) for owner in range(len(self.worth.names))]

    def would_gain(self, factor: float) -> int:
        """Return how many owners would gain if all budgets were multiplied by a factor.

        Parameters
        ----------
        factor : float
            One of the factors that were tried, where errors on held-out rows decide.
        """
        if self.worth is not None:
            return int(self.worth.profits(self.worth.factors.index(factor)).sum())
        return sum(
            owner.epsilon_needed is not None
            and owner.epsilon is not None
            and owner.epsilon_needed < factor * owner.epsilon
            for owner in self.owners
        )


def forecast(
    scenario: Scenario,
    *,
    moments: Moments = None,
    private: bool = False,
    target: float | None = None,
    heterogeneity: float | None = None,
    workers: int = 1,
    known: Population | None = None,
    redraws: int = REDRAWS,
    progress: Progress | None = None,
) -> Forecast:
    """Forecast a scenario without training a model on private records.

    Exact moments are used where they apply, if need be averaged over the order of updates in
    simulated networks; else runs on the same data. Figures that are not exact have an interval.

    Parameters
    ----------
    scenario : Scenario
        Its sweep, if any, is left out.
    moments : str, optional
        "common" or "own"; see :func:`~asyncdp_sim.forecasts.population.population`, which says
        which is the default.
    private : bool
        Whether a real table's private records may be read.
    target : float, optional
        ψ > 0 to reach.
    heterogeneity : float, optional
        τ² ≥ 0, used with common moments alone; see
        :func:`~asyncdp_sim.forecasts.benefit.value_alone`. Absent, as found in the
        records (:func:`~asyncdp_sim.forecasts.by_moments.unlike`).
    workers : int
        Processes for runs, ≥ 1.
    known : Population, optional
        Data of the forecast, if they are computed already.
    redraws : int
        Number of redraws of the substitute rows, from which the uncertainty of the forecast is
        estimated; 0 for no estimate.
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
        known = population(scenario.base(), moments, private=private)
    result = moment_forecast(known, heterogeneity)
    learned: dict[float, Learned] | None = None
    if isinstance(result, list):
        doubts = [*result, *[RECORDS] * known.common]
        if known.common:
            own = population(scenario.base(), "own", private=private, dataset=known.dataset)
            known = replace(own, quick_runs=known.quick_runs)
        result, learned = simulated(known, doubts, workers, progress)
    scenario, curve, times = known.scenario, result.psi, result.times
    owners: tuple[OwnerForecast, ...] = ()
    if known.objective is not None:
        alone = value_alone(known, known.objective, result.apart)
        gained = (result.mean, result.noise_free, result.answers, result.half_width)
        owners = tuple(prospects(known, alone, *gained))
    off = None
    if redraws > 0:
        off = may_be_off(
            known, "common" if known.common else "own", heterogeneity,
            itself=None if learned is None else learned[1.0],
            redraws=redraws, workers=workers, progress=progress,
        )  # fmt: skip
    worth = None
    if scenario.data.holds_out:
        worth = errors(known, learned=learned, workers=workers, progress=progress)
        worth = replace(worth, rows=None if off is None else np.array(off.gain_half_width))
        owners = tuple(
            replace(owner, profits=verdict, epsilon_needed=worth.needed(at))
            for at, (owner, verdict) in enumerate(zip(owners, worth.verdicts, strict=False))
        )
    reached = np.flatnonzero(curve <= (np.nan if target is None else target))
    between: Literal["linear", "nearest"] = "linear"
    if not np.isfinite(result.spread).all():
        between = "nearest"
    observer = None if scenario.privacy.observer is None else scenario.privacy.listener
    predictions = predict(scenario.network)
    pace = (each for each in predictions if each.quantity == "throughput")
    return Forecast(
        scenario=scenario,
        participants=known.participants,
        psi=result.mean,
        psi_half_width=result.half_width,
        psi_bound=result.bound,
        psi_bound_of=result.bound_of,
        quantiles={
            level: float(np.quantile(result.spread, level, method=between)) for level in QUANTILES
        },
        noise_free=result.noise_free,
        curve=curve,
        times=times,
        time=result.end,
        time_half_width=result.time_half_width,
        target=target,
        target_time=float(times[reached[0]]) if len(reached) > 0 else None,
        target_probability=None if target is None else float(np.mean(result.spread <= target)),
        owners=owners,
        method=result.words,
        doubts=result.doubts,
        moments=known.words,
        not_for_release=known.private,
        timing=scenario.timing_unaccounted,
        unsound="; ".join(unsound) or None,
        against=None if observer is None else observer.describe(),
        known_after=observer is not None and not observer.by_count,
        observers=by_observer(known, heterogeneity),
        may_be_off=off,
        energy=energy_forecast(scenario, result.end, result.time_half_width),
        throughput=next((each for each in pace if each.between is not None), None),
        worth=worth,
        time_unit=scenario.run.time_unit,
        rounds=counts_rounds(scenario.run.time_unit, scenario.clock.model_dump()),
    )


__all__ = ["Forecast", "MayBeOff", "OwnerForecast", "Point", "forecast", "grid"]
