import numpy as np
import pytest

from asyncdp_sim.theory.formulas.queueing import fifo_wait
from tests.one_in import one_in
from tests.theory.queueing import constant_tail, exponential_tail
from tests.verification.chains import flow, stationary


@pytest.mark.parametrize(
    ("tail", "second", "third"), [(exponential_tail, 2, 6), (constant_tail, 1, 1)]
)
@one_in(2, "rate", [0.4, 1.4])
def test_moments_are_integrals_of_the_tail(tail, second, third, rate):
    m = 0.5
    wait = fifo_wait(rate, m, second * m**2, third * m**3)
    nodes, weights = np.polynomial.legendre.leggauss(8)  # in each service time: smooth there
    times = np.add.outer(m * np.arange(80), m / 2 * (1 + nodes))
    beyond = np.array([[tail(rate, m, t) for t in row] for row in times]) * m / 2
    mean, square = (beyond @ weights).sum(), (2 * times * beyond @ weights).sum()
    assert wait.mean == pytest.approx(mean, rel=1e-9)
    assert wait.second_moment == pytest.approx(square, rel=1e-8)
    assert wait.variance == pytest.approx(square - mean**2, rel=1e-8)
    assert wait.utilisation == tail(rate, m, 0.0) == pytest.approx(rate * m)


def test_mean_wait_by_a_markov_chain():
    """Erlang-2 service in two stages; Little's law for those that wait, up to 150 of them."""

    def rates(state):
        number, stage = state
        if number < 150:
            yield 0.6, (number + 1, stage if number else 1)
        if number:
            yield 2.0, (number, 2) if stage == 1 else (number - 1, 1 if number > 1 else 0)

    law = stationary(rates, (0, 0))
    waiting = flow(law, lambda state: max(state[0] - 1, 0))
    assert fifo_wait(0.6, 1.0, 1.5, 3.0).mean == pytest.approx(waiting / 0.6, rel=1e-10)
