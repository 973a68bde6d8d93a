"""Owners' own second moments as they may be, where those of all records alone are taken."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.streams import Scope, Streams

Array = npt.NDArray[np.float64]
SPLITS = 25
"""Random splits of all records among the owners."""


@dataclass(frozen=True, eq=False)
class UnlikeOwners:
    """Second moments that owners may have, given those of all records together.

    Attributes
    ----------
    objectives : tuple of Quadratic
        As many as :data:`SPLITS`, all of one f and θ* (to rounding).
    apart : float
        τ², the ψ that an owner's own truth costs.
    """

    objectives: tuple[Quadratic, ...]
    apart: float

    @property
    def words(self) -> str:
        """What is left out, and what stands in for it."""
        return (
            "owners' own moments are not used: ± and quantiles are over "
            f"{len(self.objectives)} random splits of all records, own truths τ² = "
            f"{self.apart:.3g} apart"
        )


def unlike(known: Population, heterogeneity: float | None) -> UnlikeOwners:
    """Draw owners' second moments.

    If owners' records were alike, any n_i of all records were as good as owner i's: they are dealt
    out at random, which leaves f and θ* as they are, and has the owners differ as much as samples
    of such records do, whatever their law. To that is added what owners' own truths make: r_i
    moves by Hδ_i, so that owner i's optimum moves by about δ_i, with Gaussian δ_i of equal
    spread in all coordinates, Σ f_i δ_i = 0 and E Σ f_i δ_iᵀHδ_i = τ² f(θ*), f_i = n_i/n. Owners
    whose features have laws of their own are not in it.

    Parameters
    ----------
    known : Population
        Of a quadratic loss.
    heterogeneity : float, optional
        τ² ≥ 0. Absent, as found: Σ f_i s_iᵀH⁻¹s_i/f(θ*), s_i owner i's share of the slope at θ*,
        as it is less what it is on average over the splits, at least 0. One number about all
        owners, and no other, is so taken from who has which records.
    """
    records, own = known.problem.records, known.problem.task.objective.second_moments
    if own is None:
        raise TypeError(f"no second moments of model {known.scenario.model.kind}")
    features, targets = np.concatenate(records.features), np.concatenate(records.targets)
    ends = np.cumsum(own.records)[:-1]
    streams = Streams(known.scenario.run.seed).within("forecast", "split")
    splits = []
    for each in range(SPLITS):
        order = np.split(streams.generator(each).permutation(len(targets)), ends)
        dealt = [features[rows] for rows in order], [targets[rows] for rows in order]
        splits.append(Quadratic.from_records(*dealt, own.sigma, own.theta_max))
    apart = heterogeneity
    if apart is None:
        apart = max(0.0, _differing(own) - float(np.mean([_differing(each) for each in splits])))
    scopes = [streams.within(each) for each in range(SPLITS)]
    moved = [_moved(each, apart, scope) for each, scope in zip(splits, scopes, strict=True)]
    return UnlikeOwners(tuple(moved), apart)


def _differing(objective: Quadratic) -> float:
    """Return Σ f_i s_iᵀH⁻¹s_i/f(θ*), s_i the slope of owner i's error at θ* less their mean."""
    slopes = objective.moment - np.einsum("iab,b->ia", objective.gram, objective.free_optimum)
    slopes = slopes - objective.weights @ slopes
    inverse = np.linalg.solve(objective.hessian, slopes.T)
    return float(np.einsum("i,ia,ai->", objective.weights, slopes, inverse) / objective.least)


def _moved(objective: Quadratic, apart: float, scope: Scope) -> Quadratic:
    """Give owners truths of their own, τ² apart on average over records."""
    share = objective.weights
    left = 1 - float(share @ share)  # what taking the mean out leaves of their variance
    if apart == 0 or objective.n_owners == 1:
        return objective
    unit = scope.generator("truth").standard_normal(objective.moment.shape)
    unit -= share @ unit
    scale = (apart * objective.least / float(np.trace(objective.hessian)) / left) ** 0.5
    return replace(objective, moment=objective.moment + scale * unit @ objective.hessian)
