"""Travel times of messages, and the bytes that they hold."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal

from pydantic import Field

from asyncdp_sim.core.specification import Count, PerOwner, Positive, Spec, per_owner
from asyncdp_sim.network.laws import Law, NoTime

STAGES = ("query", "compute", "answer")
"""Of an exchange, from a query to the arrival of its answer."""
MESSAGES = ("request", "query", "answer", "acknowledgement")
Laws = PerOwner[Law]
"""One law for all owners, or a list with one law per owner."""


class Latency(Spec):
    """Travel times of messages (time units), one law each, or a list with one law per owner."""

    request: Laws = NoTime()
    query: Laws = NoTime()
    answer: Laws = NoTime()
    acknowledgement: Laws = NoTime()
    rate_bytes: PerOwner[Positive] | None = None


class Payload(Spec):
    """Sizes of messages."""

    number_bytes: Annotated[int, Field(ge=1, le=10**6)] = 8
    header_bytes: Annotated[int, Field(ge=0, le=10**9)] = 40

    def size(self, numbers: int) -> int:
        """Return the bytes of a message that holds so many numbers."""
        return numbers * self.number_bytes + self.header_bytes


Bytes = Annotated[int, Field(ge=0, le=10**6)]


class Aggregation(Spec):
    """The terms on which answers are summed.

    Attributes
    ----------
    least : int
        Contributions without which a sum is not opened, n − d; so many shares open one.
    number_bytes : int
        Bytes of a masked number.
    key_bytes, share_bytes : int
        Bytes of an owner's public keys, and of what it shares with one other owner.
    absent_at : str, optional
        Steps at which messages are lost and owners absent, besides answers: ``opening`` a sum; or
        ``every-step``, where keys and shares take a trip each. Without it, at answers only.
    """

    least: Count
    number_bytes: Bytes = 8
    key_bytes: Bytes = 64
    share_bytes: Bytes = 80
    absent_at: Literal["opening", "every-step"] | None = None

    @property
    def prepared(self) -> bool:
        """Whether keys and shares take trips of their own, before the query."""
        return self.absent_at == "every-step"

    def with_query(self, n_owners: int) -> int:
        """Return the bytes that sums add to a query: keys and shares of all other owners."""
        keys = 0 if self.prepared else self.key_bytes
        return (n_owners - 1) * (keys + self.share_bytes)

    def with_answer(self, n_owners: int) -> int:
        """Return the bytes that sums add to an answer: its owner's keys, a share for each other."""
        return 0 if self.prepared else self.key_bytes + (n_owners - 1) * self.share_bytes

    def trips(self, n_owners: int) -> dict[str, tuple[int, int]]:
        """Return the bytes, without headers, of each trip's two messages: there and back."""
        peers = n_owners - 1
        keys = {"keys": (0, self.key_bytes)}
        shares = {"shares": (peers * self.key_bytes, peers * self.share_bytes)}
        opening = {"opening": (self.asking(n_owners), self.opening(n_owners))}
        return keys | shares | opening if self.prepared else opening

    def asking(self, n_owners: int) -> int:
        """Return the bytes, without a header, that name those who answered: a bit for each."""
        return -(-n_owners // 8)

    def opening(self, n_owners: int) -> int:
        """Return the bytes, without a header, by which one owner helps to open a sum."""
        return (n_owners - 1) * self.share_bytes

    def last_needed(self, ticks: Sequence[int]) -> int:
        """Return how long a sum takes to be opened: until ``least`` of these trips (ticks) end."""
        return sorted(ticks)[self.least - 1]


def acknowledged(laws: Law | tuple[Law, ...]) -> bool:
    """Return whether a message with these laws, such as acknowledgements, takes an event."""
    return any(not law.instant for law in per_owner(laws, 1))


def query_bytes(n_owners: int, parts: Any) -> int:
    """Return the bytes of a query: p numbers, or all N + 1 models.

    Parameters
    ----------
    n_owners : int
        N.
    parts : Network or Scenario
    """
    numbers = parts.query_numbers or parts.numbers
    key_bytes = 0 if parts.aggregation is None else parts.aggregation.with_query(n_owners)
    size: int = parts.payload.size(numbers * (n_owners + 1 if parts.protocol.sends_copies else 1))
    return size + key_bytes


def answer_bytes(n_owners: int, parts: Any) -> int:
    """Return the bytes of an answer: its numbers and a header, and what opens the next sum."""
    sums, numbers = parts.aggregation, parts.answer_numbers
    if sums is None:
        return int(parts.payload.size(numbers))
    masked = numbers * sums.number_bytes + sums.with_answer(n_owners)
    return int(parts.payload.header_bytes + masked)


def answer_airtime(n_owners: int, parts: Any) -> float:
    """Return the airtime of an answer (time units); 0 where answers share no channel."""
    shared = parts.channel.contended
    return 0.0 if shared is None else float(shared.answer_airtime(answer_bytes(n_owners, parts)))


def least_times(n_owners: int, parts: Any) -> list[float]:
    """Return each owner's least time from a query to the arrival of its answer."""
    return _exchange_times(n_owners, parts, attrgetter("least"))


def mean_times(n_owners: int, parts: Any) -> list[float]:
    """Return each owner's mean time from a query to the arrival of its answer."""
    return _exchange_times(n_owners, parts, attrgetter("mean"))


def _exchange_times(n_owners: int, parts: Any, of: Callable[[Law], float]) -> list[float]:
    """Return each owner's time units from a query to the arrival of its answer.

    The sum of ``of`` over the laws of its stages, and of what bytes, distance and airtime take.
    """
    airtime, rates = answer_airtime(n_owners, parts), parts.latency.rate_bytes
    stages = (parts.latency.query, parts.computing, parts.latency.answer)
    several = any(isinstance(stages_of_owner, tuple) for stages_of_owner in (*stages, rates))
    count = n_owners if several or parts.topology is not None else 1
    moved = query_bytes(n_owners, parts)
    moved += 0 if parts.channel.contended is not None else answer_bytes(n_owners, parts)
    lines = (
        (0.0,) * count
        if rates is None
        else (moved / stages_of_owner for stages_of_owner in per_owner(rates, count))
    )
    far = (0.0,) * count if parts.topology is None else parts.topology.distances(count)
    laws = zip(*(per_owner(stage, count) for stage in stages), strict=True)
    times = [
        airtime + line + 2 * distance + sum(map(of, stages_of_owner))
        for line, distance, stages_of_owner in zip(lines, far, laws, strict=True)
    ]
    return times if count == n_owners else times * n_owners
