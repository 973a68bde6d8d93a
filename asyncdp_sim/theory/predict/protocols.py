"""Protocols as theory sees them: updates, waits and losses, by exact class.

A class that derives from another may do other things, and so has no row that it does not write.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from math import exp, fsum, inf, prod, sqrt
from typing import TypeVar

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.specification import per_owner
from asyncdp_sim.network import Network
from asyncdp_sim.network.graphs import Edge
from asyncdp_sim.network.latency import STAGES
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import (
    Broadcast,
    Dispatch,
    Gossip,
    Push,
    Request,
    Rounds,
    Servers,
)
from asyncdp_sim.network.protocols.dispatch import Queue
from asyncdp_sim.network.topology import LEARNER
from asyncdp_sim.theory.formulas import queueing
from asyncdp_sim.theory.formulas.exchanges import broadcast, mean_round
from asyncdp_sim.theory.formulas.queueing import (
    LossNetwork,
    closed_network,
    loss_network,
    return_bounds,
    whereabouts,
)
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.prediction import (
    SPREADS,
    NoFormulaError,
    Prediction,
    Unknown,
    bounded,
    each_of,
    either,
    known,
    no_formula_if,
)

BROADCAST = "owners that listen answer after U[0, W], pure ALOHA, W + airtime ≤ interval"


class BroadcastFacts(Facts):
    """Answers of owners that all have the same query."""

    dependent = "owners answer the same query"
    protocol: Broadcast

    @override
    def flows(self, jobs: Sequence[float]) -> tuple[float, ...]:
        return (1 / self.protocol.interval,) * self.n_owners

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, and collisions and load where owners share a channel."""
        if self.network.channel.contended is None:
            yield Prediction("throughput", None, BROADCAST, "owners share no channel")
        else:
            yield from on_channel(self, known(self._rates), BROADCAST)

    def _rates(self) -> tuple[float, ...]:
        """Return updates per time unit, the part of answers that collide, and the load."""
        network, window = self.network, self.protocol.delay.window
        airtime, interval = network.airtime or 0.0, self.protocol.interval
        channel, online = network.channel, network.availability.online_share(self.n_owners)
        no_formula_if(self.can_lose_messages)
        if not self.instant:
            raise NoFormulaError("queries, computing or answers take time besides the airtime")
        if window is None:
            raise NoFormulaError("answers do not wait for a uniform time from 0")
        shared = channel.contended
        plain = shared is channel and shared.sends_at_once and channel.exclusive
        if not plain or channel.retransmissions > 0:
            raise NoFormulaError("the channel is not pure ALOHA without capture and retransmission")
        no_formula_if(self.wires_fail, "links fail")
        if not network.availability.keeps_poisson or online is None:
            raise NoFormulaError(f"availability is {network.availability.kind}")
        no_formula_if(max(online) > min(online), "owners listen differently often")
        if window + airtime > interval or airtime > window / 2:
            raise NoFormulaError("W + airtime > interval, or airtime > W/2")
        result = broadcast(self.n_owners, online[0], airtime, window)
        begun, clean = result.mean_begun, result.mean_clean
        no_formula_if(self.spent(begun / clean if clean > 0 else inf))
        return clean / interval, 1 - clean / begun, begun * airtime / interval


def on_channel(
    facts: Facts, found: tuple[float | Unknown, ...] | Unknown, formula: str
) -> Iterator[Prediction]:
    """Yield throughput, collisions and load of a channel that owners share."""
    values = (found,) * 3 if isinstance(found, Unknown) else found
    names = ("throughput", "collision_rate", "offered_load")
    for name, value in zip(names, values, strict=True):
        if name == "collision_rate" and facts.in_turn:
            yield Prediction(name, 0.0, "each owner has its own slots")
        else:
            yield either(name, value, formula)


IN_THE_WAY: dict[Queue, tuple[str, ...]] = {
    "fifo": ("compute", "answer"),
    "shared": ("compute",),
    "none": (),
}
"""Stages in which tasks of an owner are in each other's way."""


