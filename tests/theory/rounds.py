"""Mean time of a round whose owners' times are of any law."""

from collections.abc import Callable
from math import expm1, log1p

from asyncdp_sim.theory.formulas.arguments import count, positive, refused

PANELS = 200
"""Doublings of the scale after which a mean that still grows is refused."""


def mean_round_of(n_owners: int, survival: Callable[[float], float], scale: float) -> float:
    """Return E max of N independent response times T ≥ 0 of any law: ∫₀^∞ 1 − (1 − P(T > t))^N dt.

    Integrated numerically over [0, scale], [scale, 2 scale], [2 scale, 4 scale] and so on, until
    a panel adds less than 1e-12 of the sum; good to about 1e-10 of it for a smooth law.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    survival : callable
        P(T > t) for t ≥ 0, which tells small tails apart where 1 − P(T ≤ t) is rounded off.
    scale : float
        > 0, a typical response time, which chooses the panels. A law much narrower than the
        panel that it lies in is found less exactly.

    Raises
    ------
    SpecError
        If an argument is outside its domain, P(T > t) leaves [0, 1] or falls too slowly.
    """
    from scipy.integrate import quad  # only here: a slow import

    number, start, end = count("n_owners", n_owners), 0.0, positive("scale", scale)
    total = 0.0

    def unfinished(time: float) -> float:
        above = float(survival(time))
        if not 0 <= above <= 1:
            raise refused("survival", f"P(T > {time!r}) = {above!r}", "a probability, in [0, 1]")
        return 1.0 if above == 1 else -expm1(number * log1p(-above))

    for _ in range(PANELS):
        part = float(quad(unfinished, start, end, epsabs=1e-13 * end, epsrel=1e-11, limit=500)[0])
        total += part
        if part <= 1e-12 * total and unfinished(end) < 0.5:
            return total
        start, end = end, 2 * end
    allowed = "a law with a finite mean, and P(T > t) falling at least like t^(−1.2)"
    raise refused("survival", f"a mean above {total!r}", allowed)
