"""Lower bounds on ε from right guesses of fair coins (Steinke, Nasr and Jagielski 2023).

Each of m coins decides which of two values a record has. From what a mechanism released, the
coins of some are guessed. However the guesses are made, of r of them no more are right than of r
independent ones that are right with probability e^ε/(1 + e^ε) each, up to δ of each of the m: the
proof is in docs/privacy/audit.md.
"""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.attack import clopper_pearson

Array = npt.NDArray[np.float64]


def shown(right: npt.ArrayLike, guesses: int, doubt: float) -> Array:
    """Return the largest ε that so many right guesses refute, at least 0.

    It is the ε at which P(Binomial(r, e^ε/(1 + e^ε)) ≥ right) = ``doubt``.

    Parameters
    ----------
    right : array of int
        Right guesses, 0…``guesses``.
    guesses : int
        r ≥ 0.
    doubt : float
        Below 1; 1 − doubt is the confidence. Where it is ≤ 0, nothing is shown.

    References
    ----------
    Steinke, Nasr and Jagielski (2023), Privacy auditing with one (1) training run.
    """
    if doubt <= 0 or guesses == 0:
        return np.zeros(np.shape(right))
    low, _ = clopper_pearson(right, guesses, doubt)
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(low) - np.log1p(-low), 0.0))


def shown_if_tight(epsilon: float, guesses: int, doubt: float) -> float:
    """Return what guesses show on average where each is right with probability e^ε/(1 + e^ε).

    That is randomised response, of which nobody can guess more.
    """
    from scipy.special import expit
    from scipy.stats import binom

    count = np.arange(guesses + 1)
    chances = binom.pmf(count, guesses, expit(epsilon))
    return float(chances @ shown(count, guesses, doubt))


def doubt_left(doubt: float, delta: float, canaries: int) -> float:
    """Return what δ leaves of the doubt: each canary takes δ/2 of it; ≤ 0 is nothing."""
    return doubt - canaries * delta / 2
