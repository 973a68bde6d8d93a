"""The kernel: ticks, the order of events, and activities that wait, end and fail."""

from collections.abc import Generator
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import simpy
from simpy.core import EmptySchedule
from simpy.events import Event

from asyncdp_sim.core.kernel import Activity, Kernel, Priority, Signal
from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, block_to_ticks, to_ticks
from tests.together import together

# The kernel: ticks, the order of events, and activities that wait, end and fail.

# Order is (tick, priority, insertion), on an integer clock with a half-open horizon.


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


def test_priorities_have_the_order_that_the_network_needs():
    order = "SIMPY_URGENT SIMPY_NORMAL ANSWER_END TURN GRADIENT_READY BROADCAST QUERY_ARRIVES"
    order += " TIMEOUT REQUEST_ARRIVES TRANSMISSION_BEGINS PRESENCE CLOCK_TICK"
    assert [p.name for p in sorted(Priority)] == order.split()


@together
@pytest.mark.parametrize(("first", "second"), list(combinations(sorted(Priority), 2)))
def test_at_one_tick_each_priority_goes_before_the_later_ones(first, second):
    plan = [(3, second, "second"), (3, first, "first")]
    assert told(Kernel(), plan) == ["first", "second"]


def test_a_signal_waits_until_it_is_fired_and_then_takes_its_place():
    """Fired at tick 3, it happens between the answer's end and the clocks of that tick."""
    kernel = Kernel()
    signal = Signal(kernel)
    happened = []

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


def test_within_a_class_the_first_scheduled_happens_first():
    names = [str(number) for number in range(50)]
    assert told(Kernel(), [(1, Priority.CLOCK_TICK, name) for name in names]) == names


def test_shuffled_ties_stay_within_their_class():
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
def test_the_horizon_is_half_open(horizon, seen):
    kernel = Kernel()
    happened = []

    def activity() -> Activity:
        yield kernel.at(10, Priority.ANSWER_END)
        happened.append(kernel.now)

    kernel.start(activity())
    assert kernel.run_before(horizon) is False
    assert happened == seen


def test_stop_ends_the_run_before_the_next_event_of_the_same_tick():
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


# Activities start without an event, end without one, and never fail silently.


class BrokenError(Exception):
    """What the activities and processes of this module raise."""


def test_start_runs_up_to_the_first_event_without_an_event():
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
def test_a_tick_and_a_priority_happen_as_an_event_would(seed):
    """In the same place among others, at shuffled ties too, however an activity says it."""
    plans = [[(3, Priority.TURN), (5, Priority.TURN)], [(5, Priority.TURN), (5, Priority.TIMEOUT)]]
    plans += [[(5, Priority.ANSWER_END), (9, Priority.TURN)], [(5, Priority.TURN)]]
    orders = []
    for events in (set(), {0, 2}, {1, 3}, {0, 1, 2, 3}):
        kernel = Kernel(None if seed is None else np.random.default_rng(seed))
        seen = []

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


def test_an_activity_that_waits_for_nothing_takes_no_event():
    kernel = Kernel()
    done = []

    def activity() -> Activity:
        done.append("all of it")
        return
        yield

    kernel.start(activity())
    assert done == ["all of it"]
    assert kernel._queue == []


def test_a_process_that_is_waited_for_still_wakes_its_waiter():
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


def test_an_activity_can_wait_for_an_event_that_another_triggers():
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


@pytest.mark.parametrize("horizon", [4, LAST_TICK], ids=["in the last event", "before others"])
@pytest.mark.parametrize("ties", [None, np.random.default_rng(1)])
def test_a_failing_activity_ends_the_run(ties, horizon):
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
        kernel.run_before(horizon)
    assert happened == []
    assert kernel.now == 3


# Ticks and time units.


def test_a_unit_has_a_thousand_million_ticks():
    assert TICKS_PER_UNIT == 10**9
    assert to_ticks(1) == 10**9
    assert to_ticks(0.1) == 10**8
    assert to_ticks(1e-9) == 1
    assert type(to_ticks(1.0)) is int


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_only_finite_times_have_ticks(bad):
    with pytest.raises(ValueError, match="must be finite"):
        to_ticks(bad)


