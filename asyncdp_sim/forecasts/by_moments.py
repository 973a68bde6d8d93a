"""A forecast worked out from second moments: exactly, or exactly given who updates when."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import sqrt
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.evidence.exact_moments import BUDGETS_END, ENDS_EARLY, SAMPLED
from asyncdp_sim.forecasts.moments import (
    DRAWS,
    ExpectedMoments,
    InRounds,
    NormalSample,
    Recursions,
    answering,
    broken,
    drawn,
    draws,
    ending,
    made_before,
    nonlinear,
    process_of,
    psi_bound,
    sample_spread,
    variance_of,
)
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.network import Network, simulate
from analysis.exact.given_order import Ordered, ordered, standard_error
from asyncdp_sim.theory.predict.releases import Releases
from analysis.exact.with_budgets import capped_moments, capped_size
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import mean_gap, shares
from asyncdp_sim.theory.prediction import Unknown

SPLITS = 25
"""Random splits of all records among the owners."""


def unlike(known: Population, heterogeneity: float | None) -> tuple[tuple[Quadratic, ...], float]:
    """Draw second moments that owners may have, given those of all records together.

    Return as many objectives as :data:`SPLITS`, all of one f and θ* (to rounding), and τ², the ψ
    that an owner's own truth costs.

    If owners' records were alike, any n_i of all records were as good as owner i's: they are dealt
    out at random, which leaves f and θ* as they are, and has the owners differ as much as samples
    of such records do, whatever their law. To that is added the effect of the owners' optima: r_i
    moves by Hδ_i, so that owner i's optimum moves by about δ_i, with Gaussian δ_i of equal
    spread in all coordinates, Σ f_i δ_i = 0 and E Σ f_i δ_iᵀHδ_i = τ² f(θ*), f_i = n_i/n. Owners
    whose features have laws of their own are not in it.

    Parameters
    ----------
    known : Population
        Of a quadratic loss.
    heterogeneity : float, optional
        τ² ≥ 0. Absent, as found: Σ f_i s_iᵀH⁻¹s_i/f(θ*), s_i owner i's share of the slope at θ*,
        as it is less what it is on average over the splits, at least 0. One number about all
        owners, and no other, is so taken from who has which records.
    """
    records, own = known.problem.records, known.problem.task.objective.second_moments
    if own is None:
        raise TypeError(f"no second moments of model {known.scenario.model.kind}")
    features, targets = np.concatenate(records.features), np.concatenate(records.targets)
    ends = np.cumsum(own.records)[:-1]
    streams = Streams(known.scenario.run.seed).within("forecast", "split")
    splits = []
    for split in range(SPLITS):
        order = np.split(streams.generator(split).permutation(len(targets)), ends)
        dealt = [features[rows] for rows in order], [targets[rows] for rows in order]
        splits.append(Quadratic.from_records(*dealt, own.sigma, own.theta_max))
    apart = heterogeneity
    if apart is None:
        apart = max(0.0, _differing(own) - float(np.mean([_differing(split) for split in splits])))
    scopes = [streams.within(split) for split in range(SPLITS)]
    moved = [_moved(split, apart, scope) for split, scope in zip(splits, scopes, strict=True)]
    return tuple(moved), apart


def _differing(objective: Quadratic) -> float:
    """Return Σ f_i s_iᵀH⁻¹s_i/f(θ*), s_i the slope of owner i's error at θ* less their mean."""
    slopes = objective.moment - np.einsum("iab,b->ia", objective.gram, objective.free_optimum)
    slopes = slopes - objective.weights @ slopes
    inverse = np.linalg.solve(objective.hessian, slopes.T)
    return float(np.einsum("i,ia,ai->", objective.weights, slopes, inverse) / objective.least)


def _moved(objective: Quadratic, apart: float, scope: Scope) -> Quadratic:
    """Give owners truths of their own, τ² apart on average over records."""
    share = objective.weights
    left = 1 - float(share @ share)  # what taking the mean out leaves of their variance
    if apart == 0 or objective.n_owners == 1:
        return objective
    unit = scope.generator("truth").standard_normal(objective.moment.shape)
    unit -= share @ unit
    scale = (apart * objective.least / float(np.trace(objective.hessian)) / left) ** 0.5
    return replace(objective, moment=objective.moment + scale * unit @ objective.hessian)


