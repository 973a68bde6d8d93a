"""Noise by OpenDP, scaled by OpenDP's own account of what an answer costs.

The client must trust OpenDP, its random numbers, and this file, which adds no noise of its own.
Costs add up: they are ε under Laplace noise, and ρ of zero-concentrated privacy under Gaussian.
"""

import math
from functools import partial

import opendp.prelude as dp

dp.enable_features("contrib")
SLACK = 1 + 2.0**-20
"""Covers rounding in exact sums of up to 10⁹ records' gradients, as ``steps.gradient`` adds."""


class OwnerNoise:
    """The noise of one owner's answers, each of ``size`` numbers.

    ``cost`` is of one answer and ``budget`` of all: K_i costs are never above it. ``scale`` is the
    noise's, and ``grid`` is what answers are rounded to.
    """

    def __init__(self, privacy: dict, owner: dict, size: int) -> None:
        moved = 2 * privacy["bound"] / owner["records"] * SLACK
        gaussian, answers = privacy["mechanism"] == "gaussian", owner["answers"]
        self.budget = _rho(owner["epsilon"], privacy["delta"]) if gaussian else owner["epsilon"]
        share = self.budget / answers
        if owner["price"] is not None:  # ε of one answer is decided: K_i of them may cost less
            share = min(share, owner["price"])
        share = math.nextafter(share, 0)
        # Rounding to the grid adds a thousandth to the sensitivity, at most, and is paid for.
        exponent = math.floor(math.log2(moved / 1024 / size ** (0.5 if gaussian else 1)))
        distance = dp.l2_distance(T=float) if gaussian else dp.l1_distance(T=float)
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), distance
        make = dp.m.make_gaussian if gaussian else dp.m.make_laplace
        of_scale = partial(make, *space, k=exponent)
        self.scale = dp.binary_search_param(lambda scale: of_scale(scale=scale), moved, share)
        self.grid = 2.0**exponent
        self._measurement = of_scale(scale=self.scale)
        self.cost = self._measurement.map(moved)

    def answer(self, gradient: list[float]) -> list[float]:
        """Return a gradient with noise."""
        return self._measurement(gradient)


def _rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ that OpenDP takes for (ε, δ)."""
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    unit = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=1.0, k=-40))

    def fits(rho: float) -> bool:
        return unit.map(math.sqrt(2 * rho) * SLACK).epsilon(delta) <= epsilon

    return dp.binary_search(fits, bounds=(0.0, epsilon), T=float)
