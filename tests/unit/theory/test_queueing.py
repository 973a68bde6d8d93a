import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.queueing import fifo_wait
from tests.theory.queueing import constant_tail, exponential_tail
from tests.verification.chains import flow, stationary


def crommelin(rate, time):
    """P(W > t) of M/D/1, D = 1, by the alternating series with 60 digits."""
    with localcontext() as context:
        context.prec = 60
        load, t = Decimal(rate), Decimal(time)
        total = Decimal(0)
        for j in range(math.floor(time) + 1):
            x = load * (t - j)
            total += (-x) ** j * x.exp() / math.factorial(j) if j else x.exp()
        return float(1 - (1 - load) * total)


@pytest.mark.parametrize("load", [0.05, 0.3, 0.7, 0.95, 0.999])
@pytest.mark.parametrize("time", [0.0, 0.25, 1.0, 1.75, 3.0, 7.375, 19.9, 20.0, 40.0])
def test_constant_service_against_the_alternating_series(load, time):
    exact = crommelin(load, time)
    assert constant_tail(load, 1.0, time) == pytest.approx(exact, rel=1e-12)
    assert constant_tail(load / 0.125, 0.125, 0.125 * time) == pytest.approx(exact, rel=1e-12)


def test_constant_service_at_the_start_and_within_the_first_service():
    assert constant_tail(0.6, 1.0, 0.0) == pytest.approx(0.6, rel=1e-14)
    for t in (0.1, 0.5, 0.999):
        assert constant_tail(0.6, 1.0, t) == pytest.approx(1 - 0.4 * math.exp(0.6 * t), rel=1e-13)


def test_constant_service_is_continuous_falls_and_decays_exponentially():
    below, above = constant_tail(0.8, 0.1, 0.3 * (1 - 1e-13)), constant_tail(0.8, 0.1, 0.3)
    assert below == pytest.approx(above, rel=1e-12)
    tails = [constant_tail(0.9, 1.0, t) for t in np.linspace(0, 400, 101)]
    assert all(b < a for a, b in pairwise(tails))
    root = 0.207146  # of 0.9 (e^x − 1) = x
    root -= (0.9 * math.expm1(root) - root) / (0.9 * math.exp(root) - 1)
    root -= (0.9 * math.expm1(root) - root) / (0.9 * math.exp(root) - 1)
    assert math.log(tails[-2] / tails[-1]) == pytest.approx(4 * root, rel=1e-10)


@pytest.mark.parametrize(
    ("tail", "second", "third"), [(exponential_tail, 2, 6), (constant_tail, 1, 1)]
)
@pytest.mark.parametrize("rate", [0.4, 1.4])
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


def test_simulated_waits():
    """Gamma service with cv² = 1/3, at ρ' = 0.6; 800 runs, one mean each."""
    draw, runs, rate = np.random.default_rng(4), 800, 0.6
    wait, sums = np.zeros(runs), np.zeros((3, runs))
    for number in range(1700):
        if number >= 200:
            sums += wait, wait**2, wait > 2.0
        wait = wait + draw.gamma(3.0, 1 / 3, runs) - draw.exponential(1 / rate, runs)
        np.maximum(wait, 0.0, out=wait)
    exact = fifo_wait(rate, 1.0, 4 / 3, 20 / 9)
    for total, value, allowed in zip(
        sums, (exact.mean, exact.second_moment), (0.003, 0.01), strict=False
    ):
        mean, error = total.mean() / 1500, total.std() / 1500 / math.sqrt(runs)
        assert error < 1.5 * allowed * value
        assert abs(mean - value) < 4 * error
    between = (exponential_tail(rate, 1.0, 2.0), constant_tail(rate, 1.0, 2.0))
    assert min(between) < sums[2].mean() / 1500 < max(between)


def test_refused():
    with pytest.raises(SpecError, match=r"utilisation: given rate·mean = 1.0; .* < 1"):
        exponential_tail(2.0, 0.5, 1.0)
    with pytest.raises(SpecError, match=r"utilisation: given rate·service = 1\.5"):
        constant_tail(3.0, 0.5, 1.0)
    with pytest.raises(SpecError, match="utilisation"):
        fifo_wait(3.0, 0.5, 1.0, 1.0)
    with pytest.raises(SpecError, match="rate"):
        fifo_wait(0.0, 0.5, 1.0, 1.0)
    with pytest.raises(SpecError, match="time"):
        constant_tail(1.0, 0.5, -1.0)
    with pytest.raises(SpecError, match="time"):
        exponential_tail(1.0, 0.5, math.inf)
    with pytest.raises(SpecError, match=r"second: given 0.2; .* ≥ 0.25"):
        fifo_wait(1.0, 0.5, 0.2, 1.0)
    with pytest.raises(SpecError, match=r"third: given 0.4; .* ≥ 0.5"):
        fifo_wait(1.0, 0.5, 0.5, 0.4)