class DispatchFacts(Facts):
    """m tasks under way at a time: a closed network of queues.

    Exact for any law of the times where owners work at all tasks at once, or only one task is under
    way; and where they work at one after the other for exponential times.
    """

    dependent = "the learner chooses the next owner to ask"
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
    def shares(self) -> tuple[float, ...]:
        """Return p_i: every task that is handed out returns; or how often each owner's own do."""
        no_formula_if(self.can_lose_messages or self.shared or self._by_policy)
        if self.protocol.to != "same":
            return self._chances
        flows = self._of_same()
        no_formula_if(min(flows) == 0, "some owners have no task")
        return tuple(flow / fsum(flows) for flow in flows)

    @override
    def predictions(self) -> Iterator[Prediction]:
        formula = "a closed network of m tasks"
        yield bounded("throughput", known(self._returns), self._bounds(), formula)

    @override
    def occupied(self, sending: Array, receiving: Array) -> Array:
        no_formula_if(self._in_turn)
        rate, tasks = self._returns(), self.protocol.tasks
        if self.protocol.to != "same":
            return self._occupied(tasks, self._chances, rate, sending, receiving)
        occupied = np.zeros((self.n_owners, 3))
        for i, (held, own) in enumerate(zip(self._dealt(), self._of_same(), strict=True)):
            if held > 0:
                alone = np.zeros(self.n_owners)
                alone[i] = 1.0
                occupied[i] = self._occupied(held, alone.tolist(), own, sending, receiving)[i]
        return occupied

    @override
    def staleness(self) -> float:
        """Return m − 1: so many other tasks return, on average, while one is under way.

        It holds for any choice of owners while their total budget suffices: the tasks of an owner
        without budget go to others.
        """
        network = self.network
        budget, most = sum(network.answers_allowed), network.updates + self.protocol.left_open
        spent = "" if budget >= most else f"budgets of {budget} answers in all may be spent"
        no_formula_if(self.buffered or self.can_lose_messages or self.shared or spent)
        return self.protocol.tasks - 1.0

    @override
    def ends_next(self) -> tuple[float, ...]:
        """Return 1/m of ample servers that are alike; μ_i/Σμ of owners with a task each."""
        no_formula_if(self._doubt or self._by_policy)
        times, tasks = self.services, self.protocol.tasks
        if tasks == 1:
            return (1.0,) * self.n_owners
        alike = max(times) - min(times) <= 1e-12 * max(times)
        one_each = self.protocol.to == "same" and tasks == self.n_owners
        if not self.exponential() or not (one_each or (alike and self.protocol.queue == "none")):
            raise NoFormulaError(
                "tasks that wait, or whose times are not exponential, have no such law"
            )
        rate = fsum(1 / time for time in times)
        return tuple(1 / time / rate if one_each else 1 / tasks for time in times)

    @property
    def _by_policy(self) -> str:
        """Why nobody knows beforehand how often each owner is asked, if a policy decides it."""
        policy = self.protocol.policy
        return "" if policy is None else f"policy {policy.kind} chooses which owners to ask"

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

    def _returns(self) -> float:
        """Return the tasks that return per time unit."""
        no_formula_if(self._by_policy)
        if self.protocol.to == "same":
            return fsum(self._of_same())
        tasks, queue = self.protocol.tasks, self.protocol.queue
        no_formula_if(("" if queue == "none" else self._in_turn) or self._doubt)
        no_formula_if(self._not_exponential if tasks > 1 else "")
        times = self._times("none" if tasks == 1 else queue)
        return closed_network(tasks, self._chances, *times).throughput

    def _of_same(self) -> tuple[float, ...]:
        """Return the same of tasks that go back to the owner they come from, of each owner.

        They are dealt in turn at first.
        """
        no_formula_if(self._doubt)
        held, (work, travel) = self._dealt(), self._times(self.protocol.queue)
        waits = any(n > 1 and away > 0 for n, away in zip(held, travel, strict=True))
        no_formula_if(self._not_exponential if waits else "")
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
        bounds = [
            return_bounds(held, (1.0,), (busy,), (away,))
            for held, busy, away in zip(self._dealt(), work, travel, strict=True)
            if held > 0
        ]
        return fsum(low for low, _ in bounds), fsum(high for _, high in bounds)

    def _dealt(self) -> list[int]:
        """Return how many tasks each owner has that are dealt in turn."""
        per_owner, more = divmod(self.protocol.tasks, self.n_owners)
        return [per_owner + (i < more) for i in range(self.n_owners)]

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
        of a service, else each stage is independent.

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
        work, travel = (np.array(times) for times in self._times("none" if tasks == 1 else queue))
        places = whereabouts(tasks, flows * work, float(flows @ travel))
        if queue == "fifo" and tasks > 1:
            free = places.none(0 * heard, serving=True)
            return np.stack([sent, computing, free - places.none(heard, serving=True)], axis=1)
        shared = queue == "shared" and tasks > 1
        at_work = sent if shared else sent + computing
        none = [
            np.ones(self.n_owners),
            places.none(sent, serving=False),
            places.none(at_work, serving=shared),
            places.none(at_work + heard, serving=shared),
        ]
        return -np.diff(none, axis=0).T

    @property
    def _not_exponential(self) -> str:
        """Why times of tasks that wait have no law that counts, if they have none."""
        queue = self.protocol.queue
        sure = queue != "fifo" or self.exponential(IN_THE_WAY[queue])
        return "" if sure else "owners' times of work, with their answers' way, are not exponential"

    def _times(self, queue: Queue) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return each owner's mean times: where tasks are in each other's way, and the rest."""
        stages = {stage: self.network.mean_times(stage) for stage in STAGES}
        work = [times for stage, times in stages.items() if stage in IN_THE_WAY[queue]]
        rest = [times for stage, times in stages.items() if stage not in IN_THE_WAY[queue]]
        return _sums(work, self.n_owners), _sums(rest, self.n_owners)


def _sums(times: Sequence[Sequence[float]], n_owners: int) -> tuple[float, ...]:
    return tuple(map(fsum, zip((0.0,) * n_owners, *times, strict=True)))


MEETINGS = "neighbours meet as in a loss network: Poisson edges, any law of the time they take"


@dataclass(frozen=True)
class LongRun:
    """Meetings in the long run, and what comes of them.

    Losses take no time and change nothing that follows, so that meetings are those of a network
    without them: of each edge, an update is made with chance q_e, and r_e answers are used on
    average.

    Attributes
    ----------
    meetings : LossNetwork
        With r_e for its marks.
    updating, used : mapping
        q_e and r_e.
    """

    meetings: LossNetwork
    updating: Mapping[Edge, float]
    used: Mapping[Edge, float]

    @property
    def rate(self) -> float:
        """Updates per time unit."""
        return self._of(self.updating)

    @property
    def staleness(self) -> float:
        """Updates between read and use of an answer, on average.

        Staleness of the answers used and answers in flight just after updates have one sum
        (ORACLES 18): Σ_e f_e q_e E_e[Σ r of the pairs that talk] / Σ_e f_e r_e.
        """
        flying = {
            edge: chance * self.meetings.after[edge] for edge, chance in self.updating.items()
        }
        return self._of(flying) / self._of(self.used)

    def of(self, owner: int) -> float:
        """Return the meetings of an owner per time unit."""
        return fsum(flow for edge, flow in self.meetings.flows.items() if owner in edge)

    def _of(self, each: Mapping[Edge, float]) -> float:
        return fsum(flow * each[edge] for edge, flow in self.meetings.flows.items())


class GossipFacts(Facts):
    """Meetings of neighbours."""

    dependent = "neighbours answer in pairs"
    lost_alike = True
    protocol: Gossip

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, utilisation and staleness."""
        names = ("throughput", "utilisation", "mean_staleness")
        return each_of(names, known(self._figures), MEETINGS)

    def _figures(self) -> tuple[float, ...]:
        result = self._long_run()
        return result.rate, result.meetings.busy_fraction, result.staleness

    @override
    def answers(self, updates: float) -> tuple[float, ...]:
        """Return each owner's meetings per time unit."""
        return tuple(map(self._long_run().of, range(1, self.n_owners + 1)))

    def _long_run(self) -> LongRun:
        """Return the long run of neighbours that meet."""
        network, clock = self.network, self.protocol.clock
        edges = self.protocol.graph.edges(self.n_owners)
        loss = network.channel.packet_loss()
        bursts = "answers are lost in bursts, and meetings where both are make no update"
        no_formula_if(self.loses("") and loss.bursty, bursts)
        available = network.availability
        online = available.online_share(self.n_owners)
        ticks = clock.rates(len(edges))
        if not clock.memoryless or ticks is None:
            raise NoFormulaError(f"clocks are {clock.kind}, not Poisson")
        if not available.keeps_poisson or online is None or min(online) == 0:
            raise NoFormulaError(
                f"availability is {available.kind}, which is not drawn for each wake-up alone"
            )
        share = (1.0, *online)
        times = {edge: _mean_time(self, edge) for edge in edges}
        pairs = zip(edges, ticks, strict=True)
        rates = {edge: rate * share[edge[0]] * share[edge[1]] for edge, rate in pairs}
        updating, used = _come_through(edges, loss.shares(self.n_owners))
        meetings = loss_network(rates, times, used)
        if meetings is None:
            raise NoFormulaError("the graph has too many matchings to sum")
        result = LongRun(meetings, updating, used)
        no_formula_if(_spent(self, result))
        return result


