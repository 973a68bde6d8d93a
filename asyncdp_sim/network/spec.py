"""The network part of a scenario: everything that decides which owner answers, and when."""

import hashlib
import json
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.compatibility import conflicts
from asyncdp_sim.network.latency import Latency, Laws, Payload, answer_bytes, query_bytes
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.network.sums import Aggregation
from asyncdp_sim.network.table_file import BY_CONTENT
from asyncdp_sim.network.topology import Topology
from asyncdp_sim.spec.base import CachedSpec, Count, Several, per_owner
from asyncdp_sim.spec.plugins import unplaced


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
        yield from conflicts(self.n_owners, self)
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
    def answer_numbers(self) -> int:
        """Numbers in an answer."""
        return self.numbers

    @property
    def computing(self) -> Laws:
        """How long an answer takes to be computed."""
        return self.compute

    @property
    def answer_bytes(self) -> int:
        """Bytes of an answer: its numbers and a header, and what opens the next sum."""
        return answer_bytes(self.n_owners, self)

    @property
    def query_bytes(self) -> int:
        """Bytes of a query: p numbers, or all N + 1 models."""
        return query_bytes(self.n_owners, self)

    @property
    def opening_bytes(self) -> tuple[int, int]:
        """Bytes of the two messages by which an owner helps to open a sum; 0 without sums."""
        sums, header = self.aggregation, self.payload.header_bytes
        if sums is None:
            return 0, 0
        return header + sums.asking(self.n_owners), header + sums.opening(self.n_owners)

    def message_bytes(self, name: str) -> int:
        """Return the bytes of a message: request, query, answer or acknowledgement."""
        sizes = {"query": self.query_bytes, "answer": self.answer_bytes}
        return sizes.get(name, self.payload.header_bytes)

    def transfer_times(self, message: str) -> tuple[float, ...]:
        """Return the time units that the bytes of a message take, per owner, over its own line."""
        rate = self.latency.rate_bytes
        sizes = {"query": self.query_bytes, "answer": self.answer_bytes}
        over_channel = message == "answer" and self.channel.contended is not None
        if rate is None or message not in sizes or over_channel:
            return (0.0,) * self.n_owners
        return tuple(sizes[message] / owner_rate for owner_rate in per_owner(rate, self.n_owners))

    def mean_times(self, stage: str) -> tuple[float, ...]:
        """Return the mean time of a stage, per owner: request, query, compute, or answer.

        The airtime of a shared channel is not part of it.
        """
        if stage == "compute":
            return tuple(law.mean for law in per_owner(self.compute, self.n_owners))
        laws = per_owner(getattr(self.latency, stage), self.n_owners)
        n_owners, topology = self.n_owners, self.topology
        far = (0.0,) * n_owners if topology is None else topology.distances(n_owners)
        parts = zip(laws, self.transfer_times(stage), far, strict=True)
        return tuple(law.mean + transfer + distance for law, transfer, distance in parts)

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
        return json.dumps(unplaced(parts), sort_keys=True)
