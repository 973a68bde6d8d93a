"""A forecast: expected ψ and time, and what owners gain, with words on its parts.

Its alternatives are other protocols at the same ε, with how much more owners gain with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan, sqrt
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import Progress
from asyncdp_sim.core.words import extent, figure, number
from asyncdp_sim.data.surrogates import PublicTable, Unlikeness, unlike
from asyncdp_sim.decision.gain import (
    BreakEven,
    Consortium,
    Estimate,
    Gain,
    Judging,
    Score,
    Verdict,
    break_even,
    of_runs,
    of_unseen,
    over_halves,
    verdict_of,
)
from asyncdp_sim.decision.rows import scored_by
from asyncdp_sim.scenario import Participants, Scenario
from asyncdp_sim.theory.prediction import Prediction, plain

ENOUGH_PUBLIC = 0.5
"""Public rows of an owner, over its own, below which differences between owners stay unknown."""
Reads = Literal["public", "owner", "all"]
"""Whose rows were read."""


@dataclass(frozen=True)
class OwnerGain:
    """An owner's gain.

    Attributes
    ----------
    owner : int
        Its number, from 1.
    name : str or None
    gain : Gain
    break_even : BreakEven or None
    epsilon : float or None
        Its budget; None without privacy.
    """

    owner: int
    name: str | None
    gain: Gain
    break_even: BreakEven | None
    epsilon: float | None


@dataclass(frozen=True)
class Alike:
    """Likeness of owners, as public rows that name their owner show.

    Attributes
    ----------
    known : str
        "unknown", "no difference shown" or "differ".
    variance, half_width : float
        τ²/f(θ*) between owners and about its 95 % interval, of least squares.
    rows_per_owner : float
        Public rows of the median owner.
    """

    known: Literal["unknown", "no difference shown", "differ"]
    variance: float = 0.0
    half_width: float = 0.0
    rows_per_owner: float = 0.0


def alike(table: PublicTable) -> Alike:
    """Return what public rows that name their owner show of differences between owners."""
    known = table.known
    found: Unlikeness = unlike(known, np.arange(len(known.targets)))
    if len(found.seen) < 2:
        return Alike("unknown")
    counts = np.bincount(known.like[known.like >= 0], minlength=len(known.sizes))
    rows = float(np.median(counts))
    figures = (found.variance, found.half_width, rows)
    if found.variance > found.half_width:
        return Alike("differ", *figures)
    if rows < ENOUGH_PUBLIC * float(np.median(known.sizes)) or np.isinf(found.half_width):
        return Alike("unknown", *figures)
    return Alike("no difference shown", *figures)


@dataclass(frozen=True)
class Asked(Judging):
    """Options of a forecast of gains, besides those of judging them.

    Attributes
    ----------
    workers : int
    progress : Progress, optional
    break_even : bool
        Whether other budgets are tried, too, which takes several times as long.
    """

    workers: int = 1
    progress: Progress | None = None
    break_even: bool = True

    @property
    def of_runs(self) -> dict[str, Any]:
        """Options of simulated runs."""
        return {"workers": self.workers, "progress": self.progress}


@dataclass(frozen=True, eq=False)
class GainForecast:
    """Forecast of what owners gain by joining.

    Attributes
    ----------
    reads : str
        "public", "owner" or "all".
    score : str
        "absolute error" or "log loss".
    unit : str or None
    together : Consortium or None
        The mean gain; None where owners are known to differ, and at one owner.
    own, joint, adapted, guessing : float
        Mean errors of the owners that were judged.
    material : float
        Share of the own error from which on a gain counts.
    budgets : tuple of float
        ε of the median owner that were tried; without members where nothing is hidden.
    break_even : BreakEven or None
        Of the mean owner, or of the one that asks.
    judged_on : str
    runs : int
        Simulated runs that judge, of all joint models of one budget.
    count : int
        Owners that join.
    owners : tuple of OwnerGain
        Without members from public rows.
    at_least : bool
        Whether the half had too few public rows, so that the joint model learned from fewer rows
        than in a run.
    alike : Alike or None
        None where private rows were read, or records are synthetic.
    remaining : GainForecast or None
        The same if those alone join that gain; None where all or fewer than two of them do, or
        where not all rows were read.
    judged : tuple of tuple of Gain
        All gains at the scenario's budgets, by half of the public rows, or at once. They are for
        comparisons, and reported of no owner.
    factor : float
        Times the budgets of the scenario.
    tried : tuple of GainForecast
        The same with each budget that was tried, ascending; without members where one was.
    """

    reads: Reads
    score: Score
    unit: str | None
    together: Consortium | None
    own: float
    joint: float
    adapted: float
    guessing: float
    material: float
    budgets: tuple[float, ...]
    break_even: BreakEven | None
    judged_on: str
    runs: int
    count: int
    owners: tuple[OwnerGain, ...] = ()
    at_least: bool = False
    alike: Alike | None = None
    remaining: "GainForecast | None" = None
    judged: tuple[tuple[Gain, ...], ...] = ()
    factor: float = 1.0
    tried: "tuple[GainForecast, ...]" = ()

    @property
    def release(self) -> bool:
        """Whether it may be published: no private record was read."""
        return self.reads == "public"

    def everywhere(self, **changes: Any) -> "GainForecast":
        """Return it with other fields, here and with each budget that was tried."""
        tried = tuple(replace(each, **changes) for each in self.tried)
        return replace(self, **changes, tried=tried)

    def counts(self) -> dict[str, int]:
        """Return how many owners have each verdict."""
        verdicts = [str(owner.gain.verdict) for owner in self.owners]
        return {str(verdict): verdicts.count(str(verdict)) for verdict in Verdict}


def gain_forecast(
    scenario: Scenario,
    by_budget: Sequence[Sequence[Gain]],
    means: Sequence[Consortium | None],
    budgets: Sequence[float],
    factors: Sequence[float],
    *,
    material: float,
    reads: Reads,
    judged_on: str,
    runs: int,
) -> GainForecast:
    """Return what gains say of the mean owner; of no owner by name.

    Parameters
    ----------
    scenario : Scenario
    by_budget : sequence of sequence of Gain
        Of each owner that was judged, with each budget that was tried.
    means : sequence of Consortium or None
        With each of these budgets.
    budgets : sequence of float
        ε of the median owner; without members where nothing is hidden.
    factors : sequence of float
        Times the scenario's budgets; 1 is among them.
    """
    given = factors.index(1.0)
    own = mean_of(by_budget[given], "own")
    level = break_even(budgets, means, [material * own] * len(means))
    tried = [
        GainForecast(
            reads=reads,
            score=scored_by(len(scenario.model.labels)),
            unit=None if scenario.model.classifies else scenario.data.target_unit,
            together=mean,
            own=mean_of(gains, "own"),
            joint=mean_of(gains, "joint"),
            adapted=mean_of(gains, "adapted"),
            guessing=mean_of(gains, "guessing"),
            material=material,
            budgets=tuple(budgets),
            break_even=level,
            judged_on=judged_on,
            runs=runs,
            count=scenario.owners.count,
            factor=factor,
        )
        for factor, gains, mean in zip(factors, by_budget, means, strict=True)
    ]
    return replace(tried[given], tried=tuple(tried) if len(tried) > 1 else ())


def consortium_over_halves(
    halves: Sequence[Sequence[Gain]], material: float, count: int
) -> Consortium | None:
    """Return the mean gain over halves, with the interval of an owner's rows drawn once more.

    None where a half has no owner with a gain.
    """
    known = [[gain for gain in half if not np.isnan(gain.gain.value)] for half in halves]
    if any(len(half) == 0 for half in known):
        return None
    most = [max((gain for half in known for gain in half), key=attrgetter("rarer"))]
    kinds = list[tuple[Estimate, Verdict]]()
    for by_records in (False, True):
        means, own, better = list[float](), list[float](), list[bool]()
        for half in known:
            weight = [float(gain.records) if by_records else 1.0 for gain in half]
            means.append(float(np.average([g.gain.value for g in half], weights=weight)))
            own.append(float(np.average([g.own for g in half], weights=weight)))
            best = [min(g.joint, g.adapted) - g.guessing for g in half]
            better.append(float(np.average(best, weights=weight)) < 0)
        estimate = over_halves(means)
        estimate = replace(estimate, parts=(*estimate.parts, *of_unseen(most)))
        counts = material * float(np.mean(own))
        good = sum(better) > len(better) / 2
        kinds.append((estimate, verdict_of(estimate, counts, better_than_guessing=good)))
    (mean, verdict), (weighted, other) = kinds
    return Consortium(mean, weighted, verdict, other, count)


def mean_of(gains: Sequence[Gain], name: str) -> float:
    """Return the mean of an error over owners that have one; NaN without any."""
    values = [getattr(gain, name) for gain in gains]
    return float("nan") if np.isnan(values).all() else float(np.nanmean(values))


@dataclass(frozen=True)
class EnergyForecast:
    """The energy that owners will use.

    Attributes
    ----------
    joules : float or None
        All owners' expected energy until the last update; None where it is not known.
    joules_half_width : float
        Of its 95 % interval, as that of the time; 0 where that is exact.
    watts : tuple of float
        Mean power of each owner, its bytes included; empty where it is not known.
    bytes_sent, bytes_received : float or None
        Of all owners until the last update; None where they are not known.
    reason : str
        Why it is not known; empty where it is.
    """

    joules: float | None
    joules_half_width: float
    watts: tuple[float, ...]
    bytes_sent: float | None
    bytes_received: float | None
    reason: str

    def describe(self) -> str:
        """Return it in words."""
        if self.joules is None:
            return f"no formula applies, because {plain(self.reason)}; a run measures it"
        half = f" ± {figure(self.joules_half_width)}" if self.joules_half_width > 0 else ""
        moved = f"{_bytes(self.bytes_sent)} bytes sent, {_bytes(self.bytes_received)} received"
        return f"{figure(self.joules)}{half} J of all owners, {extent(self.watts)} W each; {moved}"


def _bytes(count: float | None) -> str:
    return figure(None) if count is None else number(round(count))


@dataclass(frozen=True, eq=False)
class CostAgainst:
    """The cost to owners' records against one observer, by one simulated network.

    Attributes
    ----------
    name, observer : str
        What it is called in a table, and who it is.
    epsilon : float
        The largest ε over owners, at the noise of the scenario.
    quieter : float
        The share of the noise, of answers that are heard, at which some owner's ε against it would
        be its whole budget.
    psi : float or None
        Expected ψ with so much noise, which is affine in the noise variances; None where
        gradients are clipped, or the loss is not quadratic.
    psi_alone_above : int or None
        Owners whose own model has a larger ψ than that.
    """

    name: str
    observer: str
    epsilon: float
    quieter: float
    psi: float | None
    psi_alone_above: int | None


def as_rows(found: Sequence[CostAgainst]) -> list[list[str]]:
    """Return a table of texts, its header first."""
    header = ["ε against", "at most", "noise", "ψ then", "ψ alone above"]
    figures = ("epsilon", "quieter", "psi", "psi_alone_above")
    rows = [[cost.name, *(figure(getattr(cost, name)) for name in figures)] for cost in found]
    return [header, *rows]


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
    release : bool
        Whether it may be published: no private record was read.
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
    release: bool
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


Pairs = Sequence[tuple[Gain, Gain]]
"""Of each owner its gain with the scenario's protocol, and with another one."""


