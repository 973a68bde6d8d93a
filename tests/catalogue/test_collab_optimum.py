"""Algorithm 1 without noise: the verdicts on it, and the closed form of what it leaves."""

import numpy as np
import pytest
from scipy.special import gammaln

from scenarios.papers import FIGURES, collab_optimum
from scenarios.papers.collab_optimum import SMOOTH
from tests.catalogue.verdicts import once

STRONG, CONSTANT = "ρ/T² = 1/(2L)", "constant 1/λ"
pytestmark = pytest.mark.long

[FIGURE] = collab_optimum.FIGURES


optimum = once(FIGURE)


def test_theta_star_is_not_found_at_the_smooth_step_alone(optimum):
    assert optimum.differ == {f"{SMOOTH}: ψ after T updates: θ* is found": "differs"}
    assert optimum.drawn == ["convergence-by-update"]


def test_it_is_one_of_the_verdicts():
    assert FIGURE in FIGURES


@pytest.mark.parametrize("name", [SMOOTH, STRONG])
def test_what_is_left_of_the_start_is_a_quotient_of_gammas(optimum, name):
    """Π_{j≤k} (1 − rc/j) = Γ(k + 1 − rc)/(Γ(1 − rc) k!), to the least curvature's digits."""
    found = collab_optimum.result(optimum.sweep, name)
    scenario, objective = collab_optimum.problem(found)
    values, vectors = np.linalg.eigh(objective.hessian)
    reach = scenario.algorithm.rho / scenario.run.updates**2 * 2 * values
    k, psi = collab_optimum.psi(found)
    logs = (gammaln(np.subtract.outer(k + 1, reach)) - gammaln(k + 1.0)[:, None]) - gammaln(
        1 - reach
    )
    first = vectors.T @ objective.optimum
    expected = (first**2 * np.exp(2 * logs)) @ values / objective.fitness(objective.optimum)
    assert psi == pytest.approx(expected, rel=1e-6)


def test_theta_star_is_the_solver_s(optimum):
    far, near = (collab_optimum.result(optimum.sweep, name) for name in (SMOOTH, CONSTANT))
    assert collab_optimum.distance(near) < 1e-9
    assert collab_optimum.distance(far) > 0.1
