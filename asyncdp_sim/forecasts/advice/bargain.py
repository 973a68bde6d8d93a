"""The data market that Collab sketches: the learner pays owners for larger budgets.

Collab's section V names a game and its parts, and defines no utilities: how good the model is
(Theorem 2's trade-off), what sharing costs an owner, and what the learner pays for larger budgets,
negotiated before any training. Here they are

- learner: v E ψ + Σ r_i ε_i, to be least, E ψ = free + Σ loss_i/ε_i² (:class:`~.market.Demand`);
- owner i: r_i ε_i − c_i ε_i^a, to be most, a > 1: sharing costs more the more was shared.

The learner names prices, then each owner chooses its budget (a leader and N followers); its choice
does not depend on the others', since E ψ is a sum over owners and each is paid for its own ε_i.
In the limit a → 1 owners sell at c_i whatever is asked for, and this is :mod:`~.market`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.advice.market import Demand
from asyncdp_sim.theory.formulas.arguments import finite, positive, refused

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bargain:
    """Agreement of learner and owners: budgets, payments, and what both gain.

    Attributes
    ----------
    prices : array (N,)
        r_i for each unit of ε_i.
    epsilon : array (N,)
        ε_i.
    psi : float
        E ψ.
    paid : float
        Σ r_i ε_i.
    cost : float
        Σ c_i ε_i^a, what sharing costs the owners.
    """

    prices: Array
    epsilon: Array
    psi: float
    paid: float
    cost: float

    @property
    def surplus(self) -> float:
        """What owners gain, Σ r_i ε_i − Σ c_i ε_i^a ≥ 0."""
        return self.paid - self.cost


@dataclass(frozen=True, eq=False)
class Game:
    """The learner and its owners.

    Attributes
    ----------
    wanted : Demand
        What noise costs the learning; every loss > 0.
    worth : float
        v > 0, what a unit of E ψ is worth to the learner.
    costs : array (N,)
        c_i > 0.
    growth : float
        a > 1.

    Raises
    ------
    SpecError
        If a number is outside its domain.
    """

    wanted: Demand
    worth: float
    costs: Array
    growth: float

    def __post_init__(self) -> None:
        positive("worth", self.worth)
        for cost in finite("costs", self.costs, self.wanted.loss.shape).tolist():
            positive("costs", cost)
        if not positive("growth", self.growth) > 1:
            raise refused("growth", self.growth, "a number > 1")
        if not np.all(self.wanted.loss > 0):
            raise refused("loss", self.wanted.loss.tolist(), "owners whose noise costs something")

    def best_response(self, prices: Sequence[float] | Array) -> Array:
        """Return what owners choose at these prices, ε_i = (r_i/(a c_i))^{1/(a−1)}."""
        marginal = np.asarray(prices, dtype=float) / (self.growth * self.costs)
        return np.asarray(marginal ** (1 / (self.growth - 1)))

    def agreed(self, prices: Sequence[float] | Array) -> Bargain:
        """Return what comes of prices."""
        asked = np.broadcast_to(np.asarray(prices, dtype=float), self.costs.shape)
        epsilon = self.best_response(asked)
        cost = float(self.costs @ epsilon**self.growth)
        return Bargain(asked, epsilon, self.wanted.psi(epsilon), float(asked @ epsilon), cost)

    def loss(self, found: Bargain) -> float:
        """Return what the learner makes least, v E ψ + Σ r_i ε_i."""
        return self.worth * found.psi + found.paid

    def equilibrium(self) -> Bargain:
        """Return what comes of the learner's best prices, one for each owner.

        It foresees r_i = a c_i ε_i^{a−1}, and so pays a c_i ε_i^a: ε_i^{a+2} = 2v loss_i/(a² c_i).
        """
        return self.agreed(self._prices(self._budgets(self.growth**2)))

    def uniform(self) -> Bargain:
        """Return what comes of its best price, the same for all.

        With s = 1/(a−1), ε_i = (r/(a c_i))^s, A = v Σ loss_i (a c_i)^{2s} and B = Σ (a c_i)^{−s},
        it makes A r^{−2s} + B r^{1+s} least: r^{1+3s} = 2sA/((1+s)B).
        """
        s = 1 / (self.growth - 1)
        unit = self.growth * self.costs
        noise = 2 * s * self.worth * float(self.wanted.loss @ unit ** (2 * s))
        price = (noise / ((1 + s) * float(np.sum(unit**-s)))) ** (1 / (1 + 3 * s))
        return self.agreed(np.full(len(unit), price))

    def efficient(self) -> Bargain:
        """Return what is best for all together: payments move money, and cost none.

        v E ψ + Σ c_i ε_i^a is least at ε_i^{a+2} = 2v loss_i/(a c_i): more than the learner buys,
        by the factor a^{1/(a+2)}, since its own demand raises what it pays.
        """
        return self.agreed(self._prices(self._budgets(self.growth)))

    def _budgets(self, factor: float) -> Array:
        ratio = 2 * self.worth * self.wanted.loss / (factor * self.costs)
        return np.asarray(ratio ** (1 / (self.growth + 2)))

    def _prices(self, epsilon: Array) -> Array:
        return np.asarray(self.growth * self.costs * epsilon ** (self.growth - 1))
