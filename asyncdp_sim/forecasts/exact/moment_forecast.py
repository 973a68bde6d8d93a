"""A forecast worked out from second moments: exactly, or exactly given who updates when."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.evidence.exact_moments import BUDGETS_END, ENDS_EARLY, SAMPLED
from asyncdp_sim.forecasts.exact.answers import (
    NormalSample,
    drawn,
    draws,
    sample_spread,
    variance_of,
)
from asyncdp_sim.forecasts.exact.choose import Exact, answering, broken, ending, nonlinear
from asyncdp_sim.forecasts.exact.given_orders import given
from asyncdp_sim.forecasts.exact.in_rounds import InRounds
from asyncdp_sim.forecasts.exact.one_on_one import (
    ExpectedMoments,
    Recursions,
    process_of,
    psi_bound,
    shape_of,
)
from asyncdp_sim.forecasts.exact.simulated_orders import Orders, orders, pace
from asyncdp_sim.forecasts.exact.unlike_owners import UnlikeOwners, unlike
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.moments.releases import Releases
from asyncdp_sim.theory.moments.with_budgets import capped_moments, capped_size
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
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

    @property
    def mean(self) -> float:
        """Expected ψ at the end."""
        return float(self.psi[-1])

    @property
    def end(self) -> float:
        """Expected time of the last update."""
        return float(self.times[-1])


def moment_forecast(
    known: Population, heterogeneity: float | None = None
) -> MomentForecast | list[str]:
    """Return the forecast by second moments, or why there is none.

    Exact where owners are independent, and no budget ends before T; exact over the counts of
    answers where budgets do end, and counts are few; else exact given the order of the updates
    and averaged over simulated orders, which may be of any law that does not look at models.

    Common moments leave out what sets the owners apart. Where that matters, the forecast is an
    average over moments that they may have
    (:func:`~asyncdp_sim.forecasts.exact.unlike_owners.unlike`), and its ± is of the expected ψ of
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
    several = unlike(known, heterogeneity) if known.common else None
    sampled = known.scenario.privacy.sampling is not None
    if sampled and several is not None:
        return [*doubts, SAMPLED]
    rounds = known.scenario.algorithm.in_rounds
    if rounds is not None:
        found = doubts or _in_rounds(InRounds(known, objective, rounds))
        return _apart(found, several)
    law, ends = answering(known), ending(known)
    if several is not None:
        said = [*doubts, several.words]
        sure = law if len(doubts) == 0 and isinstance(law, Releases) else None
        return _apart(_ordered(known, several.objectives, said, sure), several)
    if len(doubts) == 0 and isinstance(law, Releases):
        return _independent(known, objective, law)
    if ends is not None:
        _, process = process_of(known, objective, ends.chosen)
        if capped_size(process, _caps(known)) <= LARGEST:
            return _counted(known, objective, ends.chosen)
    if sampled:
        return [*doubts, SAMPLED]
    return _ordered(known, [objective], doubts)


def _apart(
    found: MomentForecast | list[str], several: UnlikeOwners | None
) -> MomentForecast | list[str]:
    """Add how far apart owners are taken to be."""
    if several is None or isinstance(found, list):
        return found
    return replace(found, apart=several.apart)


def _in_rounds(exact: InRounds) -> MomentForecast | list[str]:
    why = exact.refuted(exact.objective.theta_max)
    if why:
        return [why]
    run, network = exact.known.scenario.run, exact.known.scenario.network
    each = np.full(network.n_owners, float(run.updates))  # one answer of everybody in a round
    limit, theorem = exact.bound() or (None, None)
    return _timed(exact.known, exact, exact.draws(), each, limit, theorem)


def _independent(
    known: Population, objective: Quadratic, law: Releases
) -> MomentForecast | list[str]:
    scenario, chosen = known.scenario, law.chosen
    exact = Recursions().expect(known, objective, chosen)
    released = scenario.run.updates * law.per_update
    limit = None
    if known.judge is None and scenario.privacy.sampling is None:
        algorithm, _ = process_of(known, objective, chosen)
        noise = known.problem.task.reply.noise
        limit = psi_bound(algorithm, objective, noise, scenario.run.updates, chosen)
    endless = np.full(len(chosen), scenario.run.updates)
    return _exact(known, objective, exact, drawn(known, chosen, endless), released, limit)


