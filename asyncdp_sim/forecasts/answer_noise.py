"""The variance of the noise on answers: of owners, or of each of their answers."""

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.population import Population

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def variance_of(known: Population) -> Array:
    """Return the variance of each coordinate of the noise on owners' answers, (N,).

    Where parts of a budget are unequal, of the first, second … answer of each, (N, K); 0 beyond
    its last.
    """
    scenario, noise = known.scenario, known.problem.task.reply.noise
    allotment = scenario.privacy.allotment(scenario.owners.count)
    if allotment is None:
        return noise.variance
    found = np.zeros((len(allotment.answers), int(allotment.answers.max())))
    held = np.arange(found.shape[1]) < allotment.answers[:, None]
    found[held] = noise.variance  # owner after owner, as allotments have it
    return found


def made_before(owners: Indices) -> Indices:
    """Return how many updates of its owner come before each one of an order, (R, T).

    Parameters
    ----------
    owners : array of int (R, T)
        Owners (from 0) of the updates; −1 after the last.
    """
    found = np.zeros_like(owners)
    for owner in range(int(owners.max(initial=0)) + 1):
        his = owners == owner
        found[his] = (np.cumsum(his, axis=1) - 1)[his]
    return found


__all__ = ["made_before", "variance_of"]