@dataclass(frozen=True, eq=False)
class Orders:
    """Orders and times of updates, of simulations of a network.

    Attributes
    ----------
    owners : array of int (R, K)
        Owners (from 0) of the updates; −1 after a run's last, and where several make one.
    numbers : array of int (R, K)
        How many answers each update's owner had released before, lost ones too; 0 where none is.
    staleness : array of int (R, K)
        Updates between each update's read and its use; 0 where owners are −1.
    times : array (R, K + 1)
        Time units until update k = 0, 1, …; a run that has ended stays where it ended.
    released : array of int (R, N)
        Answers that each owner released.
    """

    owners: Ints
    numbers: Ints
    staleness: Ints
    times: Array
    released: Ints

    @cached_property
    def mean_times(self) -> Array:
        """Mean of the times until update k = 0, 1, …, shape (K + 1,)."""
        return np.asarray(self.times.mean(axis=0))

    @property
    def time_error(self) -> float:
        """Standard error of the mean time of the last update."""
        return float(self.times[:, -1].std(ddof=1) / sqrt(len(self.times)))

    def cut_short(self, updates: int) -> bool:
        """Return whether some run had fewer updates than T."""
        return bool(np.any(np.sum(self.owners >= 0, axis=1) < updates))

    def silenced(self, allowed: Ints, updates: int) -> Bools:
        """Return whether some owner had no answer left before a run's last update, shape (R,).

        Parameters
        ----------
        allowed : array of int (N,)
            K_i.
        updates : int
            T.
        """
        spent = self.released >= allowed
        full = np.flatnonzero(np.sum(self.owners >= 0, axis=1) == updates)
        last = self.owners[full, updates - 1 :].ravel()
        spent[full, last] = False
        return np.asarray(spent.any(axis=1))


def orders(network: Network, count: int, seed: int) -> Orders:
    """Simulate a network, whose timing does not look at models, so many times.

    Parameters
    ----------
    network : Network
    count : int
        R ≥ 2.
    seed : int
    """
    streams = Streams(seed).within("forecast", "network")
    traces = [simulate(network, streams.within(r)) for r in range(count)]
    longest = max(trace.n_updates for trace in traces)
    owners, times = np.full((count, longest), -1), np.zeros((count, longest + 1))
    numbers = np.zeros((count, longest), dtype=np.int64)
    staleness = np.zeros_like(numbers)
    for row, trace in enumerate(traces):
        if not network.protocol.makes_updates:
            owners[row, : trace.n_updates] = trace.updates["owner"] - 1
            numbers[row, : trace.n_updates] = trace.numbers
            staleness[row, : trace.n_updates] = trace.updates["staleness"]
        times[row, 1 : trace.n_updates + 1] = to_units(trace.update_ticks)
        times[row, trace.n_updates + 1 :] = times[row, trace.n_updates]
    return Orders(owners, numbers, staleness, times, np.stack([trace.released for trace in traces]))


NETWORKS = 100
"""Simulations of a network whose updates come at no rate that is known."""


def pace(network: Network, released: Array | None, seed: int) -> tuple[Array, Array, float, str]:
    """Return when updates come, and how many answers they take.

    Parameters
    ----------
    network : Network
    released : array (N,), optional
        Expected answers of each owner for T updates, where they are known.
    seed : int
        Of simulations, where no formula holds.

    Returns
    -------
    times : array (T + 1,)
        Time units until update k = 0 … T, or as many as there will be.
    answers : array (N,)
        Expected answers released by each owner.
    half_width : float
        Of the 95 % interval of the last time; 0 where a formula gives it.
    words : str
        Where they come from.
    """
    gap: float | Unknown = Unknown("budgets may end before T")
    if released is not None:
        if network.protocol.makes_updates:
            rate = predicted(network, "throughput")
            gap = rate if isinstance(rate, Unknown) else 1 / rate
        else:
            gap = mean_gap(network)
        if not isinstance(gap, Unknown):
            return np.arange(network.updates + 1, dtype=float) * gap, released, 0.0, "theory"
    simulations = orders(network, NETWORKS, seed)
    half = 1.98 * simulations.time_error  # t, 99 degrees
    answers = np.asarray(simulations.released.mean(axis=0)) if released is None else released
    words = f"{NETWORKS} simulations of the network, since {gap}"
    return simulations.mean_times, answers, half, words


EACH = 20
"""Orders for each of several second moments."""
POINTS = 21
"""Values of k at which expected ψ is worked out."""


