"""The network part of a scenario: everything that decides which owner answers, and when."""

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.gone import unnamed
from asyncdp_sim.core.plugins import unplaced
from asyncdp_sim.core.specification import (
    LONGEST,
    CachedSpec,
    Count,
    PerOwner,
    Positive,
    Several,
    Spec,
    per_owner,
    wrong_length,
)
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.channels.kind import MESSAGES as LOSSES
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.laws import Law, LawKind, NoTime
from asyncdp_sim.network.owner import MESSAGES
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.network.table_file import BY_CONTENT
from asyncdp_sim.network.topology import Topology

STAGES = ("query", "compute", "answer")
"""Of an exchange, from a query to the arrival of its answer."""
Laws = PerOwner[Law]
"""One law for all owners, or a list with one law per owner."""


class Latency(Spec):
    """Travel times of messages (time units), one law each, or a list with one law per owner."""

    request: Laws = NoTime()
    query: Laws = NoTime()
    answer: Laws = NoTime()
    acknowledgement: Laws = NoTime()
    rate_bytes: PerOwner[Positive] | None = None

    @property
    def acknowledges(self) -> bool:
        """Whether an acknowledgement takes an event."""
        return any(not law.instant for law in per_owner(self.acknowledgement, 1))


class Payload(Spec):
    """Sizes of messages."""

    number_bytes: Annotated[int, Field(ge=1, le=10**6)] = 8
    header_bytes: Annotated[int, Field(ge=0, le=10**9)] = 40

    def size(self, numbers: int) -> int:
        """Return the bytes of a message that holds so many numbers."""
        return numbers * self.number_bytes + self.header_bytes


def conflicts(parts: "Network") -> list[Fault]:
    """Return what does not fit together among the network's parts."""
    n_owners = parts.n_owners
    faults: list[Fault] = parts.clock.faults(n_owners) + parts.availability.faults(n_owners)
    faults += parts.channel.faults(n_owners)
    if parts.topology is not None:
        faults += parts.topology.faults(n_owners)
    laws = {f"latency.{name}": getattr(parts.latency, name) for name in MESSAGES}
    for key, value in {**laws, "latency.rate_bytes": parts.latency.rate_bytes}.items():
        faults += wrong_length(key, value, n_owners, "number" if "bytes" in key else "law")
    faults += wrong_length("compute", parts.compute, n_owners, "law")
    faults = faults or [*_never_heard(parts)]
    if len(faults) > 0:
        return faults
    own: list[Fault] = [*parts.protocol.faults_of_network(parts)]
    if parts.protocol.own_network and len(own) > 0:
        return own
    faults = [*_saturated(parts), *_without_pause(parts)]
    if parts.airtime is not None:
        faults += [f.under("channel") for f in parts.channel.faults_of_airtime(parts.airtime)]
    online = parts.availability.online_share(n_owners)
    if online is not None and max(online) == 0:
        rule = "no owner is ever online, so no update can ever happen"
        faults.append(Fault("availability.kind", repr(parts.availability.kind), rule))
    faults += [*_unresolved(parts), *own, *_resting(parts)]
    return [*faults, *(_not_superposable(parts) if parts.clock.superposed else ())]


def superposable(parts: "Network") -> bool:
    """Return whether one clock could tick for all owners of these parts."""
    return parts.clock.memoryless and next(_not_superposable(parts), None) is None


def _not_superposable(parts: "Network") -> Iterator[Fault]:
    """Yield what keeps one clock from ticking for all owners."""
    if not parts.availability.superposable:
        rule = (
            "superposed clocks need availability always, bernoulli, diurnal without random phases, "
            "or on-off with exponential laws"
        )
        yield Fault("availability.kind", repr(parts.availability.kind), rule)
    yield from parts.protocol.not_superposable()
    if parts.topology is not None:
        rule = "superposed clocks need owners that are equally far: no topology"
        yield Fault("topology.kind", repr(parts.topology.kind), rule)
    laws = {f"latency.{name}": getattr(parts.latency, name) for name in (*MESSAGES, "rate_bytes")}
    for key, value in {**laws, "compute": parts.compute}.items():
        if isinstance(value, tuple):
            rule = "superposed clocks need one law for all owners"
            yield Fault(key, f"{len(value)} values", rule)


