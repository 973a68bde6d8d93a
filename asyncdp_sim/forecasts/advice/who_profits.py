"""Each owner's gain from joining: its value alone, with the others, and from which ε on."""

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from asyncdp_sim.forecasts.population import Population
from asyncdp_sim.learning.objectives import Quadratic

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OwnerForecast:
    """An owner's prospects.

    Attributes
    ----------
    owner : int
        Its number, from 1.
    name : str or None
        What it is called, whole; None where owners have numbers alone.
    records : int
        n_i.
    epsilon : float or None
        Its budget; None where nothing is hidden.
    epsilon_spent : float
        Expected at the end of the run.
    alone : float
        ψ of its own optimum θ_i*.
    profits : bool or None
        Whether it gains by joining (True) or does worse (False); None where that is undecided. By
        the error on its held-out rows, where rows are held out; else by ψ: whether the private
        model's is below ``alone``.
    epsilon_needed : float or None
        Break-even ε by the same criterion, all budgets having grown in proportion; ∞ where its own
        is. None where it does not gain however small the noise is, or at the largest ε tried.
    """

    owner: int
    name: str | None
    records: int
    epsilon: float | None
    epsilon_spent: float
    alone: float
    profits: bool | None
    epsilon_needed: float | None


def value_alone(population: Population, objective: Quadratic, heterogeneity: float) -> Array:
    """Return the ψ of each owner's own optimum, shape (N,).

    With owners' own moments, exactly ψ(θ_i*) ≥ 0: θ_i* minimises over Θ, as θ* does, whose f is the
    least there. With common moments, what a sample of n_i records
    instead of n misses, (s²/f*) tr(C H⁻¹) (1/n_i − 1/n), and τ²: for records that are alike θ_i*
    has about the covariance s² H⁻¹CH⁻¹ (1/n_i − 1/n) around θ*, s² = f* − (σ/2)‖θ*‖² being the
    mean squared error. For a small σ that is p(1/n_i − 1/n). τ² is the ψ that an owner's own truth
    costs at any n_i. Θ's bound is left out there, as if it were the whole space: θ_i* that it holds
    back have another ψ, so that the figure is for a bound which few owners' optima reach.

    Parameters
    ----------
    population : Population
    objective : Quadratic
        What the forecast is of.
    heterogeneity : float
        τ² ≥ 0, of public data or of the twin; used with common moments alone.
    """
    if population.common:
        n = objective.records.astype(float)
        penalty = objective.sigma / 2
        error = objective.least - penalty * float(objective.optimum @ objective.optimum)
        freedom = float(np.trace(np.linalg.solve(objective.hessian, objective.gram[0])))
        return np.asarray(error / objective.least * freedom * (1 / n - 1 / n.sum()) + heterogeneity)
    alone = np.stack([objective.of_owner(owner).optimum for owner in range(objective.n_owners)])
    judge = objective if population.judge is None else population.judge
    return judge.relative_fitness(alone)


def prospects(
    population: Population,
    alone: Array,
    expected: float,
    noise_free: float,
    answers: Array,
    half_width: float = 0.0,
) -> list[OwnerForecast]:
    """Return every owner's forecast, by ψ.

    The expected ψ is affine in the noise variances: with all owners' noise 1/s as large it is
    noise_free + (expected − noise_free)/s². Pure budgets are then s times as large.

    Parameters
    ----------
    population : Population
    alone : array (N,)
        :func:`value_alone`.
    expected, noise_free : float
        E ψ at the end, with noise and without.
    answers : array (N,)
        Expected answers of each owner.
    half_width : float
        Of the 95 % interval of ``expected``: an owner whose ``alone`` lies in it is undecided.
    """
    accountant, found = population.problem.accountant, []
    hidden = population.problem.xi is not None
    spent = accountant.spent(np.rint(answers).astype(np.int64))
    records = population.problem.task.objective.records
    cost, who = max(expected - noise_free, 0.0), population.participants
    names = who.names or (None,) * len(records)
    with np.errstate(divide="ignore", invalid="ignore"):
        louder = np.sqrt(cost / np.maximum(alone - noise_free, 0.0))
        needed = accountant.quieter(louder)
    needed = np.where(np.isfinite(accountant.epsilon), needed, np.inf)
    for i, value in enumerate(alone.tolist()):
        budget = float(accountant.epsilon[i]) if hidden else None
        found.append(
            OwnerForecast(
                owner=who.numbers[i],
                name=names[i],
                records=int(records[i]),
                epsilon=budget,
                epsilon_spent=float(spent[i]) if hidden else inf,
                alone=value,
                profits=None if abs(value - expected) <= half_width > 0 else expected < value,
                epsilon_needed=float(needed[i]) if value > noise_free else None,
            )
        )
    return found
