"""Circulating tasks: how many return per time unit, where a formula says so."""

from collections.abc import Iterator, Sequence
from math import fsum

import numpy as np
from typing_extensions import override

from asyncdp_sim.network.latency import STAGES
from asyncdp_sim.network.protocols import Dispatch
from asyncdp_sim.network.protocols.dispatch import Queue
from asyncdp_sim.theory.formulas.closed_network import closed_network, return_bounds, whereabouts
from asyncdp_sim.theory.predict.facts import Array, Facts
from asyncdp_sim.theory.prediction import Prediction, Unknown, bounded

IN_THE_WAY: dict[Queue, tuple[str, ...]] = {
    "fifo": ("compute", "answer"),
    "shared": ("compute",),
    "none": (),
}
"""Stages in which tasks of an owner are in each other's way."""
_NOT_EXPONENTIAL = "owners' times of work, with their answers' way, are not exponential"


class DispatchFacts(Facts):
    """m tasks under way at a time: a closed network of queues.

    Exact for any law of the times where owners work at all tasks at once, or only one task is under
    way; and where they work at one after the other for exponential times.
    """

    dependent = "who is asked next is whom the learner chooses"
    entangled = ""
    protocol: Dispatch

    @property
    def _chances(self) -> tuple[float, ...]:
        return self.protocol.chances(self.n_owners)

    @override
    def flows(self, jobs: Sequence[float]) -> tuple[float, ...]:
        if self.protocol.to == "same":
            return tuple(1 / job if job > 0 else 1.0 for job in jobs)
        return self._chances

    @override
    def shares(self) -> tuple[float, ...] | Unknown:
        """Return p_i: every task that is handed out returns; or how often each owner's own do."""
        lost = self.can_lose_messages or self.shared or self._by_policy
        if lost or self.protocol.to != "same":
            return Unknown(lost) if lost else self._chances
        each = self._of_same()
        if isinstance(each, Unknown) or min(each) == 0:
            return each if isinstance(each, Unknown) else Unknown("some owners have no task")
        return tuple(one / fsum(each) for one in each)

    @override
    def predictions(self) -> Iterator[Prediction]:
        said = "a closed network of m tasks"
        yield bounded("throughput", self._returns(), self._bounds(), said)

    @override
    def occupied(self, sending: Array, receiving: Array) -> Array | Unknown:
        tasks = self.protocol.tasks
        rate: float | Unknown = Unknown(self._in_turn) if self._in_turn else self._returns()
        if isinstance(rate, Unknown):
            return rate
        if self.protocol.to != "same":
            return self._occupied(tasks, self._chances, rate, sending, receiving)
        found, each = np.zeros((self.n_owners, 3)), self._of_same()
        if isinstance(each, Unknown):
            return each
        for i, (held, own) in enumerate(zip(self._dealt(), each, strict=True)):
            if held > 0:
                alone = np.zeros(self.n_owners)
                alone[i] = 1.0
                found[i] = self._occupied(held, alone.tolist(), own, sending, receiving)[i]
        return found

    @override
    def staleness(self) -> float | Unknown:
        """Return m − 1: so many other tasks return, on average, while one is under way.

        Whoever is asked, and whatever decides it, while budgets of all together suffice: what one
        owner has spent goes to others.
        """
        network = self.network
        allowed, most = sum(network.answers_allowed), network.updates + self.protocol.left_open
        spent = "" if allowed >= most else f"budgets of {allowed} answers in all may be spent"
        doubt = self.buffered or self.can_lose_messages or self.shared or spent
        return Unknown(doubt) if doubt else self.protocol.tasks - 1.0

    @override
    def ends_next(self) -> tuple[float, ...] | Unknown:
        """Return 1/m of ample servers that are alike; μ_i/Σμ of owners with a task each."""
        reason, tasks = self._doubt or self._by_policy, self.protocol.tasks
        if reason or tasks == 1:
            return Unknown(reason) if reason else (1.0,) * self.n_owners
        times = self.services
        alike = max(times) - min(times) <= 1e-12 * max(times)
        each = self.protocol.to == "same" and tasks == self.n_owners
        if not self.exponential() or not (each or (alike and self.protocol.queue == "none")):
            return Unknown("tasks that wait, or whose times are not exponential, have no such law")
        rate = fsum(1 / time for time in times)
        return tuple(1 / time / rate if each else 1 / tasks for time in times)

    @property
    def _by_policy(self) -> str:
        """Why nobody knows beforehand how often each owner is asked, if a policy decides it."""
        policy = self.protocol.policy
        return "" if policy is None else f"policy {policy.kind} chooses whom to ask"

    @property
    def _in_turn(self) -> str:
        """Why tasks are not where a product form would have them, if they go round in turn."""
        several = self.protocol.to == "in-turn" and self.protocol.tasks > 1
        return "several tasks that go round in turn have no product form" if several else ""

    @property
    def _doubt(self) -> str:
        """Why not every task that is handed out returns after its own times, if not."""
        away = "" if self.network.availability.always_online else "tasks wait for owners to be back"
        wires = "links fail" if self.wires_fail else ""
        lost = self.buffered or self.can_lose_messages or self.shared
        return lost or away or wires or self.spent()

    def _returns(self) -> float | Unknown:
        """Return the tasks that return per time unit, or why it is not known."""
        if self._by_policy:
            return Unknown(self._by_policy)
        if self.protocol.to == "same":
            each = self._of_same()
            return each if isinstance(each, Unknown) else fsum(each)
        if self._in_turn and self.protocol.queue != "none":
            return Unknown(self._in_turn)
        if self._doubt:
            return Unknown(self._doubt)
        tasks, queue = self.protocol.tasks, self.protocol.queue
        if tasks > 1 and self._needs_exponential:
            return Unknown(_NOT_EXPONENTIAL)
        times = self._times("none" if tasks == 1 else queue)
        return closed_network(tasks, self._chances, *times).throughput

    def _of_same(self) -> tuple[float, ...] | Unknown:
        """Return the same of tasks that go back to the owner they come from, of each owner.

        They are dealt in turn at first.
        """
        if self._doubt:
            return Unknown(self._doubt)
        held, (work, travel) = self._dealt(), self._times(self.protocol.queue)
        waits = any(n > 1 and away > 0 for n, away in zip(held, travel, strict=True))
        if waits and self._needs_exponential:
            return Unknown(_NOT_EXPONENTIAL)
        return tuple(
            0.0 if n == 0 else closed_network(n, (1.0,), (busy,), (away,)).throughput
            for n, busy, away in zip(held, work, travel, strict=True)
        )

    def _bounds(self) -> tuple[float, float] | None:
        """Return what returns lie between, whatever the times' laws; None if not known."""
        if self._by_policy or self._doubt:
            return None
        work, travel = self._times(self.protocol.queue)
        if self.protocol.to != "same":
            return return_bounds(self.protocol.tasks, self._chances, work, travel)
        each = [
            return_bounds(held, (1.0,), (busy,), (away,))
            for held, busy, away in zip(self._dealt(), work, travel, strict=True)
            if held > 0
        ]
        return fsum(low for low, _ in each), fsum(high for _, high in each)

    def _dealt(self) -> list[int]:
        """Return how many tasks each owner has that are dealt in turn."""
        each, more = divmod(self.protocol.tasks, self.n_owners)
        return [each + (i < more) for i in range(self.n_owners)]

    def _occupied(
        self,
        tasks: int,
        chances: Sequence[float],
        rate: float,
        sending: Array,
        receiving: Array,
    ) -> Array:
        """Return the shares of time that each owner sends, computes and receives, (N, 3).

        The first that holds counts. Where owners work at one task after the other these are stages
        of a service, else each stage is by itself.

        Parameters
        ----------
        tasks : int
            m.
        chances : sequence of float
            p_i.
        rate : float
            Tasks that return per time unit.
        sending, receiving : array (N,)
            How long an answer is sent and a query received, in the mean.
        """
        flows, queue = rate * np.array(chances), self.protocol.queue
        computing = flows * self.network.mean_times("compute")
        sent, heard = flows * sending, flows * receiving
        work, travel = (np.array(each) for each in self._times("none" if tasks == 1 else queue))
        found = whereabouts(tasks, flows * work, float(flows @ travel))
        if queue == "fifo" and tasks > 1:
            free = found.none(0 * heard, serving=True)
            return np.stack([sent, computing, free - found.none(heard, serving=True)], axis=1)
        shared = queue == "shared" and tasks > 1
        at_work = sent if shared else sent + computing
        none = [
            np.ones(self.n_owners),
            found.none(sent, serving=False),
            found.none(at_work, serving=shared),
            found.none(at_work + heard, serving=shared),
        ]
        return -np.diff(none, axis=0).T

    @property
    def _needs_exponential(self) -> bool:
        """Whether times of tasks that wait would have to be exponential, and are not."""
        queue = self.protocol.queue
        return queue == "fifo" and not self.exponential(IN_THE_WAY[queue])

    def _times(self, queue: Queue) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return each owner's mean times: where tasks are in each other's way, and the rest."""
        stages = {stage: self.network.mean_times(stage) for stage in STAGES}
        work = [each for stage, each in stages.items() if stage in IN_THE_WAY[queue]]
        rest = [each for stage, each in stages.items() if stage not in IN_THE_WAY[queue]]
        return _sums(work, self.n_owners), _sums(rest, self.n_owners)


def _sums(times: Sequence[Sequence[float]], n_owners: int) -> tuple[float, ...]:
    return tuple(map(fsum, zip((0.0,) * n_owners, *times, strict=True)))
