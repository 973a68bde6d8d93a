"""Noise that colluding owners are left with."""

from math import sqrt


def averaged_deviation(xi: float, records: int, epsilon: float, answers: int) -> float:
    """Return the standard deviation of each coordinate of the mean of an owner's K answers.

    √2 b/√K with b = 2ΞK/(nε): 2√2 Ξ √K/(nε). Averaging takes noise away as 1/√K, but a budget
    that is spread over K answers adds it as K, so that all of them together tell less of the
    mean gradient than a single one would that had the whole budget.

    Parameters
    ----------
    xi : float
        Ξ ≥ 0, the bound on a record gradient's L1 norm.
    records, answers : int
        n ≥ 1 and K ≥ 1.
    epsilon : float
        ε > 0 over the K answers; infinite without noise.
    """
    return 2 * sqrt(2) * xi * sqrt(answers) / (records * epsilon)
