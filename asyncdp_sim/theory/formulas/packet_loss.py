"""Transmissions that are lost on the way: what reaches the learner after R attempts.

An answer is sent until an attempt arrives or R attempts are spent; R = 1 + ``retransmissions``.
"""

from math import expm1, log

import numpy as np

from asyncdp_sim.theory.formulas.arguments import count, probability, refused


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


def lost_in_bursts(
    attempts: int, *, to_bad: float, to_good: float, loss_good: float, loss_bad: float
) -> float:
    """Return the long-run share of answers of which all R ≥ 1 attempts are lost in bursts.

    A chain of two states advances one step with every transmission. Answers use one channel in
    succession, each until an attempt arrives or R are spent. Answers that take long do so in bad
    states: the state at an answer's first attempt has the stationary law κ of

        K = Σ_{r=0}^{R−2} (DP)^r (I−D) P + (DP)^{R−1} P

    and the share is κ D (P D)^{R−1} 1, with P the steps and D the losses by state. For R = 1 it is
    the share of all transmissions that are lost.

    Parameters
    ----------
    attempts : int
        R ≥ 1.
    to_bad, to_good : float
        Probabilities in [0, 1] of a step from good to bad and back; not both 0.
    loss_good, loss_bad : float
        Probabilities in [0, 1] that a transmission in this state is lost.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Gilbert, Capacity of a burst-noise channel (1960), and Elliott, Estimates of error rates for
    codes on burst-noise channels (1963), Bell System Technical Journal 39 and 42.
    """
    number, out, back = (
        count("attempts", attempts),
        probability("to_bad", to_bad),
        probability("to_good", to_good),
    )
    if out == back == 0:
        raise refused("to_good", "0, as to_bad", "a number > 0 for one of them: no law else")
    steps = np.array([[1 - out, out], [back, 1 - back]])
    losses = np.diag([probability("loss_good", loss_good), probability("loss_bad", loss_bad)])
    again, arrived = losses @ steps, (np.eye(2) - losses) @ steps
    reached, between = np.eye(2), np.zeros((2, 2))
    for _ in range(number - 1):
        between += reached @ arrived
        reached = reached @ again
    between += reached @ steps
    if between[0, 1] + between[1, 0] > 0:  # else every transmission is lost
        out, back = between[0, 1], between[1, 0]
    start = np.array([back, out]) / (out + back)
    return float((start @ losses @ np.linalg.matrix_power(steps @ losses, number - 1)).sum())
