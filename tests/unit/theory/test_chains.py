import math

import pytest

from tests.verification.chains import explore, flow, stationary


@pytest.mark.parametrize("arrival", [0.5, 1.0, 3.0])
def test_mm1k_is_geometric(arrival):
    def rates(number):
        if number < 6:
            yield arrival, number + 1
        if number > 0:
            yield 1.0, number - 1

    law = stationary(rates, 0)
    weights = [arrival**n for n in range(7)]
    assert list(sorted(law)) == list(range(7))
    for n, weight in enumerate(weights):
        assert law[n] == pytest.approx(weight / sum(weights), rel=1e-12)
    served = flow(law, lambda n: 1.0 if n else 0.0)
    assert served == pytest.approx(arrival * (1 - law[6]), rel=1e-12)


def test_erlang_b():
    def rates(busy):
        if busy < 4:
            yield 2.5, busy + 1
        yield busy * 1.0, busy - 1  # rate 0 where nobody is served: no state −1

    law = stationary(rates, 0)
    blocked = (2.5**4 / math.factorial(4)) / sum(2.5**k / math.factorial(k) for k in range(5))
    assert set(law) == {0, 1, 2, 3, 4}
    assert law[4] == pytest.approx(blocked, rel=1e-13)
    assert flow(law, lambda busy: busy) == pytest.approx(2.5 * (1 - blocked), rel=1e-13)


def test_machine_repair_with_named_machines():
    """Five machines fail at rate 0.3, one repairman: the state is the queue in its order."""
    machines = range(5)

    def rates(queue):
        for machine in machines:
            if machine not in queue:
                yield 0.3, (*queue, machine)
        if queue:
            yield 1.0, queue[1:]

    law = stationary(rates, ())
    weights = [math.perm(5, n) * 0.3**n for n in range(6)]
    assert len(law) == sum(math.perm(5, n) for n in range(6))
    for n, weight in enumerate(weights):
        down = flow(law, lambda queue, n=n: float(len(queue) == n))
        assert down == pytest.approx(weight / sum(weights), rel=1e-12)


def test_rates_to_one_state_add_and_loops_change_nothing():
    def rates(state):
        return [(1.0, 1), (2.0, 1), (7.0, 0)] if state == 0 else [(1.0, 0)]

    assert explore(rates, 0) == {0: {1: 3.0}, 1: {0: 1.0}}
    assert stationary(rates, 0) == pytest.approx({0: 0.25, 1: 0.75}, rel=1e-14)


def test_one_state_alone():
    assert stationary(lambda state: [(2.0, state)], "only") == {"only": 1.0}


def test_a_chain_that_does_not_return_is_refused():
    with pytest.raises(ValueError, match="reducible: 1 does not lead back to 0"):
        stationary(lambda n: [(1.0, n + 1)] if n < 3 else [], 0)
    with pytest.raises(ValueError, match="reducible"):  # the start is left for good
        stationary(lambda n: [(1.0, 3 - n if n else 1)], 0)


def test_too_many_states_are_refused():
    def rates(n):
        return [(1.0, n + 1), (1.0, max(n - 1, 0))]

    with pytest.raises(ValueError, match="more than 3000 states"):
        stationary(rates, 0)
    ring = stationary(lambda n: [(1.0, (n + 1) % 5)], 0, largest=5)
    assert list(ring.values()) == pytest.approx([0.2] * 5, rel=1e-14)
    with pytest.raises(ValueError, match="more than 4"):
        explore(lambda n: [(1.0, (n + 1) % 5)], 0, largest=4)


@pytest.mark.parametrize("rate", [-1.0, math.nan, math.inf])
def test_bad_rates_are_refused(rate):
    with pytest.raises(ValueError, match=r"rate .* from 0 to 1"):
        stationary(lambda n: [(rate, 1 - n)], 0)