def gain_difference(one: GainForecast, other: GainForecast) -> Estimate:
    """Return how much larger the mean gain with another protocol is, of the same rows and owners.

    Where halves of public rows judge, the estimate is that of
    :func:`~asyncdp_sim.decision.gain.over_halves`; else that of one owner or of several. It is NaN
    where no owner's gain is known with both.

    Parameters
    ----------
    one, other : GainForecast
        With the scenario's protocol and with another one, judged alike.
    """
    halves = [
        [(a, b) for a, b in zip(*pair, strict=True) if isfinite(a.gain.value + b.gain.value)]
        for pair in zip(one.judged, other.judged, strict=True)
    ]
    if min(map(len, halves), default=0) == 0:
        return Estimate(nan)
    means = [float(np.mean([b.gain.value - a.gain.value for a, b in half])) for half in halves]
    if len(halves) > 1:
        return over_halves(means)
    [pairs], [mean] = halves, means
    return _of_one_owner(pairs, mean) if len(pairs) == 1 else _over_owners(pairs, mean)


def _of_one_owner(pairs: Pairs, difference: float) -> Estimate:
    """Return the difference of one owner's gains, with the sum of their standard deviations.

    How the errors of both gains are correlated is unknown, and no correlation makes it larger. It
    has the fewest degrees of freedom of all parts.
    """
    [(a, b)] = pairs
    parts = [*a.gain.parts, *b.gain.parts]
    deviation = sqrt(a.gain.variance) + sqrt(b.gain.variance)
    degrees = min((degrees for _, degrees in parts), default=1.0)
    return Estimate(difference, ((deviation**2, degrees),))


