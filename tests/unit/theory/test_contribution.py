import pytest

from asyncdp_sim.theory.formulas.exchanges import mean_until_all


def test_mean_until_all():
    assert mean_until_all(1) == 1
    assert mean_until_all(2) == pytest.approx(3)
    assert mean_until_all(3) == pytest.approx(5.5)
    assert mean_until_all(86) == pytest.approx(86 * sum(1 / j for j in range(1, 87)), rel=1e-14)
