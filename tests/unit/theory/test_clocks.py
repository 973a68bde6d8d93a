import math

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.clocks import merged
from tests.theory.clocks import merged_equal


def test_one_clock_is_itself():
    clock = merged([2.0])
    assert (clock.rate, clock.probability, clock.mean_gap) == (2.0, (1.0,), 0.5)
    assert clock.repeat_probability == 1
    assert clock.gap_survival(0.5) == pytest.approx(math.exp(-1), rel=1e-15)


def test_equal_clocks_choose_uniformly():
    clock = merged_equal(86, 1.0)
    assert clock.rate == 86
    assert clock.repeat_probability == pytest.approx(1 / 86, rel=1e-14)
    assert clock == merged([1.0] * 86)


def test_unequal_clocks():
    clock = merged([3.0, 1.0])
    assert clock.probability == (0.75, 0.25)
    assert clock.repeat_probability == 0.625
    assert clock.mean_count(2.5) == 10
    assert sum(merged(np.arange(1.0, 50).tolist()).probability) == pytest.approx(1, abs=1e-14)


def test_survival_begins_at_one_and_has_the_mean_as_its_area():
    clock = merged([0.5, 0.7])
    assert clock.gap_survival(0) == 1
    time = np.linspace(0, 40, 400_001)
    area = np.trapezoid([clock.gap_survival(t) for t in time], time)
    assert area == pytest.approx(clock.mean_gap, rel=1e-8)


@pytest.mark.parametrize("rates", [[], [0.0], [1.0, -1.0], [math.inf], [math.nan]])
def test_bad_rates_are_refused(rates):
    with pytest.raises(SpecError, match="rates"):
        merged(rates)


def test_bad_numbers_are_refused():
    with pytest.raises(SpecError, match="n_owners: given 0; allowed is a whole number ≥ 1"):
        merged_equal(0, 1.0)
    with pytest.raises(SpecError, match="n_owners"):
        merged_equal(True, 1.0)
    with pytest.raises(SpecError, match="n_owners"):
        merged_equal(2.5, 1.0)
    with pytest.raises(SpecError, match="rate: given -1"):
        merged_equal(2, -1)
    with pytest.raises(SpecError, match="time"):
        merged([1.0]).gap_survival(-1)
    with pytest.raises(SpecError, match="time"):
        merged([1.0]).mean_count(math.inf)
