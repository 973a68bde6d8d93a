"""Weights of owners' first, second … answer: what noise on it adds to expected ψ."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.answer_noise import variance_of
from asyncdp_sim.forecasts.exact.one_on_one import process_of, shape_of
from asyncdp_sim.forecasts.exact.simulated_orders import orders
from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.theory.moments.given_order import answer_weights
from asyncdp_sim.theory.moments.spending import round_weights
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
ORDERS, NUMBERS = 400, 2**24
"""Simulated networks, whose orders of updates weights are averaged over; fewer where there would be
more weights than that."""
Q = {"pure": 2.0, "gaussian": 1.0}
"""By composition: a part s of a budget makes the variance of noise s^(−q) times as large."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The cost of equal parts, answer by answer, in ψ.

    Attributes
    ----------
    each : array (R, N, K)
        What noise on owner i's k-th answer adds to ψ at the end, were all parts equal: given each
        of R orders of the updates; of one, where the order is known.
    answers : array of int (N,)
        K_i.
    q : float
        How the variance of noise falls with a part s of what adds up: as s^(−q).
    squared : bool
        Whether squares of an answer's ε are what adds up, as about they do where losses of many
        pure answers are composed; else what a schedule divides is.
    """

    each: Array
    answers: npt.NDArray[np.int64]
    q: float
    squared: bool = False

    @cached_property
    def mean(self) -> Array:
        """Averages over orders, (N, K)."""
        return np.asarray(self.each.mean(axis=0))

    def cost(self, exponents: list[Array]) -> float:
        """Return what noise adds to ψ with parts in proportion to e^x_k, over all orders."""
        return float((self.mean * self._louder(exponents)).sum())

    def costs(self, exponents: list[Array]) -> Array:
        """Return the same given each order, (R,)."""
        return np.asarray(np.einsum("rik,ik->r", self.each, self._louder(exponents)))

    def _louder(self, exponents: list[Array]) -> Array:
        """Return how many times as large the variance of each answer is, (N, K)."""
        found = np.zeros(self.each.shape[1:])
        for owner, own in enumerate(exponents):
            adds_up = np.exp((1 + self.squared) * (own - own.max()))
            found[owner, : len(own)] = (adds_up / adds_up.mean()) ** -self.q
        return found


def weights(known: Population) -> Weights:
    """Return the weights of a scenario in which all parts are equal, and losses are quadratic.

    Gradients that are clipped are taken not to be.

    Raises
    ------
    TypeError
        If neither rounds nor one-on-one learning has moments here.
    """
    scenario, objective = known.scenario, known.objective
    rounds = scenario.algorithm.in_rounds
    if objective is None or (rounds is None and scenario.algorithm.one_on_one is None):
        raise TypeError(f"no moments of {scenario.algorithm.kind} with model {scenario.model.kind}")
    judge = objective if known.judge is None else known.judge
    answers = np.array(scenario.network.answers_allowed)
    most, variance = int(answers.max()), variance_of(known)
    if rounds is not None:
        schedule = rounds.schedule(rounds.step, scenario.run.updates)
        felt = round_weights(objective.hessian, schedule, judge.hessian)
        found = np.zeros((1, len(answers), max(most, len(felt))))
        found[0, :, : len(felt)] = np.square(objective.weights)[:, None] * felt
        found = found[:, :, :most]
    else:
        chosen = shares(scenario.network) if scenario.algorithm.needs_shares else None
        of = None if chosen is None or isinstance(chosen, Unknown) else np.array(chosen)
        _, process = process_of(known, objective, of)
        count = max(2, min(ORDERS, NUMBERS // (len(answers) * most)))
        seen = orders(scenario.network, count, scenario.run.seed)
        found = answer_weights(
            process, seen.owners, seen.numbers, most, noise=shape_of(known), hessian=judge.hessian
        )
    privacy = scenario.privacy
    composed = privacy.accountant is not None and privacy.mechanism.composition == "pure"
    q = 1.0 if composed else Q[privacy.mechanism.composition]
    return Weights(found * variance[:, None] / judge.least, answers, q, composed)


__all__ = ["Weights", "weights"]