def _come_through(
    edges: Sequence[Edge], losses: Sequence[float]
) -> tuple[dict[Edge, float], dict[Edge, float]]:
    """Return for each edge the chance that some answer arrives, and how many do on average."""
    updating, used = {}, {}
    for edge in edges:
        own = [losses[number - 1] for number in edge if number != LEARNER]
        updating[edge] = 1 - prod(own)
        used[edge] = fsum(1 - loss for loss in own)
    return updating, used


def _spent(facts: Facts, found: LongRun) -> str:
    """Return why an owner may fall silent before the run ends, if it may."""
    updates = facts.network.updates
    most = inf if facts.loses("") else updates
    for owner, budget in enumerate(facts.network.answers_allowed, start=1):
        spent = updates * found.of(owner) / found.rate
        if budget < min(most, spent + SPREADS * sqrt(spent)):
            return f"a budget of {budget} answers may be spent before the run ends"
    return ""


def _mean_time(facts: Facts, edge: Edge) -> float:
    """Return the mean time of a meeting, stage by stage the slower node's."""
    total = 0.0
    for stage in STAGES:
        means, laws = facts.network.mean_times(stage), facts.laws(stage)
        owners = [number - 1 for number in edge if number != LEARNER]
        if len(owners) == 1:
            total += means[owners[0]]
        else:
            total += _mean_longer(*((laws[i], means[i] - laws[i].mean) for i in owners))
    return total


