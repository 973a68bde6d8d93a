"""The ± of a mean of simulated runs, whose ψ is skewed.

ψ is about a quadratic form of the noise: its runs have skewness 2 to 7, and the few that end far
out are missing from most samples. A sample with too low a mean has then too small a spread, so that
mean ± t s/√R misses too often, nearly always from below.
"""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.theory.formulas.student_t import t_quantile

Array = npt.NDArray[np.float64]
LARGEST = 1e100
"""A number whose cube floating point holds."""


def half_width(values: Array) -> float:
    """Return the longer half of the 95 % interval of a mean, by Hall's transformation.

    With the sample's mean m, standard deviation s and skewness g, and q = ± t/√R − g/(6R) by
    Student's t, the ends are

        m − s h(q),   h(q) = (3/g) ((1 + g q)^⅓ − 1),   h(q) = q where g = 0,

    one above m, one below. The longer half is told for both, so that the ± covers the ends.

    Parameters
    ----------
    values : array (R,)
        R ≥ 2, of independent runs. Infinite where one is not finite.

    Returns
    -------
    float
        ≥ 0; that of Student's t where values are symmetric.

    Notes
    -----
    P. Hall, On the removal of skewness by transformation, Journal of the Royal Statistical
    Society B 54 (1992), 221–228: the cubic that makes t about symmetric, and is monotone.
    """
    if not np.isfinite(values).all():
        return float("inf")
    largest = float(np.abs(values).max())
    if largest > LARGEST:
        return largest * half_width(values / largest)
    runs, apart = len(values), values - values.mean()
    spread = float(values.std(ddof=1))
    if spread == 0.0:
        return 0.0
    skewness = float(np.mean((apart / values.std()) ** 3))
    t = t_quantile(runs - 1, 0.975) / np.sqrt(runs)
    ends = np.array([-t, t]) - skewness / (6 * runs)
    if abs(skewness) > 1e-6:
        ends = 3 / skewness * (np.cbrt(1 + skewness * ends) - 1)
    return spread * float(np.abs(ends).max())


__all__ = ["half_width"]
