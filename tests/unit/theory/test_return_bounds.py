"""Bounds on how often tasks return: what is exact lies between them, and where they are one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncdp_sim.theory.formulas.queueing import closed_network, return_bounds

SHARES = (0.5, 0.3, 0.2)
TIMES = st.lists(st.floats(0.01, 10.0), min_size=3, max_size=3)


@given(tasks=st.integers(1, 60), service=TIMES, travel=TIMES)
def test_the_product_form_is_between(tasks, service, travel):
    exact = closed_network(tasks, SHARES, service, travel).throughput
    low, high = return_bounds(tasks, SHARES, service, travel)
    assert low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)


@given(service=TIMES, travel=TIMES)
def test_one_task_or_none_that_waits_leaves_one_value(service, travel):
    once = np.dot(SHARES, np.add(service, travel))
    assert return_bounds(1, SHARES, service, travel) == pytest.approx((1 / once,) * 2)
    alone = 7 / np.dot(SHARES, travel)
    assert return_bounds(7, SHARES, (0.0,) * 3, travel) == pytest.approx((alone,) * 2)


def test_with_many_tasks_the_busiest_owner_bounds():
    """By hand: D = 0.05 + 0.15 + 0.2 = 0.4, the busiest 0.2; queries travel for Z = 0.1."""
    low, high = return_bounds(10, SHARES, (0.1, 0.5, 1.0), (0.1,) * 3)
    assert (low, high) == (pytest.approx(10 / 4.1), pytest.approx(5))
    assert return_bounds(2, SHARES, (0.1, 0.5, 1.0), (0.1,) * 3)[1] == pytest.approx(2 / 0.5)