def _saturated(parts: "Network") -> Iterator[Fault]:
    """Ask of owners without a clock that they can work at once."""
    if not parts.clock.saturated:
        return
    if not parts.protocol.always_served:
        rule = "a saturated clock needs protocol push: refused owners would ask for ever"
        yield Fault("protocol.kind", repr(parts.protocol.kind), rule)
    if not parts.availability.always_online:
        rule = "a saturated clock needs owners that are always online"
        yield Fault("availability.kind", repr(parts.availability.kind), rule)
    if parts.topology is not None and parts.topology.failures is not None:
        rule = "a saturated clock needs links that never fail"
        yield Fault("topology.failures", "a table", rule)


def _without_pause(parts: "Network") -> Iterator[Fault]:
    """Ask that time passes where one exchange begins the moment the last one ends."""
    if not (parts.clock.saturated or parts.protocol.restarts_immediately):
        return
    subject = f"protocol {parts.protocol.kind}"
    subject = "a saturated clock" if parts.clock.saturated else subject
    if parts.channel.contended is not None and not parts.channel.contended.lets_begin:
        rule = f"{subject} needs a channel that lets every answer begin"
        yield Fault("channel.kind", repr(parts.channel.kind), rule)
    if max(parts.channel.packet_loss("query").shares(parts.n_owners)) == 1:
        rule = f"{subject} needs queries that arrive, or an owner asks for ever"
        yield Fault("channel.loss_query", "1 for some owner", rule)
    if parts.channel.contended is None and min(parts.exchange_times()) == 0:
        rule = f"{subject} needs jobs that take time: set compute or a latency"
        yield Fault("compute", "jobs that take no time", rule)


def _never_heard(parts: "Network") -> Iterator[Fault]:
    """Yield a fault for each kind of message that an update needs and that never arrives."""
    for message in ("answer", "query", *["request"] * parts.protocol.sends_requests):
        if min(parts.channel.packet_loss(message).shares(parts.n_owners)) == 1:
            rule = "allowed is a loss < 1 for at least one owner: no update could ever happen"
            yield Fault(f"channel.{LOSSES[message]}", "1 for every owner", rule)


def _resting(parts: "Network") -> Iterator[Fault]:
    """Ask that the learner decides who answers at which update, where owners are to rest."""
    if parts.apart is None:
        return
    if not parts.protocol.keeps_apart:
        rule = "privacy.participation.apart needs protocol request, rounds or dispatch, whose "
        rule += "learner decides when an owner may answer"
        yield Fault("protocol.kind", repr(parts.protocol.kind), rule)
    if parts.channel.retransmissions > 0 and parts.channel.resend == "fresh":
        rule = 'allowed with privacy.participation.apart is "same": a fresh answer is one more'
        yield Fault("channel.resend", "'fresh'", rule)


NOTICED = 1e-3
"""x from which a warning is printed: figures are off by 0.05 %."""
REFUSED = 1e-2
"""x from which nothing is simulated: figures would be off by 0.5 %."""


def meeting(parts: "Network") -> float:
    """Return x = Λδ, the mean number of ticks of all clocks in one tick of time.

    Λ = Σλ_i and δ = 10⁻⁹ time units. The mean of exponential gaps rounded to ticks is short by
    (λδ)²/24 of itself. Of owners whose clocks tick together the one that was served last comes
    last, so that P(i_{k+1} = i_k) is short by (N − 1)/(2N)·x of itself, to first order. A regular
    clock's period is off by x/2 of itself at most: ``tests/verification/test_resolution.py``.

    Owners without a clock begin anew when a job ends, at the rate of jobs; so do rounds, steps of
    servers, and tasks that are handed out. Where ticks have no rate none meet by rounding.
    """
    rates = parts.protocol.rates(parts)
    if parts.clock.saturated:
        rates = tuple(1 / time for time in parts.exchange_times() if time > 0)
    return 0.0 if rates is None else sum(rate / TICKS_PER_UNIT for rate in rates)