def _counted(known: Population, objective: Quadratic, chosen: Array) -> MomentForecast | list[str]:
    algorithm, process = process_of(known, objective, chosen)
    shape, variance = shape_of(known), variance_of(known)
    caps = _caps(known)
    how: dict[str, Any] = {
        "noise": shape, "initial": algorithm.initial, "spread": sample_spread(known, objective),
    }  # fmt: skip
    quiet = loud = capped_moments(process, caps, **how)
    if np.any(variance > 0):
        loud = capped_moments(process, caps, variance, **how)
    exact = ExpectedMoments(loud, quiet, objective if known.judge is None else known.judge)
    over = " over all counts of answers that budgets allow"
    return _exact(known, objective, exact, drawn(known, chosen, caps), None, None, over)


def _exact(
    known: Population,
    objective: Quadratic,
    exact: ExpectedMoments,
    owners: npt.NDArray[np.int64],
    released: Array | None,
    limit: float | None,
    over: str = "",
) -> MomentForecast | list[str]:
    why = exact.refuted(objective.theta_max)
    if why:
        return [why]
    apart = sample_spread(known, objective)
    sample = None if apart is None else NormalSample(objective, apart)
    spread, _ = draws(known, objective, owners, sample=sample)
    theorem = None if limit is None else "Theorem 2 of Async, mended, smooth losses"
    return _timed(known, exact, spread, released, limit, theorem, over)


def _timed(
    known: Population,
    exact: Exact,
    spread: Array,
    released: Array | None,
    limit: float | None,
    theorem: str | None,
    over: str = "",
) -> MomentForecast:
    when = pace(known.scenario.network, released, known.scenario.run.seed)
    shown = min(len(exact.psi), len(when.times))
    return MomentForecast(
        psi=exact.psi[:shown],
        times=when.times[:shown],
        half_width=0.0,
        noise_free=float(exact.noise_free[-1]),
        bound=limit,
        bound_of=theorem,
        spread=spread,
        answers=when.answers,
        time_half_width=when.half_width,
        words=f"exact moments{over}; time by {when.words}; quantiles of {len(spread)} draws",
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
        found = orders(network, ORDERS, seed)
        owners, numbers = found.owners, found.numbers
        times, half = found.mean_times, 1.98 * found.time_error
        released = np.asarray(found.released.mean(axis=0))
        told = f"{ORDERS} simulated networks, which the time is of too"
        doubts = [*doubts, *_silent(known, found)]
        if not found.cut_short(network.updates):
            doubts = [doubt for doubt in doubts if doubt != ENDS_EARLY]
    else:
        endless = np.full(network.n_owners, network.updates)
        owners, numbers = drawn(known, law.chosen, endless)[:ORDERS], None
        when = pace(network, network.updates * law.per_update, seed)
        times, half, released = when.times, when.half_width, when.answers
        told = f"{ORDERS} orders of its law; time by {when.words}"
    result = given(known, objectives, owners, numbers)
    if isinstance(result, Unknown):
        return [result.reason]
    return MomentForecast(
        psi=result.psi,
        times=times[result.ks],
        half_width=result.half_width,
        noise_free=result.noise_free,
        bound=None,
        bound_of=None,
        spread=result.spread,
        answers=released,
        time_half_width=half,
        words=f"moments exact given who updates when, averaged over {told}; "
        f"quantiles of {len(result.spread)} draws",
        doubts=tuple(doubts),
    )


def _silent(known: Population, found: Orders) -> list[str]:
    """Say that budgets end before T, where simulated ones do and nobody has said so."""
    if answering(known) == Unknown(BUDGETS_END):
        return []
    seen = found.silenced(_caps(known), known.scenario.run.updates).any()
    return [BUDGETS_END] if seen else []


def _caps(known: Population) -> npt.NDArray[np.int64]:
    return np.array(known.scenario.network.answers_allowed)
