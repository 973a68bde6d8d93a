"""Protocols as theory sees them: updates, waits and losses, by exact class.

A class that derives from another may do other things, and so has no row that it does not write.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from math import exp, fsum, inf, prod, sqrt
from typing import TypeVar

from typing_extensions import override

from asyncdp_sim.core.specification import per_owner
from asyncdp_sim.network import Network, protocols
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols.dispatch import Queue
from asyncdp_sim.network.spec import STAGES
from asyncdp_sim.network.topology import LEARNER
from asyncdp_sim.theory.formulas import exchanges
from asyncdp_sim.theory.formulas.exchanges import Edge, LossNetwork, loss_network
from asyncdp_sim.theory.predict.facts import Facts, alike, budget_short
from asyncdp_sim.theory.prediction import (
    SPREADS,
    NoFormulaError,
    Prediction,
    Unknown,
    each_of,
    either,
    known,
    no_formula_if,
)

BROADCAST = "owners that listen answer after U[0, W], pure ALOHA, W + airtime ≤ interval"


class BroadcastFacts(Facts):
    """Answers of owners that all have the same query."""

    dependent = "owners answer the same query"
    protocol: protocols.Broadcast

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
        network, channel = self.network, self.network.channel
        window, interval = self.protocol.delay.window, self.protocol.interval
        airtime, available = network.airtime or 0.0, network.availability
        online, shared = available.online_share(self.n_owners), channel.contended
        no_formula_if(self.can_lose_messages)
        no_formula_if(
            not self.instant, "queries, computing or answers take time besides the airtime"
        )
        if window is None:
            raise NoFormulaError("answers do not wait for a uniform time from 0")
        plain = shared is channel and shared.sends_at_once and channel.exclusive
        other = "the channel is not pure ALOHA without capture and retransmission"
        no_formula_if(not plain or channel.retransmissions > 0, other)
        no_formula_if(self.wires_fail, "links fail")
        if not available.keeps_poisson or online is None:
            raise NoFormulaError(f"availability is {available.kind}")
        no_formula_if(max(online) > min(online), "owners listen differently often")
        crowded = window + airtime > interval or airtime > window / 2
        no_formula_if(crowded, "W + airtime > interval, or airtime > W/2")
        begun, clean = exchanges.broadcast(self.n_owners, online[0], airtime, window)
        no_formula_if(self.spent(begun / clean if clean > 0 else inf))
        return clean / interval, 1 - clean / begun, begun * airtime / interval


def on_channel(
    facts: Facts, values: tuple[float | Unknown, ...] | Unknown, formula: str
) -> Iterator[Prediction]:
    """Yield throughput, collisions and load of a channel that owners share."""
    shared = facts.network.channel.contended
    alone = shared is not None and shared.in_turn and facts.protocol.one_each
    for prediction in each_of(("throughput", "collision_rate", "offered_load"), values, formula):
        if prediction.quantity == "collision_rate" and alone:
            yield Prediction("collision_rate", 0.0, "each owner has its own slots")
        else:
            yield prediction


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
    protocol: protocols.Dispatch

    @property
    @override
    def entangled(self) -> str:
        """Empty too where tasks take turns, and no query arrives while an owner is at work."""
        one_by_one = self.protocol.queue == "fifo" and max(self.network.mean_times("query")) == 0
        return "" if one_by_one or self.protocol.tasks == 1 else super().entangled

    @property
    def _chances(self) -> tuple[float, ...]:
        """The probability that each owner is the next one asked, (N,)."""
        return self.protocol.chances(self.n_owners)

    @override
    def flows(self, jobs: Sequence[float]) -> tuple[float, ...]:
        if self.protocol.to == "same":
            return tuple(1 / job if job > 0 else 1.0 for job in jobs)
        return self._chances

    @override
    def shares(self) -> tuple[float, ...]:
        """Return each owner's share of the updates, (N,), where every task returns.

        It is the probability of asking the owner; for tasks that go back to the same owner it is
        their rate over that of all.
        """
        no_formula_if(self.can_lose_messages or self.shared or self._by_policy)
        if self.protocol.to != "same":
            return self._chances
        flows = self._rates_of_same()
        no_formula_if(min(flows) == 0, "some owners have no task")
        return tuple(flow / fsum(flows) for flow in flows)

    @override
    def predictions(self) -> Iterator[Prediction]:
        formula = "a closed network of m tasks"
        yield either("throughput", known(self._returns), formula, self._bounds())

    @override
    def staleness(self) -> float:
        """Return m − 1: so many other tasks return, on average, while one is under way.

        It holds for any choice of owners while their total budget suffices: the tasks of an owner
        without budget go to others.
        """
        network = self.network
        available, queries = network.availability, max(network.mean_times("query"))
        stays = available.all_return or (available.drawn_per_tick and queries == 0)
        budget, most = sum(network.answers_allowed), network.updates + self.protocol.left_open
        spent = "" if budget >= most else f"budgets of {budget} answers in all may be spent"
        no_formula_if(self.buffered or self.can_lose_messages or self.shared or spent)
        no_formula_if(not stays, "tasks of owners that are offline fail after a while")
        return self.protocol.tasks - 1.0

    @override
    def ends_next(self) -> tuple[float, ...]:
        """Return 1/m of ample servers that are alike; μ_i/Σμ of owners with a task each."""
        no_formula_if(self._doubt or self._by_policy)
        times, tasks = self.services, self.protocol.tasks
        if tasks == 1:
            return (1.0,) * self.n_owners
        one_each = self.protocol.to == "same" and tasks == self.n_owners
        never_wait = one_each or (alike(times) and self.protocol.queue == "none")
        lawless = "tasks that wait, or whose times are not exponential, have no such law"
        no_formula_if(not self.exponential() or not never_wait, lawless)
        rate = fsum(1 / time for time in times)
        return tuple(1 / time / rate if one_each else 1 / tasks for time in times)

    @property
    @override
    def unasked(self) -> str:
        few = self.protocol.to == "same" and self.protocol.tasks < self.n_owners
        return "some owners have no task" if few else self._by_policy

    @property
    def _by_policy(self) -> str:
        """Why nobody knows beforehand how often each owner is asked, if a policy decides it."""
        policy = self.protocol.policy
        return "" if policy is None else f"policy {policy.kind} chooses which owners to ask"

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
            return fsum(self._rates_of_same())
        tasks, queue = self.protocol.tasks, self.protocol.queue
        round_robin = self.protocol.to == "in-turn" and tasks > 1 and queue != "none"
        no_formula_if(round_robin, "several tasks that go round in turn have no product form")
        no_formula_if(self._doubt)
        no_formula_if(self._not_exponential if tasks > 1 else "")
        times = self._times("none" if tasks == 1 else queue)
        return exchanges.closed_network(tasks, self._chances, *times)[0]

    def _rates_of_same(self) -> tuple[float, ...]:
        """Return the tasks of each owner that return per time unit, (N,), if to = "same".

        A task goes back to the owner that it comes from; at first tasks are dealt in turn.
        """
        no_formula_if(self._doubt)
        held, (work, travel) = self._dealt(), self._times(self.protocol.queue)
        waits = any(n > 1 and away > 0 for n, away in zip(held, travel, strict=True))
        no_formula_if(self._not_exponential if waits else "")
        return tuple(
            0.0 if n == 0 else exchanges.closed_network(n, (1.0,), (busy,), (away,))[0]
            for n, busy, away in zip(held, work, travel, strict=True)
        )

    def _bounds(self) -> tuple[float, float] | tuple[None, None]:
        """Return bounds of the tasks that return per time unit, for any law of the times.

        Both are None where no bound is known.
        """
        if self._by_policy or self._doubt:
            return None, None
        work, travel = self._times(self.protocol.queue)
        if self.protocol.to != "same":
            return exchanges.return_bounds(self.protocol.tasks, self._chances, work, travel)
        bounds = [
            exchanges.return_bounds(held, (1.0,), (busy,), (away,))
            for held, busy, away in zip(self._dealt(), work, travel, strict=True)
            if held > 0
        ]
        return fsum(low for low, _ in bounds), fsum(high for _, high in bounds)

    def _dealt(self) -> list[int]:
        """Return how many tasks each owner has that are dealt in turn."""
        per_owner, more = divmod(self.protocol.tasks, self.n_owners)
        return [per_owner + (i < more) for i in range(self.n_owners)]

    @property
    def _not_exponential(self) -> str:
        """Why times of tasks that wait have no law that counts, if they have none."""
        queue = self.protocol.queue
        sure = queue != "fifo" or self.exponential(IN_THE_WAY[queue])
        return "" if sure else "owners' times of work, with their answers' way, are not exponential"

    def _times(self, queue: Queue) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return each owner's mean time, (N,), in stages of ``IN_THE_WAY``, and in the others."""
        work, rest = [(0.0,) * self.n_owners], [(0.0,) * self.n_owners]
        for stage in STAGES:
            times = work if stage in IN_THE_WAY[queue] else rest
            times.append(self.network.mean_times(stage))
        return tuple(map(fsum, zip(*work, strict=True))), tuple(map(fsum, zip(*rest, strict=True)))