@dataclass(frozen=True, eq=False)
class GivenOrders:
    """Expected ψ, averaged over orders of the updates.

    Attributes
    ----------
    ks : array of int (J,)
        Values of k.
    psi : array (J,)
        Expected ψ(θ_L,k) then.
    half_width : float
        Of a 95 % interval at the end: of the mean over orders, where owners' moments are known;
        else of the expected ψ of owners whose moments are like those that were tried.
    noise_free : float
        Expected ψ at the end without noise.
    spread : array (R,)
        Draws of ψ at the end.
    """

    ks: Ints
    psi: Array
    half_width: float
    noise_free: float
    spread: Array


def given(
    known: Population,
    objectives: Sequence[Quadratic],
    owners: Ints,
    numbers: Ints | None = None,
) -> GivenOrders | Unknown:
    """Average exact moments given who updates when, or return why they are not those of learning.

    Parameters
    ----------
    known : Population
        Of asynchronous gossip.
    objectives : sequence of Quadratic
        With owners' second moments as known, or several that they may have, each of which gets
        some of the orders.
    owners : array of int (R, T)
        Owners (from 0) of the updates in orders of their law; −1 after a learning's last.
    numbers : array of int (R, T), optional
        How many answers these had released before; absent, every answer made an update.
    """
    numbers = made_before(owners) if numbers is None else numbers
    several, objective = len(objectives), objectives[0]
    psi_draws = []
    for at, moments in enumerate(objectives):
        places = np.arange(at, DRAWS, several) % len(owners)
        chosen, before = owners[places], numbers[places]
        psi_draws.append(draws(known, moments, chosen, numbers=before, first=at * DRAWS))
    spread = np.concatenate([values for values, _ in psi_draws])
    if not np.isfinite(spread).all():
        return Unknown("the learning diverges")
    bound, algorithm = objective.theta_max, known.scenario.algorithm
    outside = bound is not None and algorithm.starts_at != "zeros" and bound < 1
    if outside or any(acted for _, acted in psi_draws):
        return Unknown("the projection onto Θ may act")
    ks = np.unique(np.rint(np.linspace(0, owners.shape[1], POINTS)).astype(np.int64))
    least = (objective if known.judge is None else known.judge).least
    each = len(owners) if several == 1 else min(len(owners), EACH)
    turns = [np.arange(at * each, (at + 1) * each) % len(owners) for at in range(several)]
    parts = [
        _given_order(known, moments, owners[rows], numbers[rows], ks)
        for moments, rows in zip(objectives, turns, strict=True)
    ]
    psi = np.stack([part.excess for part in parts]) / least  # (M, orders of each, J)
    error = standard_error(psi[0])[-1]
    if several > 1:
        # orders are shared: what they do to owners that are alike is no part of the difference
        pooled = objective if known.objective is None else known.objective
        alike = _given_order(known, pooled, owners, numbers, ks[-1:]).excess[:, 0] / least
        apart = (psi[:, :, -1] - alike[np.array(turns)]).mean(axis=1)
        one_more = 1.04 * float(apart.std(ddof=1)) * sqrt(1 + 1 / several)  # t, 24 degrees
        error = np.hypot(one_more, standard_error(alike[:, None])[-1])
    return GivenOrders(
        ks=ks,
        psi=np.asarray(psi.mean(axis=(0, 1))),
        half_width=1.98 * float(error),  # t, 124 degrees
        noise_free=float(np.mean([part.noise_free[:, -1] for part in parts]) / least),
        spread=spread,
    )


def _given_order(
    known: Population, objective: Quadratic, owners: Ints, numbers: Ints, ks: Ints
) -> Ordered:
    chosen = shares(known.scenario.network)
    needed = np.array(chosen) if known.scenario.algorithm.needs_shares else None
    algorithm, process = process_of(known, objective, needed)
    judge = objective if known.judge is None else known.judge
    return ordered(
        process,
        owners,
        ks,
        variance_of(known),
        noise=known.problem.noise.shape,
        initial=algorithm.initial,
        numbers=numbers,
        hessian=judge.hessian,
        optimum=judge.optimum,
    )


LARGEST = 2**27
"""Numbers that the recursion over counts of answers may take, some seconds' work."""
ORDERS = 125
"""Simulated orders of the updates, where they have no law that helps."""


