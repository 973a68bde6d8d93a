"""A shared processor, against one that goes from job to job tick by tick."""

import random

import pytest

from asyncdp_sim.core.kernel import Kernel, Priority, Processor
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Dispatch
from tests.unit.measures.test_energy_by_hand import ran, times


def ends(jobs):
    """Return when each job (arrival, ticks) ends."""
    kernel, found = Kernel(), {}
    processor = Processor(kernel)

    def job(number, tick, ticks):
        yield tick, Priority.QUERY_ARRIVES
        yield from processor.work(ticks)
        found[number] = kernel.tick

    for number, each in enumerate(jobs):
        kernel.start(job(number, *each))
    kernel.run_before()
    return [found[number] for number in range(len(jobs))]


def one_tick_after_another(jobs):
    """Return the same, by a tick of work at a time."""
    found, line, place, tick = [tick for tick, _ in jobs], [], 0, 0
    left = [ticks for _, ticks in jobs]
    while any(left):
        place = 0 if place >= len(line) else place  # who comes now has its first tick last
        line += [n for n, (came, ticks) in enumerate(jobs) if came == tick and ticks > 0]
        tick += 1
        if len(line) == 0:
            continue
        number = line[place]
        left[number] -= 1
        if left[number] == 0:
            found[number] = tick
            line.remove(number)
        else:
            place += 1
    return found


def drawn(seed, count=12):
    numbers = random.Random(seed)
    return [(numbers.randrange(40), numbers.randrange(9)) for _ in range(count)]


def test_it_goes_from_job_to_job_tick_by_tick():
    for seed in range(300):
        jobs = sorted(drawn(seed))
        assert ends(jobs) == one_tick_after_another(jobs)


def test_no_work_is_lost_or_made():
    """While there is any, each tick of time does one of work."""
    for seed in range(300):
        jobs = sorted((tick // 4, ticks * 10**9 + 7) for tick, ticks in drawn(seed))
        first = jobs[0][0]
        assert max(ends(jobs)) - first == sum(ticks for _, ticks in jobs)


def test_jobs_that_come_together_share_its_speed():
    assert ends([(0, 1000)] * 4) == [3997, 3998, 3999, 4000]
    assert ends([(0, 1000), (500, 1000)]) == [1499, 2000]
    assert ends([(5, 0), (5, 3)]) == [5, 8]


def test_an_owner_computes_while_it_has_any_task():
    protocol = Dispatch(tasks=2, queue="shared")
    found = ran([], updates=2, compute=Constant(value=0.5), protocol=protocol)
    # queries until .25; two tasks at half of its speed until 1.25, a tick apart; answers until 1.5
    tick = 1e-9  # in which it sends one answer and computes the other
    assert times(*found) == [
        {"receiving": 0.25, "computing": 1.0 - tick, "sending": pytest.approx(0.25 + tick, abs=0)}
    ]
