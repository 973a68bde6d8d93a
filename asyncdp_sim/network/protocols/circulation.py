"""Circulating tasks: how many return per time unit, where a formula says so."""

from collections.abc import Iterator, Sequence
from math import fsum
from typing import Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.facts import Facts
from asyncdp_sim.network.latency import STAGES
from asyncdp_sim.theory.formulas.closed_network import (
    Whereabouts,
    closed_network,
    return_bounds,
    whereabouts,
)
from asyncdp_sim.theory.prediction import Unknown

Array = npt.NDArray[np.float64]
Queue = Literal["fifo", "shared", "none"]
"""How owners deal with several tasks."""
IN_THE_WAY: dict[Queue, tuple[str, ...]] = {
    "fifo": ("compute", "answer"),
    "shared": ("compute",),
    "none": (),
}
"""Stages in which tasks of an owner are in each other's way."""
_NOT_EXPONENTIAL = "owners' times of work, with their answers' way, are not exponential"


def returns(facts: Facts, tasks: int, chances: tuple[float, ...], queue: Queue) -> float | Unknown:
    """Return the tasks that return per time unit, each to an owner drawn anew, or why not known.

    Exact for any law of the times where owners work at all tasks at once, or only one task is under
    way; and where they work at one after the other for exponential times.

    Parameters
    ----------
    facts : Facts
    tasks : int
        m.
    chances : tuple of float
        p_i.
    queue : Queue
    """
    reason = doubt(facts)
    if reason:
        return Unknown(reason)
    alone = tasks == 1
    work, travel = _times(facts, "none" if alone else queue)
    if not alone and _needs_exponential(facts, queue):
        return Unknown(_NOT_EXPONENTIAL)
    return closed_network(tasks, chances, work, travel).throughput


def returns_to_same(facts: Facts, tasks: int, queue: Queue) -> tuple[float, ...] | Unknown:
    """Return the same of tasks that go back to the owner they come from, of each owner.

    They are dealt in turn at first.
    """
    reason = doubt(facts)
    if reason:
        return Unknown(reason)
    held = _dealt(tasks, facts.n_owners)
    work, travel = _times(facts, queue)
    waits = any(n > 1 and away > 0 for n, away in zip(held, travel, strict=True))
    if waits and _needs_exponential(facts, queue):
        return Unknown(_NOT_EXPONENTIAL)
    return tuple(_loops(held, work, travel))


def bounds(
    facts: Facts, tasks: int, chances: Sequence[float], queue: Queue
) -> tuple[float, float] | None:
    """Return what returns per time unit lie between, whatever the times' laws; None if not known.

    Parameters
    ----------
    facts, tasks, queue
        As for :func:`returns`.
    chances : sequence of float
        p_i, drawn or in turn.
    """
    if doubt(facts):
        return None
    return return_bounds(tasks, chances, *_times(facts, queue))


def bounds_to_same(facts: Facts, tasks: int, queue: Queue) -> tuple[float, float] | None:
    """Return the same of tasks that go back to the owner they come from, of all together."""
    if doubt(facts):
        return None
    each = [
        return_bounds(held, (1.0,), (busy,), (away,))
        for held, busy, away in zip(
            _dealt(tasks, facts.n_owners), *_times(facts, queue), strict=True
        )
        if held > 0
    ]
    return fsum(low for low, _ in each), fsum(high for _, high in each)


def _dealt(tasks: int, n_owners: int) -> list[int]:
    """Return how many tasks each owner has that are dealt in turn."""
    each, more = divmod(tasks, n_owners)
    return [each + (i < more) for i in range(n_owners)]


def occupied(
    facts: Facts,
    tasks: int,
    chances: Sequence[float],
    rate: float,
    queue: Queue,
    sending: Array,
    receiving: Array,
) -> Array:
    """Return the shares of time that each owner sends, computes and receives, (N, 3).

    The first that holds counts. Where owners work at one task after the other these are stages of
    a service, else each stage is by itself.

    Parameters
    ----------
    facts, tasks, chances, queue
        As for :func:`returns`, which knows this network.
    rate : float
        Tasks that return per time unit.
    sending, receiving : array (N,)
        How long an answer is sent and a query received, in the mean.
    """
    flows = rate * np.array(chances)
    computing = flows * facts.network.mean_times("compute")
    sent, heard = flows * sending, flows * receiving
    found = _network(facts, tasks, flows, "none" if tasks == 1 else queue)
    if queue == "fifo" and tasks > 1:
        free = found.none(0 * heard, serving=True)
        return np.stack([sent, computing, free - found.none(heard, serving=True)], axis=1)
    shared = queue == "shared" and tasks > 1
    at_work = sent if shared else sent + computing
    none = [
        np.ones(facts.n_owners),
        found.none(sent, serving=False),
        found.none(at_work, serving=shared),
        found.none(at_work + heard, serving=shared),
    ]
    return -np.diff(none, axis=0).T


def _network(facts: Facts, tasks: int, flows: Array, queue: Queue) -> Whereabouts:
    """Return where tasks are that return so often."""
    work, travel = (np.array(each) for each in _times(facts, queue))
    return whereabouts(tasks, flows * work, float(flows @ travel))


def occupied_by_own(
    facts: Facts, tasks: int, queue: Queue, sending: Array, receiving: Array
) -> Array:
    """Return the same where tasks go back to the owner they come from."""
    found = np.zeros((facts.n_owners, 3))
    each = returns_to_same(facts, tasks, queue)
    if isinstance(each, Unknown):
        raise TypeError("whoever asks knows how often tasks return")
    for i, (held, rate) in enumerate(zip(_dealt(tasks, facts.n_owners), each, strict=True)):
        if held > 0:
            alone = np.zeros(facts.n_owners)
            alone[i] = 1.0
            found[i] = occupied(facts, held, alone.tolist(), rate, queue, sending, receiving)[i]
    return found


def _loops(held: list[int], work: tuple[float, ...], travel: tuple[float, ...]) -> Iterator[float]:
    """Yield how many tasks of each owner return per time unit."""
    for n, busy, away in zip(held, work, travel, strict=True):
        yield 0.0 if n == 0 else closed_network(n, (1.0,), (busy,), (away,)).throughput


def doubt(facts: Facts) -> str:
    """Return why not every task that is handed out returns after its own times, if not."""
    away = "" if facts.network.availability.always_online else "tasks wait for owners to be back"
    wires = "links fail" if facts.wires_fail else ""
    lost = facts.buffered or facts.can_lose_messages or facts.shared
    return lost or away or wires or facts.spent()


def _needs_exponential(facts: Facts, queue: Queue) -> bool:
    """Return whether times of tasks that wait would have to be exponential, and are not."""
    return queue == "fifo" and not facts.exponential(IN_THE_WAY[queue])


def _times(facts: Facts, queue: Queue) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return each owner's mean times in which tasks are in each other's way, and of the rest."""
    stages = {stage: facts.network.mean_times(stage) for stage in STAGES}
    work = [each for stage, each in stages.items() if stage in IN_THE_WAY[queue]]
    rest = [each for stage, each in stages.items() if stage not in IN_THE_WAY[queue]]
    return _sums(work, facts.n_owners), _sums(rest, facts.n_owners)


def _sums(times: list[Sequence[float]], n_owners: int) -> tuple[float, ...]:
    return tuple(map(fsum, zip((0.0,) * n_owners, *times, strict=True)))
