"""E ψ of a scenario: exact, over counts of answers, or exact given the order of the updates."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from analysis.exact.assumptions import ENDS_EARLY, SAMPLED
from analysis.exact.learning import (
    Expected,
    broken,
    ending,
    exact,
    nonlinear,
    process_of,
    sample_spread,
    variance_of,
)
from analysis.exact.turns import capped_moments, capped_size, ordered
from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.theory.predict.update_order import shares


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
    """

    owners: Ints
    numbers: Ints
    staleness: Ints
    times: Array


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
    return Orders(owners, numbers, staleness, times)


LARGEST = 2**27
"""Numbers that the recursion over counts of answers may take, some seconds' work."""
ORDERS = 125
"""Simulated orders of the updates, where they have no law that helps."""
POINTS = 21
"""Values of k at which expected ψ is computed over orders."""


@dataclass(frozen=True, eq=False)
class ExpectedPsi:
    """Expected ψ of a scenario.

    Attributes
    ----------
    psi : array (J,)
        E ψ(θ_L,k) at some k, the last of them T.
    noise_free : float
        E ψ at the end without noise.
    half_width : float
        Of its 95 % interval over the simulated orders; 0 where it is exact.
    doubts : tuple of str
        Why it is exact given the order of the updates alone; none where it is exact.
    """

    psi: Array
    noise_free: float
    half_width: float = 0.0
    doubts: tuple[str, ...] = ()


def expected_psi(known: Population) -> ExpectedPsi | list[str]:
    """Return the expected ψ by second moments, or why there is none.

    Exact where owners are independent, and no budget ends before T; exact over the counts of
    answers where budgets do end, and counts are few; else exact given the order of the updates
    and averaged over simulated orders, which may be of any law that does not look at models.

    Parameters
    ----------
    known : Population
    """
    doubts, objective = broken(known), known.objective
    if len(nonlinear(known)) > 0 or objective is None:
        return doubts
    if len(doubts) == 0 or known.scenario.algorithm.in_rounds is not None:
        return _exact(exact(known))
    ends = ending(known)
    if ends is not None:
        algorithm, process = process_of(known, objective, ends.chosen)
        caps, variance = np.array(known.scenario.network.answers_allowed), variance_of(known)
        if capped_size(process, caps) <= LARGEST:
            run = partial(
                capped_moments, process, caps, noise=known.problem.noise.shape,
                initial=algorithm.initial, spread=sample_spread(known, objective),
            )  # fmt: skip
            quiet = run()
            loud = run(variance) if np.any(variance > 0) else quiet
            found = Expected.of_copies(known, objective, loud, quiet)
            return _exact((found.refuted,) if found.refuted else found)
    if known.scenario.privacy.sampling is not None:
        return [*doubts, SAMPLED]
    return _ordered(known, objective, doubts)


def _exact(found: Expected | tuple[str, ...]) -> ExpectedPsi | list[str]:
    if isinstance(found, tuple):
        return list(found)
    return ExpectedPsi(found.psi, float(found.noise_free[-1]))


def _ordered(known: Population, objective: Quadratic, doubts: list[str]) -> ExpectedPsi | list[str]:
    """Average over simulated orders of the updates.

    Models are taken in the whole space: no such ψ is known where a projection may act.
    """
    network, algorithm = known.scenario.network, known.scenario.algorithm
    if known.scenario.model.theta_max is not None:
        return [*doubts, "the projection onto Θ may act"]
    simulated = orders(network, ORDERS, known.scenario.run.seed)
    if np.all(np.sum(simulated.owners >= 0, axis=1) >= network.updates):
        doubts = [doubt for doubt in doubts if doubt != ENDS_EARLY]
    needed = np.array(shares(network)) if algorithm.needs_shares else None
    one_on_one, process = process_of(known, objective, needed)
    judge = objective if known.judge is None else known.judge
    places = np.unique(np.rint(np.linspace(0, simulated.owners.shape[1], POINTS)).astype(np.int64))
    run = partial(
        ordered, process, simulated.owners, places, noise=known.problem.noise.shape,
        initial=one_on_one.initial, numbers=simulated.numbers, hessian=judge.hessian,
        optimum=judge.optimum,
    )  # fmt: skip
    psi, quiet = run(variance_of(known)) / judge.least, run() / judge.least  # (R, J)
    if not np.isfinite(psi).all():
        return [*doubts, "the learning diverges"]
    error = psi[:, -1].std(ddof=1) / np.sqrt(len(psi))
    return ExpectedPsi(
        psi=np.asarray(psi.mean(axis=0)),
        noise_free=float(quiet[:, -1].mean()),
        half_width=1.98 * float(error),  # t, 124 degrees
        doubts=tuple(doubts),
    )
