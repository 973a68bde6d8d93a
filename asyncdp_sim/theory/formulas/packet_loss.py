"""Transmissions that are lost on the way: what reaches the learner after R attempts.

An answer is sent until an attempt arrives or R attempts are spent; R = 1 + ``retransmissions``.
"""

from dataclasses import dataclass
from math import expm1, log

import numpy as np

from asyncdp_sim.theory.formulas.arguments import Array, count, probability, refused


def delivered(loss: float, attempts: int) -> float:
    """Return P(delivered) = 1 − l^R where each attempt is lost with probability l, on its own.

    Parameters
    ----------
    loss : float
        l in [0, 1].
    attempts : int
        R ≥ 1.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    lost, number = probability("loss", loss), count("attempts", attempts)
    return 1.0 if lost == 0 else -expm1(number * log(lost))


def mean_attempts(loss: float, attempts: int) -> float:
    """Return the mean number of attempts per answer, delivered or not: (1 − l^R)/(1 − l).

    Its limit for l → 1 is R. Arguments and assumptions as for :func:`delivered`.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    arrives = delivered(loss, attempts)
    return float(attempts) if loss == 1 else arrives / (1 - loss)


@dataclass(frozen=True)
class BurstChain:
    """Losses in bursts: a chain of two states that advances one step with every transmission.

    The chain starts from its stationary law, in which it is bad with probability
    to_bad/(to_bad + to_good).

    Parameters
    ----------
    to_bad, to_good : float
        Probabilities in [0, 1] of a step from good to bad and back; not both 0.
    loss_good, loss_bad : float
        Probabilities in [0, 1] that a transmission in this state is lost.

    Raises
    ------
    SpecError
        If a field is outside its domain.

    References
    ----------
    Gilbert, Capacity of a burst-noise channel (1960), and Elliott, Estimates of error rates for
    codes on burst-noise channels (1963), Bell System Technical Journal 39 and 42.
    """

    to_bad: float
    to_good: float
    loss_good: float
    loss_bad: float

    def __post_init__(self) -> None:
        for key in ("to_bad", "to_good", "loss_good", "loss_bad"):
            probability(key, getattr(self, key))
        if self.to_bad == self.to_good == 0:
            raise refused("to_good", "0, as to_bad", "a number > 0 for one of them: no law else")

    @property
    def bad_fraction(self) -> float:
        """Stationary probability of the bad state."""
        return self.to_bad / (self.to_bad + self.to_good)

    @property
    def stationary_loss(self) -> float:
        """Probability that a transmission is lost, in the stationary law of the state."""
        bad = self.bad_fraction
        return (1 - bad) * self.loss_good + bad * self.loss_bad

    def all_lost(self, attempts: int) -> float:
        """Return P(R ≥ 1 successive transmissions are lost), the first in the stationary law.

        π D (P D)^{R−1} 1, with P the steps and D the losses by state. Holds for R transmissions
        chosen without regard to outcomes, such as the first answer's; for answers in succession
        see :meth:`undelivered`.

        Raises
        ------
        SpecError
            If R < 1.
        """
        return self._lost(count("attempts", attempts), self._stationary())

    def undelivered(self, attempts: int) -> float:
        """Return the long-run share of answers of which all R ≥ 1 attempts are lost.

        Answers use one channel in succession, each until an attempt arrives or R are spent, and
        the state advances with transmissions only. Answers that take long do so in bad states:
        the state at an answer's first attempt has the stationary law κ of

            K = Σ_{r=0}^{R−2} (DP)^r (I−D) P + (DP)^{R−1} P

        and the share is κ D (P D)^{R−1} 1. For R = 1 it is the stationary loss.

        Raises
        ------
        SpecError
            If R < 1.
        """
        number = count("attempts", attempts)
        steps, losses = self._matrices()
        again, arrived = losses @ steps, (np.eye(2) - losses) @ steps
        reached, between = np.eye(2), np.zeros((2, 2))
        for _ in range(number - 1):
            between += reached @ arrived
            reached = reached @ again
        between += reached @ steps
        out, back = between[0, 1], between[1, 0]
        # K keeps both states only where every transmission is lost
        start = self._stationary() if out + back == 0 else np.array([back, out]) / (out + back)
        return self._lost(number, start)

    def _stationary(self) -> Array:
        return np.array([1 - self.bad_fraction, self.bad_fraction])

    def _matrices(self) -> tuple[Array, Array]:
        steps = [[1 - self.to_bad, self.to_bad], [self.to_good, 1 - self.to_good]]
        return np.array(steps), np.diag([self.loss_good, self.loss_bad])

    def _lost(self, attempts: int, start: Array) -> float:
        steps, losses = self._matrices()
        return float((start @ losses @ np.linalg.matrix_power(steps @ losses, attempts - 1)).sum())
