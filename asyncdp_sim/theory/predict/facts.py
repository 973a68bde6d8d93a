"""A network seen by theory: what its specification says that decides which formulas hold.

Most facts are given as a doubt: a sentence why a formula's assumption fails, or empty text.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil, fsum, inf, sqrt

from asyncdp_sim.core.specification import Plugin, outsiders, per_owner
from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.spec import STAGES, meeting
from asyncdp_sim.theory.formulas.channels import delivered
from asyncdp_sim.theory.prediction import SPREADS, NoFormulaError, Prediction, no_formula_if

RESENT = "answers that arrived are sent again where acknowledgements are lost"
RESTING = "no formula is known for answers of an owner that are at least"


def alike(values: Sequence[float]) -> bool:
    """Return whether numbers ≥ 0 are equal to 12 digits."""
    return max(values) - min(values) <= 1e-12 * max(values)


def budget_short(budget: int) -> str:
    """Return why no formula holds where an owner may spend its budget."""
    return f"a budget of {budget} answers may be spent before the run ends"


class Facts:
    """A network seen by theory, with a protocol that theory does not know.

    Classes below it know a protocol each; :mod:`~asyncdp_sim.theory.predict.protocols` says which.

    Parameters
    ----------
    network : Network
    """

    fresh = ""
    """Why no update comes between a read and its use, whatever takes time; else empty."""
    dependent = ""
    """Why owners of successive answers depend on each other, whatever else holds; else empty."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.protocol = network.protocol
        self.n_owners: int = network.n_owners

    @cached_property
    def updates(self) -> int:
        """T, or fewer where clocks or jobs allow no more before ``until``."""
        until = self.network.until or inf
        pace = meeting(self.network) * TICKS_PER_UNIT or inf
        return ceil(min(self.network.updates, until * pace))

    @property
    def entangled(self) -> str:
        """Why an owner may be at several exchanges at once; empty where it never is."""
        alone = self.protocol.one_each or self.protocol.one_on_one
        return "" if alone else "exchanges of an owner overlap"

    @property
    def unasked(self) -> str:
        """Why some owner may never be asked; empty where each is again and again."""
        return ""

    def predictions(self) -> Iterator[Prediction]:
        """Yield what is known of exchanges by their own times, or why it is not."""
        reason = f"no formula is known for protocol {self.protocol.kind}"
        yield Prediction("throughput", None, "updates per time unit", reason)

    def waiting(self) -> Iterator[Prediction]:
        """Yield the mean time from a request to its query, where there are requests."""
        return iter(())

    def shares(self) -> tuple[float, ...] | None:
        """Return each owner's share of the answers used, where the protocol itself decides it."""
        return None

    def answers(self, updates: float) -> tuple[float, ...] | None:  # noqa: ARG002
        """Return the answers of each owner per time unit, where the protocol itself decides it.

        Parameters
        ----------
        updates : float
            Updates per time unit.
        """
        return None

    def staleness(self) -> float | None:
        """Return the mean staleness, where the protocol has a law of its own."""
        return None

    def ends_next(self) -> tuple[float, ...] | None:
        """Return the chance that each owner's task is the next to end, whatever has been.

        None where the protocol hands no tasks out.
        """
        return None

    def flows(self, jobs: Sequence[float]) -> tuple[float, ...]:
        """Return answers that each owner would release per time unit, in proportion at least.

        Parameters
        ----------
        jobs : sequence of float
            Mean time from query to update.
        """
        if self.rates is None:
            return tuple(1 / job if job > 0 else 1.0 for job in jobs)
        if self.protocol.overlap or self.protocol.one_on_one:
            return self.rates
        return tuple(rate / (1 + rate * job) for rate, job in zip(self.rates, jobs, strict=True))

    @cached_property
    def strangers(self) -> tuple[tuple[str, Plugin], ...]:
        """The kinds of the network that are from outside, each with its key path and kind."""
        return tuple(outsiders(self.network, ""))

    @property
    def unknown(self) -> str:
        """Why no formula of the package counts; empty where one may.

        A class inherits what another one does, and may do something else: what is known of that
        other one is not known of it.
        """
        if len(self.strangers) == 0:
            return self.resting
        named = ", ".join(at for at, _ in self.strangers)
        return f"{named} is from outside the package, whose formulas may not hold for it"

    @property
    def resting(self) -> str:
        """Why formulas do not hold where owners rest after an answer; empty where none matters."""
        apart = self.network.apart
        return "" if apart is None else f"{RESTING} {apart} updates apart"

    @cached_property
    def rates(self) -> tuple[float, ...] | None:
        """λ_i times the share of owner i's ticks that find it online; None without a long run."""
        clock = self.network.clock.rates(self.n_owners)
        online = self.network.availability.online_share(self.n_owners)
        if clock is None or online is None:
            return None
        return tuple(rate * share for rate, share in zip(clock, online, strict=True))

    @cached_property
    def services(self) -> tuple[float, ...]:
        """Mean time from query to update of each owner, without the airtime of a channel.

        With it where the lock leaves the channel to one answer at a time.
        """
        stages = [self.network.mean_times(stage) for stage in STAGES]
        airtime = (self.network.airtime or 0.0) if self.lock_serialises_channel else 0.0
        return tuple(fsum((*parts, airtime)) for parts in zip(*stages, strict=True))

    @property
    def instant(self) -> bool:
        """Whether exchanges take no time."""
        return max(self.services) == 0

    @cached_property
    def eventless(self) -> bool:
        """Whether nothing at all can come between a query and its update, not even at a tick."""
        laws = (law for stage in STAGES for law in self.laws(stage))
        untimed = self.network.topology is None and all(law.instant for law in laws)
        return untimed and self.instant

    @cached_property
    def constant(self) -> float | None:
        """How long every exchange takes from query to update, if always equally long."""
        plain = all(law.constant for stage in STAGES for law in self.laws(stage))
        sure = plain and alike(self.services) and not self.wires_fail
        return self.services[0] if sure else None

    def moments(self) -> tuple[float, float]:
        """Return E S and E S² of an exchange by an owner drawn by its rate."""
        rates = self.rates or (1.0,) * self.n_owners
        total, first, second = fsum(rates), 0.0, 0.0
        laws = [self.laws(stage) for stage in STAGES]
        for i, (rate, mean) in enumerate(zip(rates, self.services, strict=True)):
            variance = fsum(stage_laws[i].variance for stage_laws in laws)
            first += rate / total * mean
            second += rate / total * (variance + mean**2)
        return first, second

    @property
    def not_poisson(self) -> str:
        """Why attempts are no Poisson process in time, if they are not."""
        clock, available = self.network.clock, self.network.availability
        if not clock.memoryless:
            return f"clocks are {clock.kind}, not Poisson"
        if self.wires_fail:
            return "links fail"
        if not available.keeps_poisson:
            return f"availability is {available.kind}, which is not drawn for each tick alone"
        return "" if self.rates is not None and min(self.rates) > 0 else "some owner never asks"

    @property
    def wires_fail(self) -> bool:
        """Whether links of a topology fail now and then."""
        topology = self.network.topology
        return topology is not None and topology.failures is not None

    @property
    def vanishing(self) -> bool:
        """Whether an owner may be offline, and vanish, while it works."""
        leaves = self.network.availability.comes_and_goes or self.wires_fail
        return self.protocol.vanishes and leaves

    @property
    def can_lose_messages(self) -> str:
        """Why a message may not arrive, or its owner wait, for other reasons than the channel's."""
        met = ["answer", "query"]
        met += ["request"] if self.protocol.sends_requests else []
        met += ["acknowledgement"] if self.network.channel.retransmissions > 0 else []
        lost = any(self.loses(message) for message in met)
        return "messages are lost" if lost else self.can_time_out

    def within(self, time: float) -> bool:
        """Return whether every exchange surely takes no longer, and nobody keeps it waiting."""
        plain = self.constant is not None and self.network.availability.always_online
        waits = self.network.latency.acknowledges
        free = self.network.channel.contended is None and not self.loses("answer") and not waits
        return plain and free and max(self.services) < time

    @property
    def can_time_out(self) -> str:
        """Why an exchange may end, or its owner wait, for other reasons than losses."""
        if self.vanishing:
            return "owners vanish"
        timeout = self.protocol.gives_up_after
        if timeout is not None and not self.within(timeout):
            return "the learner gives up after a timeout"
        waits = self.network.latency.acknowledges
        return "owners wait for acknowledgements" if waits else ""

    def arriving(self) -> tuple[float, ...]:
        """P(a tick that may begin an exchange ends in an update | nothing else fails), per owner.

        Where it is the same for all owners it may be given as 1.
        """
        channel, protocol = self.network.channel, self.network.protocol
        again, lasting = channel.retransmissions > 0, not self.instant
        no_formula_if(again and self.loses("acknowledgement"), RESENT)
        if lasting and not protocol.one_on_one:
            if again and self.loses("answer"):
                raise NoFormulaError("answers that are sent again keep their owners busy")
            no_formula_if(self.loses("query"), "queries that are lost leave their owners free")
        shares = [1.0] * self.n_owners
        for message in ("answer", "query", *(["request"] * protocol.sends_requests)):
            loss = channel.packet_loss(message)
            attempts = 1 + channel.retransmissions if message == "answer" else 1
            if not loss.bursty:  # bursts are alike for all owners
                pairs = zip(shares, loss.shares(self.n_owners), strict=True)
                shares = [share * delivered(lose, attempts) for share, lose in pairs]
        return tuple(shares)

    def loses(self, message: str) -> bool:
        """Return whether messages of a kind, such as queries, are ever lost."""
        shares: tuple[float, ...]
        shares = self.network.channel.packet_loss(message).shares(self.n_owners)
        return max(shares) > 0

    @property
    def lock_serialises_channel(self) -> bool:
        """Whether the lock alone decides who uses a shared channel, one answer at a time."""
        channel, protocol = self.network.channel.contended, self.network.protocol
        locked = protocol.one_on_one and protocol.gives_up_after is None
        if not locked or channel is None:
            return False
        return channel.sends_at_once and channel.request_airtime is None

    @property
    def shared(self) -> str:
        """Why a formula for channels of their own does not hold, if it does not."""
        channel = self.network.channel
        if channel.contended is None or self.lock_serialises_channel:
            return ""
        return f"owners share a channel ({channel.label})"

    @property
    def slow_requests(self) -> str:
        """Why a request does not meet the learner at the tick, if it does not."""
        if not self.protocol.sends_requests:
            return ""
        slow = max(self.network.mean_times("request")) > 0
        return "requests take time" if slow else self.requests_on_air

    @property
    def requests_on_air(self) -> str:
        """Why requests meet each other on their way to the learner, if they may."""
        channel = self.network.channel.contended
        return "" if channel is None or channel.request_airtime is None else "requests take airtime"

    @property
    def waits(self) -> str:
        """Why a request is not refused once for all by a learner that is busy, if it is not."""
        return ""

    @property
    def buffered(self) -> str:
        """Why an answer is not an update, if it is not."""
        several = self.network.answers_per_update
        if several is None:
            return "the protocol makes the updates"
        return "" if several == 1 else f"an update takes {several} answers"

    @property
    def disturbed(self) -> str:
        """Why exchanges of owners with Poisson clocks are not alone with the learner, if not."""
        return self.not_poisson or self.can_lose_messages or self.shared or self.spent()

    def spent(self, per_answer: float = 1.0) -> str:
        """Return why owners may fall silent before the run ends, if they may.

        Parameters
        ----------
        per_answer : float
            Answers released per answer used, in the long run; 1 where every answer arrives.
        """
        network = self.network
        several = network.answers_per_update
        used = network.updates * (self.n_owners if several is None else several)
        if min(network.answers_allowed) >= used and per_answer == 1:
            return ""
        total, until = fsum(self._flows), network.until
        for budget, flow in zip(network.answers_allowed, self._flows, strict=True):
            released = used * per_answer * flow / total
            released = released if until is None else min(released, until * flow)
            if budget < released + SPREADS * sqrt(released * max(1.0, per_answer)):
                return budget_short(budget)
        return ""

    @cached_property
    def _flows(self) -> tuple[float, ...]:
        """Answers that each owner would release per time unit, in proportion at least."""
        airtime = 0.0 if self.lock_serialises_channel else self.network.airtime or 0.0
        jobs = [service + airtime for service in self.services]
        return self.flows(jobs)

    def exponential(self, stages: Sequence[str] = STAGES) -> bool:
        """Return whether each owner takes one exponential time for these stages together."""
        work = [fsum(times) for times in zip(*map(self.network.mean_times, stages), strict=True)]
        every = zip(*map(self.laws, stages), strict=True)
        random = [[law for law in own if not law.instant] for own in every]
        return all(
            len(own) == 1 and own[0].memoryless and abs(own[0].mean - mean) <= 1e-12 * mean
            for own, mean in zip(random, work, strict=True)
        )

    def laws(self, stage: str) -> tuple[Law, ...]:
        """Return the law of a stage of an exchange, per owner."""
        network = self.network
        laws = network.compute if stage == "compute" else getattr(network.latency, stage)
        return per_owner(laws, self.n_owners)