@dataclass(frozen=True, eq=False)
class MomentForecast:
    """Expected ψ and when, without training on records.

    Attributes
    ----------
    psi : array (J,)
        Expected ψ(θ_L,k) at some k, at last at the end, and
    times : array (J,)
        when that is expected (time units).
    mean : float
        Expected ψ at the end.
    end : float
        Expected time of the last update.
    half_width : float
        Of the 95 % interval of the expected ψ at the end; 0 where it is exact.
    noise_free : float
        Expected ψ at the end without noise.
    bound : float or None
        What a theorem allows it at most, and
    bound_of : str or None
        which theorem.
    spread : array (R,)
        Draws of ψ at the end.
    answers : array (N,)
        Expected answers released.
    time_half_width : float
        Of the 95 % interval of the last time; 0 where a formula gives it.
    words : str
        How it was found.
    doubts : tuple of str
        Why it is exact given the order of the updates alone; none where it is exact.
    apart : float
        τ² that owners with common moments are taken to have.
    """

    psi: Array
    times: Array
    mean: float
    end: float
    half_width: float
    noise_free: float
    bound: float | None
    bound_of: str | None
    spread: Array
    answers: Array
    time_half_width: float
    words: str
    doubts: tuple[str, ...] = ()
    apart: float = 0.0


def moment_forecast(
    known: Population, heterogeneity: float | None = None
) -> MomentForecast | list[str]:
    """Return the forecast by second moments, or why there is none.

    Exact where owners are independent, and no budget ends before T; exact over the counts of
    answers where budgets do end, and counts are few; else exact given the order of the updates
    and averaged over simulated orders, which may be of any law that does not look at models.

    Common moments leave out what sets the owners apart. Where that matters, the forecast is an
    average over moments that they may have
    (:func:`unlike`), and its ± is of the expected ψ of
    one more such choice.

    Parameters
    ----------
    known : Population
    heterogeneity : float, optional
        τ² of owners with common moments; absent, as found.
    """
    doubts, objective = broken(known), known.objective
    if len(nonlinear(known)) > 0 or objective is None:
        return doubts
    several, apart = unlike(known, heterogeneity) if known.common else (None, 0.0)
    sampled = known.scenario.privacy.sampling is not None
    if sampled and several is not None:
        return [*doubts, SAMPLED]
    rounds = known.scenario.algorithm.in_rounds
    if rounds is not None:
        result = doubts or _in_rounds(known, InRounds(known, objective, rounds))
        return result if isinstance(result, list) else replace(result, apart=apart)
    law, ends = answering(known), ending(known)
    if several is not None:
        left_out = (
            "each owner's moments are not used: ± and quantiles are over "
            f"{len(several)} random splits of all records, own truths τ² = {apart:.3g} apart"
        )
        sure = law if len(doubts) == 0 and isinstance(law, Releases) else None
        result = _ordered(known, several, [*doubts, left_out], sure)
        return result if isinstance(result, list) else replace(result, apart=apart)
    if len(doubts) == 0 and isinstance(law, Releases):
        return _independent(known, objective, law)
    if ends is not None:
        _, process = process_of(known, objective, ends.chosen)
        if capped_size(process, _caps(known)) <= LARGEST:
            return _counted(known, objective, ends.chosen)
    if sampled:
        return [*doubts, SAMPLED]
    return _ordered(known, [objective], doubts)


def _in_rounds(known: Population, exact: InRounds) -> MomentForecast | list[str]:
    network = known.scenario.network
    answers = np.full(network.n_owners, float(network.updates))  # of everybody in a round
    return _exact(known, exact, exact.draws, answers, exact.bound)


def _independent(
    known: Population, objective: Quadratic, law: Releases
) -> MomentForecast | list[str]:
    scenario, chosen = known.scenario, law.chosen
    exact = Recursions().expect(known, objective, chosen)
    released = scenario.run.updates * law.per_update

    def bound() -> tuple[float, str] | None:
        if known.judge is not None or scenario.privacy.sampling is not None:
            return None
        algorithm, _ = process_of(known, objective, chosen)
        noise = known.problem.task.reply.noise
        limit = psi_bound(algorithm, objective, noise, scenario.run.updates, chosen)
        return None if limit is None else (limit, "Theorem 2 of Async, mended, smooth losses")

    endless = np.full(len(chosen), scenario.run.updates)
    ends = partial(_ends, known, objective, drawn(known, chosen, endless))
    return _exact(known, exact, ends, released, bound)


