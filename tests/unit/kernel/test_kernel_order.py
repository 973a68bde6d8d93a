"""The kernel: ticks, the order of events, and activities that wait, end and fail."""

from itertools import combinations

import numpy as np
import pytest
import simpy
from simpy.core import EmptySchedule
from simpy.events import Event

from asyncdp_sim.core.kernel import Kernel, Priority, Signal
from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, block_to_ticks, to_ticks
from tests.together import together

# Order is (tick, priority, insertion), on an integer clock with a half-open horizon.


class Noted(Kernel):
    """A kernel that keeps when what happened."""

    def __init__(self, ties=None):
        super().__init__(ties)
        self.seen = []

    @property
    def ticks(self):
        return [tick for tick, _ in self.seen]

    def note(self, name):
        self.seen.append((self.now, name))

    def waits(self, name, times):
        """Wait for ticks with priorities, or for events, and note each."""
        for time in times:
            yield time
            self.note(name)


def told(kernel, plan):
    """Schedule in the order of the plan and return the names in the order of happening."""
    for tick, priority, name in plan:
        kernel.start(kernel.waits(name, [kernel.at(tick, priority)]))
    kernel.run_before()
    return [name for _, name in kernel.seen]


def test_priorities_have_the_order_that_the_network_needs():
    order = "SIMPY_URGENT SIMPY_NORMAL ANSWER_END TURN GRADIENT_READY BROADCAST QUERY_ARRIVES"
    order += " TIMEOUT REQUEST_ARRIVES TRANSMISSION_BEGINS PRESENCE CLOCK_TICK"
    assert [p.name for p in sorted(Priority)] == order.split()


@together
@pytest.mark.parametrize(("first", "second"), list(combinations(sorted(Priority), 2)))
def test_at_one_tick_each_priority_goes_before_the_later_ones(first, second):
    plan = [(3, second, "second"), (3, first, "first")]
    assert told(Noted(), plan) == ["first", "second"]


def test_a_signal_waits_until_it_is_fired_and_then_takes_its_place():
    """Fired at tick 3, it happens between the answer's end and the clocks of that tick."""
    kernel = Noted()
    signal = Signal(kernel)

    def fire():
        yield kernel.at(3, Priority.ANSWER_END)
        kernel.note("fired")
        signal.fire(5, Priority.TURN)

    for name in ("one", "two"):
        kernel.start(kernel.waits(name, [signal]))
    for priority in (Priority.CLOCK_TICK, Priority.ANSWER_END):
        kernel.start(kernel.waits(priority.name, [kernel.at(5, priority)]))
    kernel.start(fire())
    kernel.run_before()
    later = [(5, name) for name in ("ANSWER_END", "one", "two", "CLOCK_TICK")]
    assert kernel.seen == [(3, "fired"), *later]


def test_within_a_class_the_first_scheduled_happens_first():
    names = [str(number) for number in range(50)]
    assert told(Noted(), [(1, Priority.CLOCK_TICK, name) for name in names]) == names


def test_shuffled_ties_stay_within_their_class():
    plan = [(1, Priority.CLOCK_TICK, f"t{i}") for i in range(6)]
    plan += [(1, Priority.ANSWER_END, f"a{i}") for i in range(6)]
    orders = set()
    for seed in range(20):
        order, again = (told(Noted(np.random.default_rng(seed)), plan) for _ in range(2))
        assert order == again
        assert sorted(order[:6]) == [f"a{i}" for i in range(6)]
        assert sorted(order[6:]) == [f"t{i}" for i in range(6)]
        orders.add(tuple(order))
    assert len(orders) > 10


@pytest.mark.parametrize(("horizon", "seen"), [(9, []), (10, []), (11, [10]), (LAST_TICK, [10])])
def test_the_horizon_is_half_open(horizon, seen):
    kernel = Noted()
    kernel.start(kernel.waits("it", [kernel.at(10, Priority.ANSWER_END)]))
    assert kernel.run_before(horizon) is False
    assert kernel.ticks == seen


def test_stop_ends_the_run_before_the_next_event_of_the_same_tick():
    kernel = Noted()

    def activity(name):
        yield kernel.at(1, Priority.CLOCK_TICK)
        kernel.note(name)
        kernel.stop()
        kernel.note(f"{name} to its end")

    kernel.start(activity("first"))
    kernel.start(activity("second"))
    assert kernel.run_before() is True
    assert kernel.seen == [(1, "first"), (1, "first to its end")]


# Activities start without an event, end without one, and never fail silently.


class BrokenError(Exception):
    """What the activities and processes of this module raise."""


def test_start_runs_up_to_the_first_event_without_an_event():
    kernel = Noted()

    def activity(*times):
        kernel.note("before")
        yield from kernel.waits("after", times)

    kernel.start(activity())  # it waits for nothing
    assert (kernel.seen, kernel._queue) == ([(0, "before")], [])
    kernel.start(activity(kernel.at(5, Priority.CLOCK_TICK)))
    assert kernel.seen == [(0, "before")] * 2
    assert [(tick, priority) for tick, priority, *_ in kernel._queue] == [(5, Priority.CLOCK_TICK)]
    kernel.run_before()
    assert kernel.seen[2:] == [(5, "after")]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_a_tick_and_a_priority_happen_as_an_event_would(seed):
    """In the same place among others, at shuffled ties too, however an activity says it."""
    plans = [[(3, Priority.TURN), (5, Priority.TURN)], [(5, Priority.TURN), (5, Priority.TIMEOUT)]]
    plans += [[(5, Priority.ANSWER_END), (9, Priority.TURN)], [(5, Priority.TURN)]]
    orders = []
    for events in (set(), {0, 2}, {1, 3}, {0, 1, 2, 3}):
        kernel = Noted(None if seed is None else np.random.default_rng(seed))
        for number, plan in enumerate(plans):
            times = (kernel.at(*when) if number in events else when for when in plan)
            kernel.start(kernel.waits(number, times))
        assert not kernel.run_before(9)
        orders.append(kernel.seen)
    assert orders == [orders[0]] * 4
    assert [tick for tick, _ in orders[0]] == [3, 5, 5, 5, 5, 5]


