"""Student's t for a whole number of degrees of freedom, without a slow import.

SciPy's quantile is as good, but the first call of it imports half of SciPy, which takes longer than
a small run does.
"""

from math import cos, exp, lgamma, log, pi, sin, sqrt, tan


def t_quantile(freedom: int, share: float) -> float:
    """Return t with P(T ≤ t) = p, T having Student's law with ν degrees of freedom.

    With θ = atan(t/√ν), P(|T| ≤ t) = A(θ) is a finite sum of cosines, and dA/dθ = c (cos θ)^(ν−1)
    falls: Newton's steps from θ = 0 approach the root from below, whatever p is.

    Parameters
    ----------
    freedom : int
        ν ≥ 1.
    share : float
        p, in [1/2, 1).

    References
    ----------
    Abramowitz & Stegun, Handbook of Mathematical Functions (1964), 26.7.3 and 26.7.4.
    """
    log_slope = log(2) + lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(pi) / 2
    angle, step = 0.0, 1.0
    while step > 1e-16:
        missing = 2 * share - 1 - _within(freedom, angle)
        step = missing / exp(log_slope + (freedom - 1) * log(cos(angle)))
        angle += step
    return sqrt(freedom) * tan(angle)


def _within(freedom: int, angle: float) -> float:
    """Return A(θ) = P(|T| ≤ √ν tan θ)."""
    odd = freedom % 2
    square, term, total = cos(angle) ** 2, cos(angle) if odd else 1.0, 0.0
    for order in range(1 + odd, freedom, 2):
        total += term
        term *= square * order / (order + 1)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total