def _unresolved(parts: "Network") -> Iterator[Fault]:
    """Yield a fault where clocks are too fast for ticks of time to tell who was first.

    Or too slow: the mean gap is a duration, which has a longest one.
    """
    jobs = ("compute", "owners whose jobs end")
    key, events = jobs if parts.clock.saturated else parts.protocol.paced_by
    met, slowest = meeting(parts), 1.0
    if key != "compute":
        slowest = min(parts.protocol.rates(parts) or (1.0,))
    if slowest * LONGEST < 1:
        rule = f"allowed is at least {1 / LONGEST:g}: choose a longer time unit"
        yield Fault(key, f"{slowest:g}", rule)
    elif met > REFUSED:
        shown = f"{events} {met * TICKS_PER_UNIT:.3g} times per time unit in all"
        steps = f"as time is counted in steps of {1 / TICKS_PER_UNIT:g}"
        remedy = "choose a shorter time unit, by which rates fall and times grow"
        rule = f"allowed are {REFUSED * TICKS_PER_UNIT:g} at most, {steps}: {remedy}"
        yield Fault(key, shown, rule)


class Network(CachedSpec):
    """All that a trace depends on, besides the seed.

    Attributes
    ----------
    answers_allowed : tuple of int
        How many distinct answers each owner may release in all (one number per owner); this is
        all that the network knows of privacy.
    updates : int
        T ≥ 1; the run ends with update T.
    answers_per_update : int, optional
        B ≥ 1; the learner keeps answers that have arrived until they are B, and makes one update
        of them. None where the protocol says what an update is made of, as ``rounds`` does.
    until : float, optional
        The run ends before this time (time units) at the latest.
    ties : str
        Events of one class at one tick happen in the order in which they were scheduled
        ("declared"), or in an order drawn from a stream of its own ("shuffled"), which exposes
        what depends on it.
    stops : bool
        Whether the algorithm may end the run at an update.
    answers_once : bool
        Whether an owner releases one answer only, and sends what it has worked out of that and of
        what it heard, whenever it is asked again: nothing of that is another answer.
    apart : int, optional
        s ≥ 1: an owner that was asked at update k is asked again at update k + s at the earliest.
    numbers : int
        Numbers in an answer, p for a gradient; matters where messages take time by their size.
    owner_numbers : tuple of int, optional
        Numbers by which owners' streams are called, where they are some of more owners.
    query_numbers : int, optional
        p, the numbers in a query, where an answer has another number.
    aggregation : Aggregation, optional
        How answers are summed before the learner can read them; absent, it reads each.
    occupation : bool
        Whether traces tell what owners were at, and how many messages they had.
    """

    answers_allowed: Several[Count]
    updates: Count
    answers_per_update: Count | None = 1
    until: Annotated[float, Field(gt=0, le=1e9)] | None = None
    ties: Literal["declared", "shuffled"] = "declared"
    stops: bool = False
    answers_once: bool = False
    apart: Count | None = None
    numbers: Count = 1
    query_numbers: Count | None = None
    owner_numbers: Several[Count] | None = None
    aggregation: Aggregation | None = None
    occupation: bool = False
    clock: Clock = PoissonClock()
    availability: Availability = Always()
    channel: Channel = Ideal()
    latency: Latency = Latency()
    payload: Payload = Payload()
    topology: Topology | None = None
    compute: Laws = NoTime()
    protocol: Protocol = Request()

    @override
    def own_faults(self) -> Iterator[Fault]:
        yield from conflicts(self)
        synchronous = self.protocol.makes_updates
        if synchronous != (self.answers_per_update is None):
            shown = "nothing" if self.answers_per_update is None else str(self.answers_per_update)
            rule = f"{'not allowed' if synchronous else 'allowed is a number'} under this protocol"
            yield Fault("answers_per_update", shown, rule)

    @property
    def n_owners(self) -> int:
        """Number of owners."""
        return len(self.answers_allowed)

    @property
    def superposed(self) -> bool:
        """Whether one clock ticks for all owners."""
        return self.clock.superposed

    @property
    def answer_bytes(self) -> int:
        """Bytes of an answer: its numbers and a header, and what opens the next sum."""
        sums = self.aggregation
        if sums is None:
            return self.payload.size(self.numbers)
        masked = self.numbers * sums.number_bytes + sums.with_answer(self.n_owners)
        return self.payload.header_bytes + masked

    @property
    def query_bytes(self) -> int:
        """Bytes of a query: p numbers, or all N + 1 models; and keys, where answers are summed."""
        copies = self.n_owners + 1 if self.protocol.sends_copies else 1
        size = self.payload.size((self.query_numbers or self.numbers) * copies)
        sums = self.aggregation
        return size if sums is None else size + sums.with_query(self.n_owners)

    @property
    def trip_bytes(self) -> dict[str, tuple[int, int]]:
        """Bytes of both messages of each step by which sums are prepared or opened."""
        sums, header = self.aggregation, self.payload.header_bytes
        steps = {} if sums is None else sums.trips(self.n_owners)
        return {step: (header + there, header + back) for step, (there, back) in steps.items()}

    @property
    def opening_bytes(self) -> tuple[int, int]:
        """Bytes of the two messages by which an owner helps to open a sum; 0 without sums."""
        return self.trip_bytes.get("opening", (0, 0))

    def message_bytes(self, name: str) -> int:
        """Return the bytes of a message: request, query, answer or acknowledgement."""
        sizes = {"query": self.query_bytes, "answer": self.answer_bytes}
        return sizes.get(name, self.payload.header_bytes)

    def transfer_times(self, message: str) -> tuple[float, ...]:
        """Return the time units that the bytes of a message take, per owner, over its own line."""
        rate, size = self.latency.rate_bytes, self.message_bytes(message)
        over_channel = message == "answer" and self.channel.contended is not None
        if rate is None or message not in ("query", "answer") or over_channel:
            return (0.0,) * self.n_owners
        return tuple(size / owner_rate for owner_rate in per_owner(rate, self.n_owners))

    def mean_times(self, stage: str) -> tuple[float, ...]:
        """Return the mean time of a stage, per owner: request, query, compute, or answer.

        The airtime of a shared channel is not part of it.
        """
        return self._times(stage, attrgetter("mean"))

    def _times(self, stage: str, of: Callable[[LawKind], float]) -> tuple[float, ...]:
        """Return the time of a stage, per owner, with what ``of`` says of its law."""
        n_owners, topology = self.n_owners, self.topology
        if stage == "compute":
            return tuple(map(of, per_owner(self.compute, n_owners)))
        laws = per_owner(getattr(self.latency, stage), n_owners)
        far = (0.0,) * n_owners if topology is None else topology.distances(n_owners)
        parts = zip(laws, self.transfer_times(stage), far, strict=True)
        return tuple(of(law) + transfer + distance for law, transfer, distance in parts)

    def exchange_times(self, of: Callable[[LawKind], float] = attrgetter("mean")) -> list[float]:
        """Return each owner's time from a query to the arrival of its answer, airtime included.

        Parameters
        ----------
        of : callable
            What is added up of the laws of its stages: their means, or the least durations.
        """
        airtime, stages = self.airtime or 0.0, [self._times(stage, of) for stage in STAGES]
        return [airtime + sum(times) for times in zip(*stages, strict=True)]

    @property
    def airtime(self) -> float | None:
        """Airtime of an answer (time units); None where answers share no channel."""
        shared = self.channel.contended
        return None if shared is None else shared.answer_airtime(self.answer_bytes)

    def digest(self, seed: int, replicates: int) -> str:
        """Return the name under which traces of this network can be shared (16 hex digits)."""
        text = f"[{seed}, {replicates}, {self._said}]"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def _said(self) -> str:
        """All of it as JSON, with files by their contents."""
        parts = self.model_dump(mode="json", exclude_none=True, context=BY_CONTENT)
        if self.answers_per_update == 1:  # as it was named before there were others
            del parts["answers_per_update"]
        for name in ("stops", "answers_once", "occupation"):
            if not parts[name]:
                del parts[name]
        return json.dumps(unplaced(unnamed(parts)), sort_keys=True)