def _counted(known: Population, objective: Quadratic, chosen: Array) -> MomentForecast | list[str]:
    algorithm, process = process_of(known, objective, chosen)
    shape, variance = known.problem.noise.shape, variance_of(known)
    caps = _caps(known)
    options: dict[str, Any] = {
        "noise": shape, "initial": algorithm.initial, "spread": sample_spread(known, objective),
    }  # fmt: skip
    quiet = loud = capped_moments(process, caps, **options)
    if np.any(variance > 0):
        loud = capped_moments(process, caps, variance, **options)
    exact = ExpectedMoments(loud, quiet, objective if known.judge is None else known.judge)
    over = " over all counts of answers that budgets allow"
    ends = partial(_ends, known, objective, drawn(known, chosen, caps))
    return _exact(known, exact, ends, over=over)


def _ends(known: Population, objective: Quadratic, owners: Ints) -> Array:
    """Return ψ at the end of learnings whose updates are of these owners."""
    apart = sample_spread(known, objective)
    sample = None if apart is None else NormalSample(objective, apart)
    return draws(known, objective, owners, sample=sample)[0]


def _exact(
    known: Population,
    exact: ExpectedMoments | InRounds,
    ends: Callable[[], Array],
    released: Array | None = None,
    bound: Callable[[], tuple[float, str] | None] = lambda: None,
    over: str = "",
) -> MomentForecast | list[str]:
    """Return the forecast by moments with draws of ψ at the end, or why they do not apply."""
    why = exact.refuted(known.scenario.model.theta_max)
    if why:
        return [why]
    limit, theorem = bound() or (None, None)
    spread = ends()
    reached, answers, half, words = pace(known.scenario.network, released, known.scenario.run.seed)
    shown = min(len(exact.psi), len(reached))
    psi, times = exact.psi[:shown], reached[:shown]
    return MomentForecast(
        psi=psi,
        times=times,
        mean=float(psi[-1]),
        end=float(times[-1]),
        half_width=0.0,
        noise_free=float(exact.noise_free[-1]),
        bound=limit,
        bound_of=theorem,
        spread=spread,
        answers=answers,
        time_half_width=half,
        words=f"exact moments{over}; time by {words}; quantiles of {len(spread)} draws",
    )


def _ordered(
    known: Population,
    objectives: Sequence[Quadratic],
    doubts: list[str],
    law: Releases | None = None,
) -> MomentForecast | list[str]:
    """Average over orders of the updates: of independent owners, where they are; else simulated.

    And over owners' second moments, where several are possible.
    """
    network, seed = known.scenario.network, known.scenario.run.seed
    if law is None:
        simulations = orders(network, ORDERS, seed)
        owners, numbers = simulations.owners, simulations.numbers
        times, half = simulations.mean_times, 1.98 * simulations.time_error
        released = np.asarray(simulations.released.mean(axis=0))
        source = f"{ORDERS} simulated networks, which the time is of too"
        doubts = [*doubts, *_silent(known, simulations)]
        if not simulations.cut_short(network.updates):
            doubts = [doubt for doubt in doubts if doubt != ENDS_EARLY]
    else:
        endless = np.full(network.n_owners, network.updates)
        owners, numbers = drawn(known, law.chosen, endless)[:ORDERS], None
        times, released, half, words = pace(network, network.updates * law.per_update, seed)
        source = f"{ORDERS} orders of its law; time by {words}"
    result = given(known, objectives, owners, numbers)
    if isinstance(result, Unknown):
        return [result.reason]
    return MomentForecast(
        psi=result.psi,
        times=times[result.ks],
        mean=float(result.psi[-1]),
        end=float(times[result.ks[-1]]),
        half_width=result.half_width,
        noise_free=result.noise_free,
        bound=None,
        bound_of=None,
        spread=result.spread,
        answers=released,
        time_half_width=half,
        words=f"moments exact given who updates when, averaged over {source}; "
        f"quantiles of {len(result.spread)} draws",
        doubts=tuple(doubts),
    )


def _silent(known: Population, found: Orders) -> list[str]:
    """Say that budgets end before T, where simulated ones do and nobody has said so."""
    if answering(known) == Unknown(BUDGETS_END):
        return []
    seen = found.silenced(_caps(known), known.scenario.run.updates).any()
    return [BUDGETS_END] if seen else []


def _caps(known: Population) -> Ints:
    return np.array(known.scenario.network.answers_allowed)
