"""The attacker's curve under (ε, δ), beside the largest power that the two inequalities allow."""

import numpy as np
import pytest
from scipy.optimize import linprog

from asyncdp_sim.privacy.accountants.attacker import of_pure


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2, 0.6])
@pytest.mark.parametrize("f", [0.01, 0.3, 0.55, 0.9, 0.999])
def test_it_is_the_largest_power(epsilon, delta, f):
    """A mutant lived without δ, or without 0, in 1 − e^−ε max(1 − f − δ, 0).

    t ≤ e^ε f + δ, and of the complement 1 − f ≤ e^ε (1 − t) + δ; 0 ≤ t ≤ 1.
    """
    grow = np.exp(epsilon)
    found = linprog([-1.0], A_ub=[[1.0], [grow]], b_ub=[grow * f + delta, grow + delta - (1 - f)])
    expected = min(found.x[0], 1.0)
    assert float(of_pure(np.array(epsilon), delta, f).power) == pytest.approx(expected, abs=1e-9)
