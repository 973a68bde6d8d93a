"""Shorter steps for staler answers: where learning ends, beside the objective that they minimise.

For small steps the mean model settles where Σ w_i f_i is least, w_i = π_i E[w(s) | i] over whatever
steps are divided by (docs/stale-steps.md).
"""

import numpy as np
import numpy.typing as npt

from analysis.beyond.where_it_ends import End, where_it_ends
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.staleness import lateness
from asyncdp_sim.theory.predict.update_order import shares as shares_of_updates
from asyncdp_sim.theory.prediction import Unknown
from scenarios.beyond.moves import minimiser, shares
from scenarios.beyond.problem import ends, objective, scenario, uncertain

Array = npt.NDArray[np.float64]
DIVIDED = {"uniform": (0, 0), "inverse-rate": (1, 0), "inverse-weight": (1, 1)}
"""By ``algorithm.selection``: whether π_i, and whether E[w(s) | i], is divided by."""


def often(said: Scenario) -> Array:
    """Return π_i, each owner's share of the updates."""
    found = shares_of_updates(said.network)
    if isinstance(found, Unknown):
        raise TypeError(found.reason)
    return np.array(found)


def mean_weights(said: Scenario) -> Array:
    """Return E[w(s) | i], how far an owner's answers move the model on average."""
    laws = lateness(said.network)
    if isinstance(laws, Unknown) or said.algorithm.one_central is None:
        raise TypeError(f"no law of staleness is known for {said.id}")
    weight = said.algorithm.one_central.weight
    return np.array([float(law @ weight(np.arange(len(law)))) for law in laws])


def counted(said: Scenario) -> Array:
    """Return w_i, which sum to 1."""
    by_rate, by_weight = DIVIDED[said.algorithm.selection]  # type: ignore[union-attr]
    found = often(said) ** (1 - by_rate) * mean_weights(said) ** (1 - by_weight)
    return np.asarray(found / found.sum())


def expected_end(sweep: Sweep, result: Result) -> float:
    """Return where learning settles for small steps."""
    f = objective(sweep)
    weights = counted(scenario(result)) * shares(f)
    return float(minimiser(f, weights / weights.sum())[0])


def stale_steps(sweep: Sweep) -> Picture:
    """Draw where each way of dividing steps ends, between the owners' own optima."""
    f, results = objective(sweep), [cell.result for cell in sweep.cells]
    own = [float(minimiser(f, each)[0]) for each in np.eye(len(f.records))]
    found = []
    for cell in sweep.cells:
        values = ends(cell.result)[:, 0]
        mean, about = float(values.mean()), 2 * uncertain(values)
        found.append(End(str(cell.values[VARIANT]), mean, about, expected_end(sweep, cell.result)))
    marks = {"θ*": float(minimiser(f, shares(f))[0])}
    pairs = list(zip(own, often(scenario(results[0])).tolist(), strict=True))
    told = {"share": "their shares\nof the updates", "name": "stale-steps"}
    return where_it_ends(found, marks, pairs, results, **told)


__all__ = ["counted", "expected_end", "mean_weights", "often", "stale_steps"]
