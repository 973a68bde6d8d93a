"""Moments averaged over given orders of the updates, for second moments or a box of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.exact.answers import DRAWS, draws, made_before, variance_of
from asyncdp_sim.forecasts.exact.one_on_one import process_of, shape_of
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.theory.moments.given_order import Ordered, ordered, standard_error
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
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

    ks: Indices
    psi: Array
    half_width: float
    noise_free: float
    spread: Array


def given(
    known: Population,
    objectives: Sequence[Quadratic],
    owners: Indices,
    numbers: Indices | None = None,
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
    found = []
    for at, one in enumerate(objectives):
        places = np.arange(at, DRAWS, several) % len(owners)
        some, before = owners[places], numbers[places]
        found.append(draws(known, one, some, numbers=before, first=at * DRAWS))
    spread = np.concatenate([each for each, _ in found])
    if not np.isfinite(spread).all():
        return Unknown("the learning diverges")
    bound, algorithm = objective.theta_max, known.scenario.algorithm
    outside = bound is not None and algorithm.starts_at != "zeros" and bound < 1
    if outside or any(acted for _, acted in found):
        return Unknown("the projection onto Θ may act")
    ks = np.unique(np.rint(np.linspace(0, owners.shape[1], POINTS)).astype(np.int64))
    least = (objective if known.judge is None else known.judge).least
    turns = [_turns(len(owners), several, at) for at in range(several)]
    parts = [
        _ordered(known, one, owners[rows], numbers[rows], ks)
        for one, rows in zip(objectives, turns, strict=True)
    ]
    psi = np.stack([part.excess for part in parts]) / least  # (M, orders of each, J)
    error = standard_error(psi[0])[-1]
    if several > 1:
        # orders are shared: what they do to owners that are alike is no part of the difference
        alike = _ordered(known, _pooled(known), owners, numbers, ks[-1:]).excess[:, 0] / least
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


def _turns(orders: int, several: int, at: int) -> Indices:
    """Return which orders the objective at this place gets; all of them if it is the only one."""
    each = orders if several == 1 else min(orders, EACH)
    return np.arange(at * each, (at + 1) * each) % orders


def _pooled(known: Population) -> Quadratic:
    """Return what has the same second moments for all owners."""
    if known.objective is None:
        raise TypeError(f"no second moments of model {known.scenario.model.kind}")
    return known.objective


def _ordered(
    known: Population, objective: Quadratic, owners: Indices, numbers: Indices, ks: Indices
) -> Ordered:
    algorithm, process = process_of(known, objective, _shares(known))
    judge = objective if known.judge is None else known.judge
    return ordered(
        process,
        owners,
        ks,
        variance_of(known),
        noise=shape_of(known),
        initial=algorithm.initial,
        numbers=numbers,
        hessian=judge.hessian,
        optimum=judge.optimum,
    )


def _shares(known: Population) -> Array | None:
    """Return the shares of the updates that a step is divided by; None where none is."""
    found = shares(known.scenario.network)
    return np.array(found) if known.scenario.algorithm.needs_shares else None