def test_activities_can_wait_for_a_process_and_for_an_event_that_another_triggers():
    kernel = Noted()
    freed = Event(kernel)

    def child():
        yield kernel.after(4, Priority.GRADIENT_READY)

    def other():
        yield kernel.at(7, Priority.ANSWER_END)
        freed.succeed()

    kernel.start(kernel.waits("parent", [kernel.process(child())]))
    kernel.start(kernel.waits("waiter", [freed]))
    kernel.start(other())
    kernel.run_before()
    assert kernel.seen == [(4, "parent"), (7, "waiter")]


@pytest.mark.parametrize("horizon", [4, LAST_TICK], ids=["in the last event", "before others"])
@pytest.mark.parametrize("ties", [None, np.random.default_rng(1)])
def test_a_failing_activity_ends_the_run(ties, horizon):
    kernel = Noted(ties)

    def failing():
        yield kernel.at(3, Priority.CLOCK_TICK)
        raise BrokenError

    kernel.start(kernel.waits("other", [kernel.at(4, Priority.ANSWER_END)]))
    kernel.start(failing())
    with pytest.raises(BrokenError):
        kernel.run_before(horizon)
    assert (kernel.now, kernel.seen) == (3, [])


# Ticks and time units.


def test_a_unit_has_a_thousand_million_ticks():
    assert TICKS_PER_UNIT == 10**9
    assert [to_ticks(time) for time in (1, 0.1, 1e-9)] == [10**9, 10**8, 1]
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


def three_waits(env):
    """Return times to wait for, each asked for when its turn comes: a tick, a moment, a timeout."""
    yield 2, Priority.CLOCK_TICK
    yield env.at(4, Priority.CLOCK_TICK)
    yield env.timeout(2)


def test_step_and_peek_go_from_one_event_to_the_next():
    env, peeked = Noted(), []
    env.start(env.waits("it", three_waits(env)))
    env.timeout(3)
    while env.peek() < simpy.core.Infinity:
        peeked.append(env.peek())
        env.step()
        assert env.now == env.tick == peeked[-1]
    assert (peeked, env.ticks) == ([2, 3, 4, 6], [2, 4, 6])
    with pytest.raises(EmptySchedule):
        env.step()


def test_run_until_a_tick_leaves_what_happens_at_that_tick():
    env = Noted()
    env.start(env.waits("it", three_waits(env)))
    env.run(until=4)
    assert (env.now, env.ticks) == (4, [2])
    env.run(until=100)
    assert (env.now, env.ticks) == (100, [2, 4, 6])
    with pytest.raises(ValueError, match="must be greater than the current simulation time"):
        env.run(until=100)


def test_run_until_an_event_returns_its_value():
    env = Kernel()

    def process():
        yield env.timeout(3)
        return "done"

    assert env.run(until=env.process(process())) == "done"
    assert env.now == 3
    with pytest.raises(RuntimeError, match="No scheduled events left"):
        env.run(until=env.event())


@pytest.mark.parametrize("resume", [Kernel.run, Kernel.run_before])
def test_an_activity_behind_the_end_of_a_run_goes_on_in_the_next(resume):
    env = Noted()
    end = env.timeout(3)
    env.start(env.waits("it", [(1, Priority.TURN), end]))
    env.run(until=end)
    assert env.ticks == [1]
    resume(env)
    assert env.ticks == [1, 3]


@pytest.mark.parametrize("until", [0.5, "3.5"])
def test_the_clock_counts_whole_ticks_alone(until):
    env = Kernel()
    for wrong in (lambda: env.run(until), lambda: simpy.events.Timeout(env, float(until))):
        with pytest.raises(TypeError, match="allowed is a whole number of ticks"):
            wrong()


def test_interrupts_and_the_active_process():
    env = Kernel()

    def sleeper():
        try:
            yield env.timeout(10)
        except simpy.Interrupt as interrupt:
            return env.now, interrupt.cause, env.active_process

    def waker(process):
        yield env.timeout(4)
        process.interrupt("up")

    asleep = env.process(sleeper())
    env.process(waker(asleep))
    assert env.run(until=asleep) == (4, "up", asleep)
    assert env.active_process is None


@pytest.mark.parametrize("run", [Kernel.run, Kernel.run_before])
def test_an_exception_that_no_process_handles_ends_the_run(run):
    env = Kernel()

    def child():
        yield env.timeout(1)
        raise BrokenError("child")

    def careful():
        with pytest.raises(BrokenError, match="child"):
            yield env.process(child())

    env.process(careful())
    run(env)
    env.process(child())
    with pytest.raises(BrokenError, match="child"):
        run(env)
    assert env.now == 2
