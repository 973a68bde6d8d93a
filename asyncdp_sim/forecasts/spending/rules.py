"""The rule for parts of a budget that makes noise cost the least, of those of two numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.spending.weights import Weights
from asyncdp_sim.privacy.budgets import LEAST, Scheduled
from asyncdp_sim.theory.moments.spending import least_cost

Array = npt.NDArray[np.float64]
_STEEPEST = -0.99 * log(LEAST)
"""Of the largest part over the least, its logarithm at most: less than a budget takes."""
_HALVINGS = 32
_BETTER = 1e-3
"""Relative: two numbers are named where they cost less by more than that than one."""


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule, and what noise adds to ψ under it, given each order.

    Attributes
    ----------
    growth, power : float
        g and a.
    answers : int or tuple of int
        K, of all owners or of each.
    costs : array (R,)
    """

    growth: float
    power: float
    answers: int | tuple[int, ...]
    costs: Array

    @property
    def cost(self) -> float:
        """Average over orders."""
        return float(self.costs.mean())

    @property
    def budget(self) -> Scheduled:
        """The rule as a scenario has it; a number that changes nothing is not named."""
        numbers = {"growth": self.growth, "power": self.power}
        given = {name: each for name, each in numbers.items() if each != (name == "growth")}
        return Scheduled.model_validate({"answers": self.answers, **(given or {"growth": 1.0})})

    def milder(self, share: float) -> "Rule":
        """Return the rule that is only so far from equal parts; its costs are not known."""
        growth, power = float(f"{self.growth**share:.4g}"), round(share * self.power, 3)
        return Rule(growth, power, self.answers, np.full_like(self.costs, np.nan))

    @property
    def words(self) -> str:
        """What it is called."""
        numbers = {"growth": self.budget.growth, "power": self.budget.power}
        return ", ".join(
            f"{name} {value:g}" for name, value in numbers.items() if value is not None
        )


def best_rule(weights: Weights) -> Rule:
    """Return the best of s_k ∝ g^k k^a, with the same g and a for all owners.

    The cost is convex in ln g and a together: s_k^(−q) is exp(q (ln Σ_j e^(x_j) − x_k)) with
    x_k = k ln g + a ln k, the exponential of a convex function. So is what is left of it where one
    of them is the best for the other: golden sections, one within the other, find the least.
    """
    most = int(weights.answers.max())
    wide = _STEEPEST / max(1, most - 1), _STEEPEST / log(max(2, most))

    def of(power: float) -> float:
        return golden(lambda growth: cost(weights, growth, power), wide[0])

    growth, power = of(0.0), golden(lambda a: cost(weights, 0.0, a), wide[1])
    single = min((written(weights, growth, 0.0), written(weights, 0.0, power)), key=_cost_of)
    power = golden(lambda a: cost(weights, of(a), a), wide[1])
    both = written(weights, of(power), power)
    return both if both.cost < single.cost * (1 - _BETTER) else single


def cost(weights: Weights, growth: float, power: float) -> float:
    """Return what noise adds to ψ under the rule of ln g and a, over all orders."""
    k = np.arange(1.0, int(weights.answers.max()) + 1)
    exponents = k * growth + power * np.log(k)
    return weights.cost([exponents[:count] for count in weights.answers.tolist()])


def written(weights: Weights, growth: float, power: float) -> Rule:
    """Return the rule of ln g and a in a few digits, milder where that were too steep."""
    k = np.arange(1.0, int(weights.answers.max()) + 1)
    steep = float(np.ptp(k * growth + power * np.log(k)))
    milder = min(1.0, _STEEPEST / steep) if steep > 0 else 1.0
    growth, power = float(f"{exp(growth * milder):.4g}"), round(power * milder, 3)
    each = tuple(weights.answers.tolist())
    costs = weights.costs([(log(growth) * k + power * np.log(k))[:count] for count in each])
    return Rule(growth, power, each[0] if len(set(each)) == 1 else each, costs)


def least(weights: Weights) -> float:
    """Return what noise adds to ψ at least, whatever the parts are."""
    q, found = weights.q, 0.0
    for own, answers in zip(weights.mean, weights.answers.tolist(), strict=True):
        if np.any(own > 0):
            found += least_cost(own, q) / answers**q
    return found


def _cost_of(rule: Rule) -> float:
    return rule.cost


def golden(cost: Callable[[float], float], room: float) -> float:
    """Return where a convex function of −room to room is least."""
    ratio, low, high = (sqrt(5) - 1) / 2, -room, room
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = cost(left), cost(right)
    for _ in range(_HALVINGS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = cost(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = cost(right)
    return (low + high) / 2


__all__ = ["Rule", "best_rule", "cost", "golden", "least", "written"]
