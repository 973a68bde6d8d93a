"""Base of every protocol: traits, and methods that the rest of the package calls."""

from collections.abc import Iterable, Iterator, Sequence
from math import fsum
from operator import attrgetter, mul
from typing import Any, ClassVar, Literal

from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.kernel import Activity
from asyncdp_sim.core.specification import Variant, trait
from asyncdp_sim.core.streams import Scope
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.core.words import number
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.channels.kind import MESSAGES
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner

UpdateOf = Literal["answer", "round", "pair", "servers"]
"""One answer; those of a round; those of two neighbours; or a step of every server."""


class ProtocolKind(Variant):
    """The course of exchanges between owners and learner, from beginning to end.

    A trait is a constant of the class, or a ``trait`` that a member's fields decide: read it from a
    member, never from the class.
    """

    # Who begins exchanges, and when.
    has_learner: ClassVar[bool] = True
    """Whether there is a learner, and not owners alone."""
    own_network: ClassVar[bool] = False
    """Whether it brings its own network (as the servers of clients), so that most other network
    settings are refused; those faults are then reported alone."""
    sends_requests: ClassVar[bool] = False
    """Whether an exchange begins with a message of the owner, which takes time and may be lost."""
    acts_on_ticks: ClassVar[bool]
    """Whether every tick of an owner's clock may begin an exchange, and nothing else does."""
    clocked: ClassVar[bool] = trait(lambda self: self.acts_on_ticks)
    """Whether owners act on the ticks of their clocks."""
    one_on_one: ClassVar[bool] = False
    """Whether exchanges never overlap: the learner is locked until the one under way has ended."""
    always_served: ClassVar[bool] = False
    """Whether an owner that begins an exchange is served at once."""
    queues: ClassVar[bool] = False
    """Whether requests wait while the learner is busy, first come first served."""
    asks_again: ClassVar[bool] = False
    """Whether a request that was refused or lost is sent again."""
    restarts_immediately: ClassVar[bool] = False
    """Whether the next exchange begins the moment that one ends, whatever came of it."""
    keeps_apart: ClassVar[bool] = False
    """Whether ``privacy.participation.apart`` is allowed: the learner decides which owner answers
    at which update, and may let an owner rest."""
    asked_at_most: ClassVar[int | None] = None
    """How many owners are asked for one update, where the protocol draws some of them."""

    paced_by: ClassVar[tuple[str, str]] = ("clock.rate", "owners whose clocks tick")
    """The field that decides how often exchanges begin, and what happens then."""

    # What an owner does at a time.
    overlap: ClassVar[bool] = False
    """Whether every tick starts a job of its own, even while its owner works on another."""
    one_each: ClassVar[bool] = trait(lambda self: not self.overlap)
    """Whether an owner has at most one attempt open."""
    shares_work: ClassVar[bool] = False
    """Whether an owner computes for several exchanges at once, sharing its speed."""

    # What a query holds, and what an update is made of.
    sends_copies: ClassVar[bool] = False
    """Whether a query holds all N + 1 models."""
    reads_early: ClassVar[bool] = False
    """Whether a query is read before its owner begins the exchange, and may be old by then."""
    at_mean: ClassVar[bool]
    """Whether gradients are taken at a mean of the model that is read and the owner's own."""
    update_of: ClassVar[UpdateOf]
    """What an update is made of, by which algorithms choose their protocols."""
    makes_updates: ClassVar[bool] = trait(lambda self: self.update_of != "answer")
    """Whether the protocol decides when an update is made, of several owners' answers."""
    newest_only: ClassVar[bool] = False
    """Whether answers to queries that are not the newest are turned away."""

    # Answers that share a budget.
    answers_each: ClassVar[int] = 1
    """How many answers an owner gives for each update, where the protocol asks for some."""
    left_open: ClassVar[int] = 0
    """How many answers that were asked for may be under way when a run ends."""

    # How exchanges, rounds and runs end.
    vanishes: ClassVar[bool] = False
    """Whether an owner that is offline when a query arrives, or when its answer is to be sent,
    drops the exchange in place of finishing it."""
    gives_up_after: ClassVar[float | None] = None
    """How long the learner waits for the answer of one owner, time units; None for ever."""
    round_deadline: ClassVar[float | None] = None
    """How long a round waits for answers, time units; None for ever, or without rounds."""
    may_idle: ClassVar[bool] = True
    """Whether owners may idle for ever, so that a run is watched for a stall."""

    @property
    def asks(self) -> Literal["average", "central"]:
        """Where gradients are taken: at a mean with the owner's own model, or at the learner's."""
        return "average" if self.at_mean or self.sends_copies else "central"

    def selection_probabilities(self, n_owners: int) -> tuple[float, ...] | None:
        """Return the share of tasks that the learner gives each owner; None if owners decide it."""
        return None

    def rates(self, network: Any) -> tuple[float, ...] | None:
        """Return how often exchanges may begin, per time unit and clock; None without a rate."""
        rates: tuple[float, ...] | None = network.clock.rates(network.n_owners)
        return rates

    def refuses_at_once(self, network: Any) -> bool:
        """Return whether a request to a locked learner is refused, and ends, at its own tick."""
        return False

    def start_processes(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start what owners do not begin themselves, if anything."""

    def attempt(self, owner: Owner, learner: Learner) -> Activity:
        """Act at a tick of an owner's clock; do nothing where owners only answer."""
        yield from ()

    def faults_of_network(self, network: Any) -> Iterable[Fault]:
        """Return what does not fit the number of owners, or other parts of the network."""
        return ()

    def not_superposable(self) -> Iterator[Fault]:
        """Yield what keeps one clock from ticking for all owners."""
        if not self.acts_on_ticks:
            rule = "superposed clocks need owners that act on their ticks: request or push"
            yield Fault("protocol.kind", repr(self.kind), rule)
        if self.asks_again:
            rule = 'superposed clocks need busy = "refuse" or "queue"'
            yield Fault("protocol.busy", "'retry'", rule)
        if self.vanishes:
            rule = 'superposed clocks need offline = "finish"'
            yield Fault("protocol.offline", "'vanish'", rule)

    def stall_period(self, network: Any, count: int) -> int | None:
        """Return the mean ticks until ``count`` exchanges may have begun, at least one a clock.

        A run is left for so long before it is looked at for a stall. None where it cannot stall.
        """
        rates = self.rates(network)
        if rates is None:
            return None
        return round(max(count, len(rates)) * TICKS_PER_UNIT / sum(rates)) + 1

    def describe(self, network: Any, duration: str, mean: float) -> Iterator[str]:
        """Yield in words who begins exchanges, and how often.

        Parameters
        ----------
        network : Network
        duration : str
            How long an exchange takes, in words.
        mean : float
            How long an exchange takes on average, time units.
        """
        rates = network.clock.rates(network.n_owners)
        if rates is None:
            yield f"network: {network.clock.kind} clocks, {duration}"
            return
        ticks = f"{number(fsum(rates))}"
        yield f"network: {ticks} tick{'s' * (ticks != '1')} per unit, {duration}"
        online = network.availability.online_share(network.n_owners) or (1.0,) * len(rates)
        load = number(fsum(map(mul, rates, online)) * mean)
        if load != "0":
            exchanges = f"{load} simultaneous exchange{'s' * (load != '1')}"
            yield f"offered load: {exchanges} on average, if every online tick starts one"


def one_every(time: float) -> tuple[float, ...] | None:
    """Return the rate of jobs of this mean time (time units), one after another; None at 0."""
    return (1 / time,) if time > 0 else None


def lossy(channel: Channel, n_owners: int) -> list[tuple[str, float]]:
    """Return the fields of a channel by which messages are lost, and the largest share of each."""
    most = [
        (field, max(channel.packet_loss(message).shares(n_owners)))
        for message, field in MESSAGES.items()
    ]
    return [(name, share) for name, share in most if share > 0]


def too_impatient(key: str, patience: float | None, network: Any, more: float = 0.0) -> list[Fault]:
    """Return a fault where the learner gives up before any answer can arrive.

    Parameters
    ----------
    key : str
        The field that says how long it waits.
    patience : float or None
        How long it waits, time units; None for ever.
    network : Network
    more : float
        Time units that an answer takes beside the least time of an exchange.
    """
    least = 0.0 if patience is None else min(network.exchange_times(attrgetter("least"))) + more
    if patience is None or least <= patience * (1 + 1e-12):  # equal, but for rounding
        return []
    rule = f"an answer takes at least {least:g}, so no update can ever happen"
    return [Fault(key, f"{patience:g}", rule)]
