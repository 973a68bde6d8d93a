"""Base of every protocol: traits, and methods that the rest of the house asks for."""

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
    """The course of exchanges between owners and learner, from beginning to end."""

    one_on_one: ClassVar[bool] = False
    """Exchanges never overlap: the learner is locked until the one under way has ended."""
    sends_requests: ClassVar[bool] = False
    """An exchange begins with a message of the owner, which takes time and may be lost."""
    acts_on_ticks: ClassVar[bool]
    """Every tick of an owner's clock may begin an exchange, and nothing else does."""
    always_served: ClassVar[bool] = False
    """An owner that begins an exchange is served at once."""
    reads_early: ClassVar[bool] = False
    """A query is read before its owner begins the exchange, and may be old by then."""
    at_mean: ClassVar[bool]
    """Gradients are taken at a mean of the model that is read and the owner's own."""
    update_of: ClassVar[UpdateOf]
    """What an update is made of, by which algorithms choose their protocols."""
    restarts_immediately: ClassVar[bool] = False
    """The next exchange begins the moment that one ends, whatever came of it."""
    hands_out: ClassVar[bool] = False
    """The learner decides how many tasks are under way, and whose they are."""
    own_network: ClassVar[bool] = False
    """Few other settings fit it: those that do not are reported alone, before all other faults."""
    shares_work: ClassVar[bool] = False
    """Whether an owner computes for several exchanges at once, sharing its speed."""
    overlap: ClassVar[bool] = False
    """Whether every tick starts a job of its own, whatever its owner is at."""
    one_each: ClassVar[bool] = trait(lambda self: not self.overlap)
    """Whether an owner has at most one attempt open."""
    vanishes: ClassVar[bool] = False
    """Whether an owner that is offline when it should listen or send does not."""
    gives_up_after: ClassVar[float | None] = None
    """How long the learner waits for an answer that it asked for alone; None for ever."""
    asks_again: ClassVar[bool] = False
    """Whether a request that was refused or lost is sent again."""
    newest_only: ClassVar[bool] = False
    """Whether answers to queries that are not the newest are turned away."""
    keeps_apart: ClassVar[bool] = False
    """Whether the learner decides which owner answers at which update, and may let it rest."""
    has_learner: ClassVar[bool] = True
    """Whether there is a learner, and not owners alone."""
    asked_at_most: ClassVar[int | None] = None
    """How many owners are asked for one update, where the protocol draws some of them."""
    answers_each: ClassVar[int] = 1
    """How many answers an owner gives for each update, where the protocol asks for some."""
    left_open: ClassVar[int] = 0
    """How many answers that were asked for may be under way when a run ends."""
    round_deadline: ClassVar[float | None] = None
    """How long a round waits for answers; None for ever, or without rounds."""
    sends_copies: ClassVar[bool] = False
    """Whether a query holds all N + 1 models."""
    queues: ClassVar[bool] = False
    """Whether requests wait while the learner is busy, first come first served."""
    may_idle: ClassVar[bool] = True
    """Whether owners may idle for ever, so that a run is watched lest it stalls."""
    makes_updates: ClassVar[bool] = trait(lambda self: self.update_of != "answer")
    """Whether the protocol says itself when an update is made, of several owners' answers."""
    clocked: ClassVar[bool] = trait(lambda self: self.acts_on_ticks)
    """Whether owners act on the ticks of their clocks."""

    @property
    def asks(self) -> Literal["average", "central"]:
        """Where gradients are taken: at the learner's model, or at a mean with the owner's own."""
        return "average" if self.at_mean or self.sends_copies else "central"

    def selection_probabilities(self, n_owners: int) -> tuple[float, ...] | None:
        """Return the chance with which the learner asks each owner; None if that is not its own."""
        return None

    def refuses_at_once(self, network: Any) -> bool:
        """Return whether a request to a locked learner is refused at the tick, and all is over."""
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
        """Return in how many ticks ``count`` things happen that may begin an exchange, at least.

        At least one for each owner. None where owners cannot idle for ever.
        """
        return period_of(network.clock.rates(network.n_owners), max(count, network.n_owners))

    def describe(self, network: Any, said: str, service: float) -> Iterator[str]:
        """Yield in words who begins exchanges, and how often.

        Parameters
        ----------
        network : Network
        said : str
            How long an exchange takes.
        service : float
            The same, mean time units.
        """
        rates = network.clock.rates(network.n_owners)
        if rates is None:
            yield f"network: {network.clock.kind} clocks, {said}"
            return
        ticks = f"{number(fsum(rates))}"
        yield f"network: {ticks} tick{'s' * (ticks != '1')} per unit, {said}"
        online = network.availability.online_share(network.n_owners) or (1.0,) * len(rates)
        load = fsum(map(mul, rates, online)) * service
        if load > 0:
            yield (
                f"offered load: {number(load)} simultaneous exchanges on average, if every online "
                "tick starts one"
            )


def period_of(rates: Sequence[float] | None, count: int) -> int | None:
    """Return the ticks in which clocks with these rates tick ``count`` times; None without one."""
    return None if rates is None else round(count * TICKS_PER_UNIT / sum(rates)) + 1


def lossy(channel: Channel, n_owners: int) -> list[tuple[str, float]]:
    """Return the fields of a channel by which messages are lost, and the largest share of each."""
    most = [
        (field, max(channel.packet_loss(message).shares(n_owners)))
        for message, field in MESSAGES.items()
    ]
    return [(name, share) for name, share in most if share > 0]


def hopeless(key: str, patience: float | None, network: Any, more: float = 0.0) -> list[Fault]:
    """Return a fault where nobody waits as long as an answer takes at least, but for rounding.

    That is the least time of an exchange and ``more`` (time units).
    """
    least = 0.0 if patience is None else min(network.exchange_times(attrgetter("least"))) + more
    if patience is None or least <= patience * (1 + 1e-12):
        return []
    rule = f"an answer takes at least {least:g}, so no update can ever happen"
    return [Fault(key, f"{patience:g}", rule)]
