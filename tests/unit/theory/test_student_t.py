"""Student's quantile, against SciPy's."""

import pytest
from scipy.special import stdtrit

from asyncdp_sim.theory.formulas.student_t import t_quantile


@pytest.mark.parametrize("freedom", [*range(1, 12), 99, 100, 9999])
def test_the_quantile_is_that_of_scipy(freedom: int) -> None:
    for share in (0.6, 0.75, 0.9, 0.975, 0.9995):
        assert t_quantile(freedom, share) == pytest.approx(stdtrit(freedom, share), rel=1e-11)
    assert t_quantile(freedom, 0.5) == 0
