"""Whether owners that may answer so often only fall silent before the end of a run."""

from math import fsum

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def silent_by(rates: Array, answers: npt.NDArray[np.int64], updates: int) -> float:
    """Return a bound on P(some owner is silent before update T), by a sum over owners.

    Owner i has K_i of the first T − 1 updates with probability P(Bin(T − 1, λ_i/Σλ) ≥ K_i).

    Parameters
    ----------
    rates : array (N,)
        λ_i > 0, or shares of the updates.
    answers : array of int (N,)
        K_i ≥ 1.
    updates : int
        T ≥ 1.
    """
    from scipy.special import bdtrc

    share = np.asarray(rates) / fsum(np.asarray(rates).tolist())
    early = np.minimum(np.asarray(answers), updates)
    found = [
        float(bdtrc(k - 1, updates - 1, p)) if k <= updates - 1 else 0.0
        for k, p in zip(early.tolist(), share.tolist(), strict=True)
    ]
    return min(1.0, fsum(found))
