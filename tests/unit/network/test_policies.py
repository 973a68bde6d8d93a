"""A shared processor, and policies from outside."""

import random
from typing import Any, Literal

import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.kernel import Kernel, Priority
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.processor import Processor
from asyncdp_sim.network.protocols import Dispatch
from asyncdp_sim.network.protocols.dispatch import Known, PolicyKind, ShortestQueue
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Unknown
from tests.unit.measures.test_energy_by_hand import ran, times

# Policies from outside: what they are told, what they may answer, what is known of them.

TOLD: list[Known] = []


class Told(PolicyKind):
    """Asks the last owner that is free, and keeps what it was told."""

    kind: Literal["told"] = "told"

    def choose(self, known, draws):  # noqa: ARG002
        TOLD.append(known)
        return known.free[-1]

    def describe(self) -> str:
        return "that are last"


class Says(Told):
    """Answers what it is set to."""

    kind: Literal["says"] = "says"
    answer: Any = 1

    def choose(self, known, draws):  # noqa: ARG002
        return self.answer


def network(policy: PolicyKind, tasks: int = 2, allowed: int = 2) -> Network:
    protocol = Dispatch(tasks=tasks, policy=policy)
    compute = (Constant(value=1.0), Constant(value=2.0))
    return Network(answers_allowed=(allowed,) * 2, updates=4, compute=compute, protocol=protocol)


def test_it_is_told_what_the_learner_knows():
    TOLD.clear()
    trace = simulate(network(Told()), Streams(1).within("replicate", 1))
    assert [
        Known(0, 0, (0, 0), (0, 0), (1, 2)),
        Known(0, 0, (0, 1), (0, 0), (1, 2)),
        # owner 2 may answer twice: at 2 and at 4 it has, and what is next is owner 1's
        Known(1, 2, (0, 1), (0, 1), (1,)),
        Known(2, 1, (0, 1), (1, 1), (1,)),
    ] == TOLD
    assert trace.updates["owner"].tolist() == [2, 1, 2, 1]


@pytest.mark.parametrize("answer", [0, 3, "1", None, [1], 1.5])
def test_an_owner_that_may_not_be_asked_is_refused_in_words(answer):
    with pytest.raises(SpecError) as error:
        simulate(network(Says(answer=answer)), Streams(1).within("replicate", 1))
    [line] = error.value.lines()
    assert line.startswith(f"protocol.policy: given {answer!r} by says; allowed is an owner that")


def test_an_owner_whose_budget_is_promised_is_refused():
    with pytest.raises(SpecError, match="given 1 by says; allowed is an owner that may be asked"):
        simulate(network(Says(answer=1), tasks=3), Streams(1).within("replicate", 1))


def test_nothing_is_predicted_of_whom_it_asks():
    net = network(ShortestQueue(), allowed=99)
    found = predicted(net, "throughput")
    assert isinstance(found, Unknown)
    assert "policy shortest-queue chooses which owners to ask" in found.reason
    assert isinstance(shares(net), Unknown)


# A shared processor, against one that goes from job to job tick by tick.


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
        assert max(ends(jobs)) - jobs[0][0] == sum(ticks for _, ticks in jobs)


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
