"""Bounds on how often tasks return that circulate among owners, whatever the times' laws."""

from collections.abc import Sequence
from math import fsum, inf
from operator import mul

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, probabilities


def return_bounds(
    tasks: int, shares: Sequence[float], service: Sequence[float], travel: Sequence[float]
) -> tuple[float, float]:
    """Return what the throughput Λ of m tasks is at least, and at most.

    With D = Σ p_i s_i and Z = Σ p_i z_i,

        m / (m D + Z) ≤ Λ ≤ min(m / (D + Z), min_i 1 / (p_i s_i)).

    Times have any laws with these means, and tasks go to owner i with the share p_i, drawn or in
    turn. An owner that has a task is never idle; it serves one after the other or several at once.

    Λ p_i s_i is the share of time that owner i is busy, ≤ 1. By Little's law, Λ Z tasks travel in
    the mean and Λ (D + Z) ≤ m, since a task stays with an owner at least as long as its service
    takes. And busy owners are Λ D in the mean: at least one while a task does not travel, which of
    m tasks is so for at least the share (m − Λ Z) / m of time.

    Parameters
    ----------
    tasks : int
        m ≥ 1.
    shares, service, travel : sequence of float (N,)
        p_i (they sum to 1), s_i ≥ 0 and z_i ≥ 0, in time units; not all s_i + z_i are 0.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Denning and Buzen, The operational analysis of queueing network models (1978), ACM Computing
    Surveys 10(3).
    """
    number, chosen = count("tasks", tasks), probabilities("shares", shares).tolist()
    demands = list(map(mul, chosen, (nonnegative("service", each) for each in service)))
    demand = fsum(demands)
    away = fsum(map(mul, chosen, (nonnegative("travel", each) for each in travel)))
    slowest = 1 / max(demands) if demand > 0 else inf
    return number / (number * demand + away), min(number / (demand + away), slowest)


__all__ = ["return_bounds"]