def _mean_longer(first: tuple[Law, float], second: tuple[Law, float]) -> float:
    """Return E max(X + a, Y + b) of independent exponential or constant X and Y."""
    if first[0].constant:
        first, second = second, first
    (x, a), (y, b) = first, second
    if x.constant and y.constant:
        return max(x.mean + a, y.mean + b)
    if x.memoryless and y.constant:
        least = max(0.0, y.mean + b - a)
        return a + least + x.mean * exp(-least / x.mean)
    if x.memoryless and y.memoryless and a == b:
        return a + x.mean + y.mean - 1 / (1 / x.mean + 1 / y.mean)
    kinds = " and ".join(sorted({x.kind, y.kind}))
    raise NoFormulaError(f"no formula is known for the slower of two {kinds} times")


ENDLESS = "the queue grows without bound"


class RequestFacts(Facts):
    """Exchanges that a locked learner gets through."""

    fresh = "because of the lock"
    protocol: Request

    @property
    @override
    def waits(self) -> str:
        reasons = {"queue": "requests wait in a queue", "retry": "refused requests are sent again"}
        return "" if self.instant else reasons.get(self.protocol.busy, "")

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, and what becomes of requests, and the load of a channel."""
        names: tuple[str, ...] = ("throughput", "utilisation", "refusal_rate")
        formula = "locked learner that refuses, Poisson clocks, any law of the service"
        result = known(self._locked)
        if self.protocol.queues and not self.instant:
            formula = "open first-come-first-served queue (M/G/1), every tick a request, "
            formula, names, result = f"{formula}Poisson clocks", names[:2], known(self._queue)
        yield from each_of(names, result, formula)
        airtime = self.network.airtime
        if airtime is not None:
            formula = "the lock leaves the channel to one answer at a time"
            load = result if isinstance(result, Unknown) else (0.0, result[0] * airtime)
            yield from each_of(("collision_rate", "offered_load"), load, formula)

    @override
    def waiting(self) -> Iterator[Prediction]:
        formula = "a served request does not wait"
        if self.protocol.queues:
            formula = "Pollaczek–Khinchine: ΛE[S²]/(2(1−ρ'))"
            doubt = self.slow_requests or self.disturbed
            if self.instant and not doubt:
                formula = "service takes no time, so no request waits"
        yield either("mean_waiting", known(self._wait), formula)

    def _wait(self) -> float:
        """Return the mean time from a request that is served to its query."""
        no_formula_if(self.slow_requests)
        if not self.protocol.queues:
            return 0.0
        no_formula_if(self.disturbed)
        if self.instant:
            return 0.0
        no_formula_if(self._not_open)
        return queueing.fifo_wait(fsum(self.rates or ()), *self.moments()).mean

    @override
    def answers(self, updates: float) -> tuple[float, ...] | None:
        """Return the rates of the ticks, where all queue: each has its update in the end."""
        return self.rates if self.protocol.queues and not self.protocol.one_each else None

    def _locked(self) -> tuple[float, ...]:
        """Return throughput, utilisation and the part of requests that are refused."""
        no_formula_if(self.disturbed or self.slow_requests or self.waits)
        result = queueing.refusing_unequal(self.rates or (), self.services)
        return result.update_rate, result.busy_fraction, result.refusal_probability

    def _queue(self) -> tuple[float, ...]:
        """Return throughput and utilisation of the open queue.

        Requests may take time: a Poisson process displaced by independent times is one.
        """
        no_formula_if(self.disturbed or self._busy_channel or self._not_open)
        total = fsum(self.rates or ())
        return total, total * self.moments()[0]

    @property
    def _busy_channel(self) -> str:
        """Why requests meet each other on their way to the learner, if they may."""
        channel = self.network.channel.contended
        return "" if channel is None or channel.request_airtime is None else "requests take airtime"

    @property
    def _not_open(self) -> str:
        """Why the queue is no open M/G/1, if it is not."""
        if self.protocol.one_each:
            return "waiting owners do not ask again (own_tick)"
        load = fsum(self.rates or ()) * self.moments()[0]
        return f"{ENDLESS} (ρ' = {load:.3g} ≥ 1)" if load >= 1 else ""


class PushFacts(Facts):
    """Jobs of owners that nobody locks out."""

    entangled = ""
    protocol: Push

    @override
    def occupied(self, sending: Array, receiving: Array) -> Array | None:
        """Return the shares of jobs that start at every tick: M/G/∞, whose stages are Poisson.

        So many of an owner's jobs are in each stage, independently of the others, that nobody is in
        it with chance e^(−λ E[stage]).
        """
        if not self.overlap or self.rates is None:
            return None
        rates = np.array(self.rates)
        stages = np.stack([sending, self.network.mean_times("compute"), receiving])
        none = np.exp(-rates * np.cumsum(stages, axis=0))
        return -np.diff(np.concatenate([np.ones((1, self.n_owners)), none]), axis=0).T

    @override
    def predictions(self) -> Iterator[Prediction]:
        formula = "N idle-or-busy owners, λ/(1+λm) each"
        if self.overlap:
            formula = "every tick starts a job"
        if self.network.clock.saturated:
            formula = "always-busy owners, 1/m each"
        yield either("throughput", known(self._rate), formula)

    def _rate(self) -> float:
        """Return updates per time unit."""
        saturated = self.network.clock.saturated
        no_formula_if(self.can_lose_messages or self.spent() if saturated else self.disturbed)
        return fsum(self.flows(self.services))


ROUNDS = "synchronous rounds: 1/E max of m response times, H_m/μ where they are exponential"
STEPS = "servers: Δ/(Δ(q + Gc + a + 2s) + Me) for constant times, G gradients a step, M exchanges"


class RoundsFacts(Facts):
    """Rounds, which last as long as their slowest owners."""

    fresh = "a round's answers are all of the newest model"
    protocol: Rounds

    @property
    def asked(self) -> int:
        """How many owners are asked in a round, m or all N, while none is spent or rests."""
        return min(self.protocol.owners or self.n_owners, self.n_owners)

    @property
    @override
    def resting(self) -> str:
        enough = self.n_owners >= self.asked * (self.network.apart or 1)
        return "" if enough else super().resting

    @override
    def predictions(self) -> Iterator[Prediction]:
        yield either("throughput", known(_round_rate, self), ROUNDS)
        yield Prediction("mean_staleness", 0.0, self.fresh)

    @override
    def answers(self, updates: float) -> tuple[float, ...]:
        """Return m/N of the rate of rounds: where that is known, each has m answers."""
        return (updates * self.asked / self.n_owners,) * self.n_owners


class ServersFacts(Facts):
    """Steps of several servers."""

    fresh = "a server waits for the answers to its own model"
    protocol: Servers

    @override
    def predictions(self) -> Iterator[Prediction]:
        yield either("throughput", known(_steps, self), STEPS)
        yield Prediction("mean_staleness", 0.0, self.fresh)


def _round_rate(facts: RoundsFacts) -> float:
    """Return 1/(c + H_m/μ) for response times c + Exp(μ), alike for all owners."""
    network, deadline = facts.network, facts.protocol.deadline
    if not network.availability.always_online:
        raise NoFormulaError(
            f"availability is {network.availability.kind}: the offline delay a round or miss it"
        )
    if deadline is not None and not facts.within(deadline):
        raise NoFormulaError("rounds may end at the deadline")
    if network.aggregation is not None and any(facts.services):
        raise NoFormulaError("a sum is opened by a trip of its own")
    no_formula_if(facts.can_lose_messages or facts.shared)
    no_formula_if(facts.wires_fail, "links fail")
    least = min(network.answers_allowed)
    if least * (network.apart or 1) < network.updates:  # nothing is lost: a round takes one of each
        raise NoFormulaError(f"a budget of {least} answers may be spent before the run ends")
    service = facts.services[0]
    if max(facts.services) - min(facts.services) > 1e-12 * max(facts.services):
        raise NoFormulaError("owners are not equally fast")
    no_formula_if(max(facts.services) == 0, "rounds take no time")
    random = [
        [law for law in own if not law.constant]
        for own in zip(*map(facts.laws, STAGES), strict=True)
    ]
    if facts.asked == 1 or all(len(own) == 0 for own in random):
        return 1 / service
    no_formula_if(any(own != random[0] for own in random), "owners' times have different laws")
    if len(random[0]) > 1 or not random[0][0].memoryless:
        raise NoFormulaError("response times are no constant and one exponential time")
    slow: float = random[0][0].mean
    return 1 / (service - slow + mean_round(facts.asked, 1 / slow))


def _steps(facts: ServersFacts) -> float:
    """Return steps per unit of servers that step together.

    A step takes the query q, G gradients of c each (one per server under "basic", else G = 1),
    the answer a and twice a server's own latency s; every Δ of them exchanges e follow: two where
    all servers agree, one where neighbours do.
    """
    protocol = facts.protocol
    own = [[facts.laws(stage)[i] for stage in STAGES] for i in range(facts.n_owners)]
    theirs = per_owner(protocol.latency, protocol.count)
    everything = [*(law for laws in own for law in laws), *theirs, protocol.exchange]
    if not all(law.constant for law in everything):
        raise NoFormulaError(
            "times are random: servers and clients wait for the slowest of several"
        )
    gradients = protocol.answers_each
    computing = facts.network.mean_times("compute")
    times = [s + (gradients - 1) * c for s, c in zip(facts.services, computing, strict=True)]
    slow = max(law.mean for law in theirs)
    if max(times) - min(times) > 1e-12 * max(times) or slow > min(law.mean for law in theirs):
        raise NoFormulaError("clients or servers are not equally fast")
    turns = protocol.agreements
    if any(len(neighbours) == 0 for near in turns if near is not None for neighbours in near):
        raise NoFormulaError("servers without neighbours in some agreement are ahead of the others")
    exchanges = sum(2 if near is None else 1 for near in turns) / len(turns)
    window: float = protocol.window * (times[0] + 2 * slow) + exchanges * protocol.exchange.mean
    no_formula_if(window <= 0, "steps take no time")
    return protocol.window / window


_T = TypeVar("_T")

PROTOCOLS: Mapping[type, type[Facts]] = {
    Request: RequestFacts,
    Push: PushFacts,
    Broadcast: BroadcastFacts,
    Rounds: RoundsFacts,
    Dispatch: DispatchFacts,
    Gossip: GossipFacts,
    Servers: ServersFacts,
}
"""What is known of protocols."""


def facts_of(network: Network) -> Facts:
    """Return the network as theory sees it, worked out once."""
    kind = PROTOCOLS.get(type(network.protocol), Facts)
    facts: Facts = network.remembered.setdefault("facts", kind(network))
    return facts


def law(of: Callable[[Facts], _T]) -> Callable[[Network], _T | Unknown]:
    """Return a law of networks, which counts where the package knows every kind of them."""

    @wraps(of)
    def read(network: Network) -> _T | Unknown:
        facts = facts_of(network)
        return Unknown(facts.unknown) if facts.unknown else known(of, facts)

    return read
