"""Mean differences between two samples, with their intervals: paired, or not."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
LEVEL = 0.95


@dataclass(frozen=True)
class Contrast:
    """The second sample's mean less the first's.

    Attributes
    ----------
    mean : float or None
        None where a value is absent or infinite, so that there is no mean.
    low, high : float or None
        Ends of the 95 % interval; None where there is none.
    less, more : int or None
        Pairs in which the second value is the smaller, or the larger; None without pairs.
    pairs : int or None
        All pairs in which both values are known.
    """

    mean: float | None
    low: float | None
    high: float | None
    less: int | None = None
    more: int | None = None
    pairs: int | None = None


def contrast(first: Array, second: Array, *, in_pairs: bool) -> Contrast:
    """Return the contrast of two samples.

    In pairs, with differences d of R of them, d̄ ± t_{R−1} sd(d)/√R, Student's t. Of independent
    samples, with s² = sd²/R of each, ȳ − x̄ ± t_ν √(s₁² + s₂²), where Welch's
    ν = (s₁² + s₂²)²/(s₁⁴/(R₁ − 1) + s₂⁴/(R₂ − 1)). No interval where there is one value.

    Parameters
    ----------
    first, second : array (R₁,), (R₂,)
        At least one value each; NaN where one is absent.
    in_pairs : bool
        Whether values belong together, place by place: R₁ = R₂.
    """
    return _paired(first, second) if in_pairs else _unpaired(first, second)


def _paired(first: Array, second: Array) -> Contrast:
    counts = pairs(first, second)
    if not _finite(first, second):
        return Contrast(None, None, None, **counts)
    differences = second - first
    error = float(differences.std(ddof=1)) / len(first) ** 0.5 if len(first) > 1 else None
    return Contrast(*_ends(float(differences.mean()), error, len(first) - 1), **counts)


def pairs(first: Array, second: Array) -> dict[str, int]:
    """Return in how many pairs the second value is less, and more, and in how many both are known.

    By the names of a contrast's attributes.
    """
    known = ~(np.isnan(first) | np.isnan(second))
    return {
        "less": int(np.count_nonzero(second[known] < first[known])),
        "more": int(np.count_nonzero(second[known] > first[known])),
        "pairs": int(np.count_nonzero(known)),
    }


def _unpaired(first: Array, second: Array) -> Contrast:
    if not _finite(first, second):
        return Contrast(None, None, None)
    mean = float(second.mean() - first.mean())
    if min(len(first), len(second)) == 1:
        return Contrast(mean, None, None)
    squares = [float(each.var(ddof=1)) / len(each) for each in (first, second)]
    total = sum(squares)
    if total == 0:
        return Contrast(mean, mean, mean)
    parts = (s**2 / (len(each) - 1) for s, each in zip(squares, (first, second), strict=True))
    return Contrast(*_ends(mean, total**0.5, total**2 / sum(parts)))


def _finite(first: Array, second: Array) -> bool:
    return bool(np.isfinite(first).all() and np.isfinite(second).all())


def _ends(
    mean: float, error: float | None, freedom: float
) -> tuple[float, float | None, float | None]:
    from scipy.special import stdtrit

    if error is None:
        return mean, None, None
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean, mean - half, mean + half