def _over_owners(pairs: Pairs, mean: float) -> Estimate:
    """Return the mean difference over N owners, with the variance s²/N of differences by owner.

    It covers the rows of each owner and how owners differ; to it adds the variance of runs.
    """
    differences = [b.gain.value - a.gain.value for a, b in pairs]
    by_run = np.mean([b.by_run - a.by_run for a, b in pairs], axis=0)
    of_owners = float(np.var(differences, ddof=1)) / len(pairs)
    runs, unseen = of_runs(by_run, pairs[0][0].redraw), of_unseen([a for a, _ in pairs])
    return Estimate(mean, ((of_owners, len(pairs) - 1.0), *runs, *unseen))


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another protocol for the same owners at the same ε.

    Attributes
    ----------
    name : str
        What it is called in a sentence.
    settings : dict
        Parts of the scenario that it replaces, as tables.
    refused : str or None
        Why it does not fit the scenario; None where it does.
    gains : GainForecast or None
        What owners gain with it; None where it is refused.
    more : Estimate or None
        How much larger the mean gain, or that of the owner that asks, is than with the scenario's
        protocol; in the unit of the errors.
    """

    name: str
    settings: dict[str, Any]
    refused: str | None = None
    gains: GainForecast | None = None
    more: Estimate | None = None