MEETINGS = "neighbours meet as in a loss network: Poisson edges, any law of the time they take"


class GossipFacts(Facts):
    """Meetings of neighbours.

    Losses take no time and change nothing that follows, so that meetings are those of a network
    without them: of each edge e an update is made with chance q_e, and r_e answers are used on
    average. Staleness of the answers used and answers in flight just after updates have one sum, so
    that the mean staleness is Σ_e f_e q_e E_e[Σ r of the pairs that talk] / Σ_e f_e r_e.
    """

    dependent = "neighbours answer in pairs"
    protocol: protocols.Gossip

    @override
    def predictions(self) -> Iterator[Prediction]:
        """Yield throughput, utilisation and staleness."""
        names = ("throughput", "utilisation", "mean_staleness")
        return each_of(names, known(self._figures), MEETINGS)

    def _figures(self) -> tuple[float, ...]:
        losses = self.network.channel.packet_loss()
        bursts = "answers are lost in bursts, and a meeting that loses both makes no update"
        no_formula_if(self.loses("answer") and losses.bursty, bursts)
        shares, updating, used = losses.shares(self.n_owners), {}, {}
        for edge in self.protocol.graph.edges(self.n_owners):
            lost = [shares[node - 1] for node in edge if node != LEARNER]
            updating[edge] = 1 - prod(lost)
            used[edge] = fsum(1 - share for share in lost)
        meetings = self._meetings(used)
        rate = meetings.total(updating)
        self._require_unspent(meetings, rate)
        in_flight = {edge: chance * meetings.after[edge] for edge, chance in updating.items()}
        return rate, meetings.busy_fraction, meetings.total(in_flight) / meetings.total(used)

    def _meetings(self, used: Mapping[Edge, float]) -> LossNetwork:
        """Return how neighbours meet, with the answers used of each meeting for its mark."""
        clock, available = self.protocol.clock, self.network.availability
        online, ticks = available.online_share(self.n_owners), clock.rates(len(used))
        if not clock.memoryless or ticks is None:
            raise NoFormulaError(f"clocks are {clock.kind}, not Poisson")
        if not available.keeps_poisson or online is None or min(online) == 0:
            alone = "which is not drawn for each wake-up alone"
            raise NoFormulaError(f"availability is {available.kind}, {alone}")
        share = (1.0, *online)
        pairs = zip(used, ticks, strict=True)
        rates = {edge: tick * share[edge[0]] * share[edge[1]] for edge, tick in pairs}
        found = loss_network(rates, {edge: self._mean_time(edge) for edge in used}, used)
        if found is None:
            raise NoFormulaError("the graph has too many matchings to sum")
        return found

    def _require_unspent(self, meetings: LossNetwork, rate: float) -> None:
        """Raise where an owner may fall silent before the run ends."""
        updates = self.network.updates
        most = inf if self.loses("answer") else updates
        for owner, budget in enumerate(self.network.answers_allowed, start=1):
            spent = updates * meetings.of(owner) / rate
            no_formula_if(budget < min(most, spent + SPREADS * sqrt(spent)), budget_short(budget))

    def _mean_time(self, edge: Edge) -> float:
        """Return the mean time of a meeting, stage by stage the slower node's."""
        total, owners = 0.0, [node - 1 for node in edge if node != LEARNER]
        for stage in STAGES:
            means, laws = self.network.mean_times(stage), self.laws(stage)
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
    protocol: protocols.Request

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
        return exchanges.fifo_wait(fsum(self.rates or ()), *self.moments())

    @override
    def answers(self, updates: float) -> tuple[float, ...] | None:
        """Return the rates of the ticks, where all queue: each has its update in the end."""
        return self.rates if self.protocol.queues and not self.protocol.one_each else None

    def _locked(self) -> tuple[float, ...]:
        """Return throughput, utilisation and the part of requests that are refused."""
        no_formula_if(self.disturbed or self.slow_requests or self.waits)
        return exchanges.refusing_unequal(self.rates or (), self.services)

    def _queue(self) -> tuple[float, ...]:
        """Return throughput and utilisation of the open queue.

        Requests may take time: a Poisson process displaced by independent times is one.
        """
        no_formula_if(self.disturbed or self.requests_on_air or self._not_open)
        total = fsum(self.rates or ())
        return total, total * self.moments()[0]

    @property
    def _not_open(self) -> str:
        """Why the queue is no open M/G/1, if it is not."""
        if self.protocol.one_each:
            return "waiting owners do not ask again (own_tick)"
        load = fsum(self.rates or ()) * self.moments()[0]
        return f"{ENDLESS} (ρ' = {load:.3g} ≥ 1)" if load >= 1 else ""


