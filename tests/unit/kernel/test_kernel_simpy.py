"""The kernel as an environment of SimPy: its users' calls work, among activities too."""

from collections.abc import Generator
from typing import Any

import pytest
import simpy
from simpy.core import EmptySchedule

from asyncdp_sim.core.kernel import Activity, Kernel, Priority

Algorithm = Generator[simpy.Event, Any, Any]


class BrokenError(Exception):
    """What the processes of this module raise."""


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


def test_step_and_peek_go_from_one_event_to_the_next() -> None:
    env = Kernel()
    seen: list[int] = []
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


def test_run_until_a_tick_leaves_what_happens_at_that_tick() -> None:
    env = Kernel()
    seen: list[int] = []
    env.start(three_waits(env, seen))
    env.run(until=4)
    assert (env.now, seen) == (4, [2])
    env.run(until=100)
    assert (env.now, seen) == (100, [2, 4, 6])
    with pytest.raises(ValueError, match="must be greater than the current simulation time"):
        env.run(until=100)


def test_run_until_an_event_returns_its_value() -> None:
    env = Kernel()
    assert env.run(until=env.process(waits(env, 3, "done"))) == "done"
    assert env.now == 3
    with pytest.raises(RuntimeError, match="No scheduled events left"):
        env.run(until=env.event())


@pytest.mark.parametrize("resume", [Kernel.run, Kernel.run_before])
def test_an_activity_behind_the_end_of_a_run_goes_on_in_the_next(resume: Any) -> None:
    env = Kernel()
    seen: list[int] = []
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
def test_the_clock_counts_whole_ticks_alone(until: Any) -> None:
    env = Kernel()
    for wrong in (lambda: env.run(until), lambda: simpy.events.Timeout(env, float(until))):
        with pytest.raises(TypeError, match="allowed is a whole number of ticks"):
            wrong()


def test_interrupts_and_the_active_process() -> None:
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
def test_an_exception_that_no_process_handles_ends_the_run(run: Any) -> None:
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
