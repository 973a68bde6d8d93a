"""Student's quantile, where it has a closed form and as tables print it."""

from math import pi, sqrt, tan

import pytest

from asyncdp_sim.theory.formulas.student_t import t_quantile


@pytest.mark.parametrize("share", [0.5, 0.6, 0.9, 0.975, 0.9995])
def test_one_and_two_degrees_of_freedom(share: float) -> None:
    assert t_quantile(1, share) == pytest.approx(tan(pi * (share - 0.5)), rel=1e-9, abs=1e-12)
    other = 4 * share * (1 - share)
    assert t_quantile(2, share) == pytest.approx(
        (2 * share - 1) * sqrt(2 / other), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(
    ("freedom", "printed"), [(3, 3.182), (9, 2.262), (30, 2.042), (120, 1.980), (10**6, 1.960)]
)
def test_as_printed(freedom: int, printed: float) -> None:
    assert t_quantile(freedom, 0.975) == pytest.approx(printed, abs=5e-4)