class PushFacts(Facts):
    """Jobs of owners that nobody locks out."""

    protocol: protocols.Push

    @override
    def predictions(self) -> Iterator[Prediction]:
        formula = "N idle-or-busy owners, λ/(1+λm) each"
        if self.protocol.overlap:
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
    protocol: protocols.Rounds

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
        yield either("throughput", known(self._rate), ROUNDS)
        yield Prediction("mean_staleness", 0.0, self.fresh)

    @override
    def answers(self, updates: float) -> tuple[float, ...]:
        """Return m/N of the rate of rounds: where that is known, each has m answers."""
        return (updates * self.asked / self.n_owners,) * self.n_owners

    def _rate(self) -> float:
        """Return 1/(c + H_m/μ) for response times c + Exp(μ), alike for all owners."""
        network, deadline, online = self.network, self.protocol.deadline, self.network.availability
        late = f"availability is {online.kind}: the offline delay a round or miss it"
        no_formula_if(not online.always_online, late)
        ends_early = deadline is not None and not self.within(deadline)
        no_formula_if(ends_early, "rounds may end at the deadline")
        masked = network.aggregation is not None and any(self.services)
        no_formula_if(masked, "a sum is opened by a trip of its own")
        no_formula_if(self.can_lose_messages or self.shared)
        no_formula_if(self.wires_fail, "links fail")
        least = min(network.answers_allowed)  # nothing is lost: a round takes one of each
        no_formula_if(least * (network.apart or 1) < network.updates, budget_short(least))
        no_formula_if(not alike(self.services), "owners are not equally fast")
        service = self.services[0]
        no_formula_if(service == 0, "rounds take no time")
        random = [
            [law for law in own if not law.constant]
            for own in zip(*map(self.laws, STAGES), strict=True)
        ]
        if self.asked == 1 or all(len(own) == 0 for own in random):
            return 1 / service
        no_formula_if(any(own != random[0] for own in random), "owners' times have different laws")
        plain = len(random[0]) == 1 and random[0][0].memoryless
        no_formula_if(not plain, "response times are no constant and one exponential time")
        slow: float = random[0][0].mean
        return 1 / (service - slow + exchanges.mean_round(self.asked, 1 / slow))


