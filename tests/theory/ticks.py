"""Poisson clocks whose gaps are rounded to ticks of time, exactly.

A gap Exp(λ) rounded to ticks δ is 0 with probability a = 1 − e^{−λδ/2}, and otherwise geometric:
j ≥ 1 with probability e^{−λδ(j − ½)}(1 − e^{−λδ}). So at the next tick of time each owner's clock
ticks with q = 1 − e^{−λδ}, whatever came before.
"""

import numpy as np
from scipy.stats import binom


def mean_gap(per_tick: float) -> float:
    """Return the mean of a rounded gap over that of the gap: (x/2)/sinh(x/2), x = λδ."""
    return per_tick / 2 / float(np.sinh(per_tick / 2))


def repeated(n_owners: int, per_tick: float) -> float:
    """Return P(i_{k+1} = i_k) of N such clocks, of whom the one scheduled first comes first.

    At a tick of time owners come in the order in which they were scheduled: the one that came last
    before is the last. One that ticks again at once comes after all who wait. So the number m of
    owners who wait, and whether the last that came is among them (s), are a Markov chain.

    Parameters
    ----------
    n_owners : int
        N.
    per_tick : float
        x = λδ of one clock.
    """
    again, some = -np.expm1(-per_tick / 2), -np.expm1(-per_tick)
    count = np.arange(1, n_owners + 1)
    together = binom.pmf(count, n_owners, some)
    together /= together.sum()
    states = [(m, s) for m in range(n_owners + 1) for s in (0, 1) if m >= s]
    place = {state: number for number, state in enumerate(states)}
    step = np.zeros((len(states), len(states)))
    for (m, _), row in zip(states, step, strict=True):
        begun = dict(zip(count, together, strict=True)) if m == 0 else {m: 1.0}
        for waiting, chance in begun.items():
            row[place[waiting - 1, 0]] += chance * (1 - again)
            row[place[int(waiting), 1]] += chance * again
    system = np.vstack([step.T - np.eye(len(states)), np.ones(len(states))])
    weight = np.linalg.lstsq(system, np.append(np.zeros(len(states)), 1.0), rcond=None)[0]
    alone = together[0] / n_owners  # of one owner at the next tick, each is it alike
    return float(weight[place[1, 1]] + weight[place[0, 0]] * alone)
