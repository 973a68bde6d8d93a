"""Order is (tick, priority, insertion), on an integer clock with a half-open horizon."""

from itertools import combinations

import numpy as np
import pytest

from asyncdp_sim.core.kernel import Activity, Kernel, Priority, Signal
from asyncdp_sim.core.units import LAST_TICK
from tests.together import together


def told(kernel: Kernel, plan: list[tuple[int, Priority, str]]) -> list[str]:
    """Schedule in the order of the plan and return the names in the order of happening."""
    happened: list[str] = []

    def wait(tick: int, priority: Priority, name: str) -> Activity:
        yield kernel.at(tick, priority)
        happened.append(name)

    for step in plan:
        kernel.start(wait(*step))
    kernel.run_before()
    return happened


def test_priorities_have_the_order_that_the_network_needs() -> None:
    assert [p.name for p in sorted(Priority)] == [
        "SIMPY_URGENT",
        "SIMPY_NORMAL",
        "ANSWER_END",
        "TURN",
        "GRADIENT_READY",
        "BROADCAST",
        "QUERY_ARRIVES",
        "TIMEOUT",
        "REQUEST_ARRIVES",
        "TRANSMISSION_BEGINS",
        "PRESENCE",
        "CLOCK_TICK",
    ]


@together
@pytest.mark.parametrize(("first", "second"), list(combinations(sorted(Priority), 2)))
def test_at_one_tick_each_priority_goes_before_the_later_ones(
    first: Priority, second: Priority
) -> None:
    plan = [(3, second, "second"), (3, first, "first")]
    assert told(Kernel(), plan) == ["first", "second"]


def test_a_signal_waits_until_it_is_fired_and_then_takes_its_place() -> None:
    """Fired at tick 3, it happens between the answer's end and the clocks of that tick."""
    kernel = Kernel()
    signal = Signal(kernel)
    happened: list[tuple[int, str]] = []

    def listen(name: str) -> Activity:
        yield signal
        happened.append((kernel.now, name))

    def fire() -> Activity:
        yield kernel.at(3, Priority.ANSWER_END)
        happened.append((kernel.now, "fired"))
        signal.fire(5, Priority.TURN)

    def stand_by(tick: int, priority: Priority) -> Activity:
        yield kernel.at(tick, priority)
        happened.append((kernel.now, priority.name))

    for name in ("one", "two"):
        kernel.start(listen(name))
    for priority in (Priority.CLOCK_TICK, Priority.ANSWER_END):
        kernel.start(stand_by(5, priority))
    kernel.start(fire())
    kernel.run_before()
    assert happened == [
        (3, "fired"),
        (5, "ANSWER_END"),
        (5, "one"),
        (5, "two"),
        (5, "CLOCK_TICK"),
    ]


def test_within_a_class_the_first_scheduled_happens_first() -> None:
    names = [str(number) for number in range(50)]
    assert told(Kernel(), [(1, Priority.CLOCK_TICK, name) for name in names]) == names


def test_shuffled_ties_stay_within_their_class() -> None:
    plan = [(1, Priority.CLOCK_TICK, f"t{i}") for i in range(6)]
    plan += [(1, Priority.ANSWER_END, f"a{i}") for i in range(6)]
    orders = set()
    for seed in range(20):
        order = told(Kernel(np.random.default_rng(seed)), plan)
        assert order == told(Kernel(np.random.default_rng(seed)), plan)
        assert sorted(order[:6]) == [f"a{i}" for i in range(6)]
        assert sorted(order[6:]) == [f"t{i}" for i in range(6)]
        orders.add(tuple(order))
    assert len(orders) > 10


@pytest.mark.parametrize(("horizon", "seen"), [(9, []), (10, []), (11, [10]), (LAST_TICK, [10])])
def test_the_horizon_is_half_open(horizon: int, seen: list[int]) -> None:
    kernel = Kernel()
    happened = []

    def activity() -> Activity:
        yield kernel.at(10, Priority.ANSWER_END)
        happened.append(kernel.now)

    kernel.start(activity())
    assert kernel.run_before(horizon) is False
    assert happened == seen


def test_stop_ends_the_run_before_the_next_event_of_the_same_tick() -> None:
    kernel = Kernel()
    happened = []

    def activity(name: str) -> Activity:
        yield kernel.at(1, Priority.CLOCK_TICK)
        happened.append(name)
        kernel.stop()
        happened.append(f"{name} to its end")

    kernel.start(activity("first"))
    kernel.start(activity("second"))
    assert kernel.run_before() is True
    assert happened == ["first", "first to its end"]
