"""The ledger: what each owner has spent, charged at release, delivered or not."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def spent(
    epsilon: Array, answers_allowed: npt.NDArray[np.int64], released: npt.NDArray[np.int64]
) -> Array:
    """Return ε spent per owner: (releases/K_i) ε_i, exactly ε_i when the last answer is out.

    Basic composition of pure ε-DP answers (Async, Theorem 1), each charged ε_i/K_i.

    Parameters
    ----------
    epsilon : array (N,)
        ε_i; an infinite budget is spent by the first release.
    answers_allowed : array of int (N,)
        K_i.
    released : array of int (N,)
        Distinct noisy answers whose first transmission began; at most K_i.
    """
    share = released / answers_allowed
    with np.errstate(invalid="ignore"):
        return np.where(released == 0, 0.0, epsilon * share)
