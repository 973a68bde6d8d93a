"""Activities start without an event, end without one, and never fail silently."""

import numpy as np
import pytest
from simpy.events import Event

from asyncdp_sim.core.kernel import Activity, Kernel, Priority


class BrokenError(Exception):
    """What the activities of this module raise."""


def test_start_runs_up_to_the_first_event_without_an_event() -> None:
    kernel = Kernel()
    done = []

    def activity() -> Activity:
        done.append("before")
        yield kernel.at(5, Priority.CLOCK_TICK)
        done.append("after")

    kernel.start(activity())
    assert done == ["before"]
    assert [(tick, priority) for tick, priority, *_ in kernel._queue] == [(5, Priority.CLOCK_TICK)]
    kernel.run_before()
    assert done == ["before", "after"]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_tick_and_a_priority_happen_as_an_event_would(seed: int | None) -> None:
    """In the same place among others, at shuffled ties too, however an activity says it."""
    plans = [[(3, Priority.TURN), (5, Priority.TURN)], [(5, Priority.TURN), (5, Priority.TIMEOUT)]]
    plans += [[(5, Priority.ANSWER_END), (9, Priority.TURN)], [(5, Priority.TURN)]]
    orders = []
    for events in (set(), {0, 2}, {1, 3}, {0, 1, 2, 3}):
        kernel = Kernel(None if seed is None else np.random.default_rng(seed))
        seen: list[tuple[int, int]] = []

        def activity(number: int, kernel=kernel, seen=seen, events=events) -> Activity:
            for tick, priority in plans[number]:
                yield kernel.at(tick, priority) if number in events else (tick, priority)
                seen.append((kernel.tick, number))

        for number in range(len(plans)):
            kernel.start(activity(number))
        assert not kernel.run_before(9)
        orders.append(seen)
    assert orders == [orders[0]] * 4
    assert [tick for tick, _ in orders[0]] == [3, 5, 5, 5, 5, 5]


def test_an_activity_that_waits_for_nothing_takes_no_event() -> None:
    kernel = Kernel()
    done = []

    def activity() -> Activity:
        done.append("all of it")
        return
        yield

    kernel.start(activity())
    assert done == ["all of it"]
    assert kernel._queue == []


def test_a_process_that_is_waited_for_still_wakes_its_waiter() -> None:
    kernel = Kernel()
    ticks = []

    def child() -> Activity:
        yield kernel.after(4, Priority.GRADIENT_READY)

    def parent() -> Activity:
        yield kernel.process(child())
        ticks.append(kernel.now)

    kernel.start(parent())
    kernel.run_before()
    assert ticks == [4]


def test_an_activity_can_wait_for_an_event_that_another_triggers() -> None:
    kernel = Kernel()
    freed = Event(kernel)
    ticks = []

    def waiter() -> Activity:
        yield freed
        ticks.append(kernel.now)

    def other() -> Activity:
        yield kernel.at(7, Priority.ANSWER_END)
        freed.succeed()

    kernel.start(waiter())
    kernel.start(other())
    kernel.run_before()
    assert ticks == [7]


@pytest.mark.parametrize("ties", [None, np.random.default_rng(1)])
def test_a_failing_activity_ends_the_run(ties: np.random.Generator | None) -> None:
    kernel = Kernel(ties)
    happened = []

    def failing() -> Activity:
        yield kernel.at(3, Priority.CLOCK_TICK)
        raise BrokenError

    def other() -> Activity:
        yield kernel.at(4, Priority.ANSWER_END)
        happened.append(kernel.now)

    kernel.start(other())
    kernel.start(failing())
    with pytest.raises(BrokenError):
        kernel.run_before()
    assert happened == []
    assert kernel.now == 3


def test_a_failure_in_the_last_event_before_the_horizon_is_raised() -> None:
    kernel = Kernel()

    def failing() -> Activity:
        yield kernel.at(3, Priority.CLOCK_TICK)
        raise BrokenError

    kernel.start(failing())
    with pytest.raises(BrokenError):
        kernel.run_before(4)