def test_a_block_rounds_like_a_single_duration():
    halves = (np.arange(1000) + 0.5) / TICKS_PER_UNIT
    drawn = np.random.default_rng(1).exponential(1e-6, 1000)
    for units in (halves, drawn, drawn * 1e6):
        block = block_to_ticks(units).tolist()
        assert block == [to_ticks(float(u)) for u in units]
        assert all(type(tick) is int for tick in block)


def test_a_block_beyond_the_last_tick_ends_there():
    """Never a negative duration, which would take the clock back."""
    assert block_to_ticks(np.array([1.0, 1e10, 1e300])).tolist() == [10**9, LAST_TICK, LAST_TICK]


# The kernel as an environment of SimPy: its users' calls work, among activities too.

Algorithm = Generator[simpy.Event, Any, Any]


def waits(env: Kernel, ticks: int, value: object) -> Algorithm:
    yield env.timeout(ticks)
    return value


def three_waits(env: Kernel, seen: list[int]) -> Activity:
    """An activity that waits in each way: for a tick, a moment and a timeout."""
    yield 2, Priority.CLOCK_TICK
    seen.append(env.tick)
    yield env.at(4, Priority.CLOCK_TICK)
    seen.append(env.tick)
    yield env.timeout(2)
    seen.append(env.tick)


def test_step_and_peek_go_from_one_event_to_the_next():
    env = Kernel()
    seen = []
    env.start(three_waits(env, seen))
    env.timeout(3)
    peeked = []
    while env.peek() < simpy.core.Infinity:
        peeked.append(env.peek())
        env.step()
        assert env.now == env.tick == peeked[-1]
    assert (peeked, seen) == ([2, 3, 4, 6], [2, 4, 6])
    with pytest.raises(EmptySchedule):
        env.step()


def test_run_until_a_tick_leaves_what_happens_at_that_tick():
    env = Kernel()
    seen = []
    env.start(three_waits(env, seen))
    env.run(until=4)
    assert (env.now, seen) == (4, [2])
    env.run(until=100)
    assert (env.now, seen) == (100, [2, 4, 6])
    with pytest.raises(ValueError, match="must be greater than the current simulation time"):
        env.run(until=100)


def test_run_until_an_event_returns_its_value():
    env = Kernel()
    assert env.run(until=env.process(waits(env, 3, "done"))) == "done"
    assert env.now == 3
    with pytest.raises(RuntimeError, match="No scheduled events left"):
        env.run(until=env.event())


@pytest.mark.parametrize("resume", [Kernel.run, Kernel.run_before])
def test_an_activity_behind_the_end_of_a_run_goes_on_in_the_next(resume):
    env = Kernel()
    seen = []
    end = env.timeout(3)

    def activity() -> Activity:
        yield 1, Priority.TURN
        yield end
        seen.append(env.tick)

    env.start(activity())
    env.run(until=end)
    assert seen == []
    resume(env)
    assert seen == [3]


@pytest.mark.parametrize("until", [0.5, "3.5"])
def test_the_clock_counts_whole_ticks_alone(until):
    env = Kernel()
    for wrong in (lambda: env.run(until), lambda: simpy.events.Timeout(env, float(until))):
        with pytest.raises(TypeError, match="allowed is a whole number of ticks"):
            wrong()


def test_interrupts_and_the_active_process():
    env = Kernel()

    def sleeper() -> Algorithm:
        try:
            yield env.timeout(10)
        except simpy.Interrupt as interrupt:
            return env.now, interrupt.cause, env.active_process

    def waker(process: simpy.Process) -> Algorithm:
        yield env.timeout(4)
        process.interrupt("up")

    asleep = env.process(sleeper())
    env.process(waker(asleep))
    assert env.run(until=asleep) == (4, "up", asleep)
    assert env.active_process is None


@pytest.mark.parametrize("run", [Kernel.run, Kernel.run_before])
def test_an_exception_that_no_process_handles_ends_the_run(run):
    env = Kernel()

    def child() -> Algorithm:
        yield env.timeout(1)
        raise BrokenError("child")

    def careful() -> Algorithm:
        with pytest.raises(BrokenError, match="child"):
            yield env.process(child())

    env.process(careful())
    run(env)
    env.process(child())
    with pytest.raises(BrokenError, match="child"):
        run(env)
    assert env.now == 2