class ServersFacts(Facts):
    """Steps of several servers."""

    fresh = "a server waits for the answers to its own model"
    protocol: protocols.Servers

    @override
    def predictions(self) -> Iterator[Prediction]:
        yield either("throughput", known(self._steps), STEPS)
        yield Prediction("mean_staleness", 0.0, self.fresh)

    def _steps(self) -> float:
        """Return steps per unit of servers that step together.

        A step takes the query q, G gradients of c each (one per server under "basic", else G = 1),
        the answer a and twice a server's own latency s; every Δ of them exchanges e follow: two
        where all servers agree, one where neighbours do.
        """
        protocol, theirs = self.protocol, per_owner(self.protocol.latency, self.protocol.count)
        laws = [*(law for stage in STAGES for law in self.laws(stage)), *theirs, protocol.exchange]
        waits = "times are random: servers and clients wait for the slowest of several"
        no_formula_if(not all(law.constant for law in laws), waits)
        more = protocol.answers_each - 1
        computing = self.network.mean_times("compute")
        times = [s + more * c for s, c in zip(self.services, computing, strict=True)]
        latencies = [law.mean for law in theirs]
        equal = alike(times) and max(latencies) == min(latencies)
        no_formula_if(not equal, "clients or servers are not equally fast")
        turns = protocol.agreements
        ahead = "servers without neighbours in some agreement are ahead of the others"
        no_formula_if(any(near is not None and min(map(len, near)) == 0 for near in turns), ahead)
        exchanges = sum(2 if near is None else 1 for near in turns) / len(turns)
        window: float = protocol.window * (times[0] + 2 * latencies[0])
        window += exchanges * protocol.exchange.mean
        no_formula_if(window <= 0, "steps take no time")
        return protocol.window / window


_T = TypeVar("_T")

PROTOCOLS: Mapping[type, type[Facts]] = {
    protocols.Request: RequestFacts,
    protocols.Push: PushFacts,
    protocols.Broadcast: BroadcastFacts,
    protocols.Rounds: RoundsFacts,
    protocols.Dispatch: DispatchFacts,
    protocols.Servers: ServersFacts,
    protocols.Gossip: GossipFacts,
}
"""What is known of protocols."""


def facts_of(network: Network) -> Facts:
    """Return the network as theory sees it, worked out once."""
    kind = PROTOCOLS.get(type(network.protocol), Facts)
    facts: Facts = network.remembered.setdefault("facts", kind(network))
    return facts


def law(law_of_facts: Callable[[Facts], _T]) -> Callable[[Network], _T | Unknown]:
    """Return a law of facts as one of networks, unknown where a kind comes from outside."""

    @wraps(law_of_facts)
    def read(network: Network) -> _T | Unknown:
        facts = facts_of(network)
        return Unknown(facts.unknown) if facts.unknown else known(law_of_facts, facts)

    return read
