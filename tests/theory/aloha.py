"""Capture on a channel, of two messages."""

from asyncdp_sim.theory.formulas.arguments import count, nonnegative


def capture_probability(threshold: float, interferers: int) -> float:
    """Return (1+z)^{−m}: an answer survives m = ``interferers`` ≥ 0 others; z ≥ 0.

    Powers are independent and Exp(1): P(X > zΣY_j) = E e^{−zΣY_j}, a product of 1/(1+z).

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    others = count("interferers", interferers, 0)
    return float((1 + nonnegative("threshold", threshold)) ** -others)
