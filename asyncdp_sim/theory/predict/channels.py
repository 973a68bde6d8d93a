"""Channels that owners share: throughput, collisions and load, and its curve over the load.

The formulas are of the channel; a load gathers what they ask of the rest of the network.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import fsum, inf
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Aloha, Channel, Csma, Parallel, SlottedAloha, Tdma
from asyncdp_sim.network.channels.aloha import Bottleneck
from asyncdp_sim.network.channels.csma import Dcf
from asyncdp_sim.theory.formulas import channels as formulas
from asyncdp_sim.theory.formulas.channels import RandomAccess
from asyncdp_sim.theory.formulas.exchanges import closed_network
from asyncdp_sim.theory.predict.facts import Facts, alike
from asyncdp_sim.theory.predict.protocols import ENDLESS, law, on_channel
from asyncdp_sim.theory.prediction import NoFormulaError, Prediction, Unknown, known, no_formula_if


@dataclass(frozen=True, kw_only=True)
class Load:
    """Owners' attempts to transmit, and why they may not be as formulas assume.

    Attributes
    ----------
    n_owners : int
        N.
    rates : tuple of float
        Of owners' Poisson clocks, each > 0; empty where something else makes them begin.
    airtime : float
        Of every answer, > 0.
    overlap : bool
        Whether every tick starts a job of its own: then attempts are Poisson, as those of an
        infinite population. Otherwise an idle owner's tick starts an answer.
    choices : int
        Channels side by side among which each transmission chooses at random.
    attempts : int
        How often an answer is sent at most.
    fresh : bool
        Whether an answer that is sent again is computed anew.
    saturated : bool
        Whether an owner begins its next job the moment the last one ends.
    job : float or None
        How long every job of a saturated owner takes without its airtime; None where not all take
        the same.
    delay : float or None
        Mean time of every job without its airtime; None where owners' differ.
    can_lose_messages : str
        Why a message may not arrive, or its owner wait, for other reasons than the channel's; empty
        if not so.
    not_poisson : str
        Why ticks are no Poisson process; empty if not so.
    slow : str
        Why answers do not begin at ticks of owners idle until then; empty if not so.
    """

    n_owners: int
    rates: tuple[float, ...]
    airtime: float
    overlap: bool
    choices: int = 1
    attempts: int = 1
    fresh: bool = False
    saturated: bool = False
    job: float | None = None
    delay: float | None = 0.0
    can_lose_messages: str = ""
    not_poisson: str = ""
    slow: str = ""

    @property
    def total(self) -> float:
        """Ticks per time unit on one channel, of all owners together."""
        return fsum(self.rates) / self.choices

    @property
    def rate(self) -> float:
        """Ticks per time unit of one of many equal owners."""
        return self.total / self.n_owners

    @property
    def offered(self) -> float:
        """G: ticks per airtime on one channel."""
        return self.total * self.airtime

    @property
    def broken(self) -> str:
        """Why an answer that begins is not sent once and then at the learner, if it is not."""
        return "answers are sent again" if self.attempts > 1 else self.can_lose_messages

    @property
    def unequal(self) -> str:
        """Why owners that are idle until they tick are not all equal, if they are not."""
        return "" if self.overlap or alike(self.rates) else "owners' rates differ"


def load_of(facts: Facts) -> Load:
    """Return what owners that push ask of the channel."""
    network = facts.network
    saturated = network.clock.saturated
    delays = set(facts.services)
    return Load(
        n_owners=facts.n_owners,
        rates=facts.rates or (),
        airtime=network.airtime or 0.0,
        overlap=facts.protocol.overlap and not saturated,
        attempts=1 + network.channel.retransmissions,
        fresh=network.channel.resend == "fresh",
        saturated=saturated,
        job=facts.constant if saturated else None,
        delay=delays.pop() if len(delays) == 1 else None,
        can_lose_messages=facts.can_lose_messages,
        not_poisson=facts.not_poisson,
        slow=_slow(facts),
    )


def _slow(facts: Facts) -> str:
    """Why answers do not begin at ticks of owners idle until then, where that matters."""
    if facts.protocol.overlap:  # a Poisson process displaced by independent times is one
        return ""
    network = facts.network
    if max(*network.mean_times("query"), *network.mean_times("compute")) > 0:
        return "queries or computing take time"
    far = max(network.mean_times("answer")) > 0
    return "answers travel on after their airtime, while their owner stays busy" if far else ""


LARGEST = 600
"""States of the chain that is solved at most."""
NEGLIGIBLE = 1e-9
"""Probability that an answer is given up, up to which the chain without that end is taken."""
NOT_SHARED = "owners share no channel"


class ChannelTheory:
    """Formulas of a channel: none, where no class below it says more.

    :data:`CHANNELS` says which class knows which channel.

    Parameters
    ----------
    channel : ChannelKind
    """

    assumed = "nothing is sent again"
    """What its prediction takes for granted of answers that collide."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel

    @property
    def formula(self) -> str:
        """Throughput of an infinite population by its load G, in TeX; empty if it is not short."""
        return ""

    def access(self, load: Load) -> RandomAccess:
        """Return attempts and successes per time unit while no budget is spent.

        Where answers are sent again, what is predicted has each of them arrive at last.
        """
        no_formula_if(NOT_SHARED if self.channel.contended is None else self.doubt(load))
        return self.solve(load)

    def doubt(self, load: Load) -> str:
        """Return why no formula of this channel holds for a load, if none does."""
        return load.broken or load.not_poisson or load.slow or load.unequal

    def solve(self, load: Load) -> RandomAccess:  # noqa: ARG002
        """Return attempts and successes per time unit, of a load that is not in doubt."""
        raise NoFormulaError("no formula is known for this variant of the channel")

    def on_air(self, load: Load, rate: float) -> float:
        """Return the mean number of transmissions at a time, if so many begin per time unit."""
        return rate * load.airtime

    def approximate(self, load: Load) -> RandomAccess:  # noqa: ARG002
        """Return an approximation of :meth:`solve`, of a load that is not in doubt."""
        raise NoFormulaError("no approximation is known for this channel")

    def small_windows(self, load: Load) -> bool:  # noqa: ARG002
        """Return whether windows are so small that most transmissions collide."""
        return False

    def mean_staleness(self, load: Load) -> float | None:  # noqa: ARG002
        """Return the mean staleness of what gets through; None where no formula has it."""
        return None

    def dependence(self, *, overlap: bool) -> str:
        """Return why owners of successive updates are not independent with one law, or nothing.

        Parameters
        ----------
        overlap : bool
            Whether every tick starts a job of its own.
        """
        if overlap or self.channel.exclusive:
            return ""
        return f"no such result for channel {self.channel.kind} as set"

    def setting(self, airtime: float) -> str:  # noqa: ARG002
        """Return a label that distinguishes its throughput curve from others of this kind."""
        return ""

    def spread_alike(self) -> Any:
        """Return the channel as an infinite population has it: spread alike, if over several."""
        return self.channel


class AlohaTheory(ChannelTheory):
    """Pure ALOHA, with capture or without."""

    channel: Aloha

    @property
    @override
    def formula(self) -> str:
        return f"$Ge^{{-{'2G' if self.channel.capture_ratio is None else '2Gz/(1+z)'}}}$"

    @override
    def solve(self, load: Load) -> RandomAccess:
        ratio = self.channel.capture_ratio
        if load.overlap:
            offered = load.offered
            survived = formulas.aloha_infinite(offered)
            if ratio is not None:
                survived = formulas.aloha_infinite_capture(offered, ratio)
            return RandomAccess(survived / offered, load.total)
        if ratio is None:
            return formulas.aloha(load.n_owners, load.rate, load.airtime)
        return formulas.aloha_capture(load.n_owners, load.rate, load.airtime, ratio)


class SlottedAlohaTheory(ChannelTheory):
    """Slotted ALOHA."""

    formula = "$Ge^{-G}$"
    channel: SlottedAloha

    @override
    def solve(self, load: Load) -> RandomAccess:
        slot = self.channel.slot
        if not load.overlap:
            return formulas.slotted_aloha(load.n_owners, load.rate, slot, load.airtime)
        per_slot = load.total * slot
        return RandomAccess(formulas.slotted_aloha_infinite(per_slot) / per_slot, load.total)


class CsmaTheory(ChannelTheory):
    """CSMA of owners that give up, or of Poisson attempts."""

    channel: Csma

    @override
    def setting(self, airtime: float) -> str:
        return f"$a$ = {self.channel.propagation_delay / airtime:.3g} airtimes"

    @override
    def doubt(self, load: Load) -> str:
        far = f"the formula needs a propagation delay below the airtime {load.airtime:g}"
        near = self.channel.propagation_delay < load.airtime
        return super().doubt(load) or ("" if near else far)

    @override
    def solve(self, load: Load) -> RandomAccess:
        channel, offered, airtime = self.channel, load.offered, load.airtime
        detects, delay = channel.collision_detection, channel.propagation_delay
        if channel.gives_up and not load.overlap:
            formula = formulas.csma_detecting if detects else formulas.csma
            return formula(load.n_owners, load.rate, airtime, delay)
        if channel.gives_up:
            endless = formulas.csma_giving_up(offered, delay / airtime, detecting=detects)
            return RandomAccess(endless.success_probability, endless.attempt_rate / airtime)
        if load.overlap and channel.persistence == 1.0 and not detects:
            survived = formulas.csma_one_persistent_infinite(offered, delay / airtime)
            return RandomAccess(survived / offered, load.total)
        return super().solve(load)


class DcfTheory(ChannelTheory):
    """802.11's contention of owners that always have an answer."""

    assumed = "owners always have one"
    channel: Dcf

    @override
    def dependence(self, *, overlap: bool) -> str:
        return "who has just collided counts from a larger window"

    @override
    def doubt(self, load: Load) -> str:
        if load.overlap or not load.saturated:
            return "the chain is of owners that always have an answer (a saturated clock)"
        if self.channel.others_after_collision is not None:
            return "after a collision, others resume counting at a time of their own"
        if self.channel.counting == "frozen" and self.channel.window == 1:
            return "with a window of 1 slot, an owner that succeeds keeps the channel"
        most = min(self.channel.after_success, self.channel.after_collision)
        late = load.job is None or load.job > most
        pause = f"owners are not ready again within the {most:g} after a transmission"
        anew = "answers that are sent again are computed anew"
        again = anew if load.fresh and load.attempts > 1 else ""
        return load.can_lose_messages or again or (pause if late else "")

    @override
    def solve(self, load: Load) -> RandomAccess:
        channel = self.channel
        asked = load.n_owners, channel.window, channel.doublings
        if formulas.dcf_states(*asked) > LARGEST:
            about = self.approximate(load).success_rate
            reason = f"of so many states only Bianchi's approximation is known, {about:.3g}"
            raise NoFormulaError(reason)
        times = channel.slot, load.airtime, channel.after_success, channel.after_collision
        result = formulas.dcf_exact(*asked, frozen=channel.counting == "frozen").access(*times)
        given_up = (1 - result.success_probability) ** load.attempts
        if load.attempts > 1 and given_up > NEGLIGIBLE:
            raise NoFormulaError(f"answers may be given up after {load.attempts} attempts")
        return result

    @override
    def approximate(self, load: Load) -> RandomAccess:
        return approximation(self.channel, load.n_owners, load.airtime)

    @override
    def small_windows(self, load: Load) -> bool:
        # Also where no formula has the rates: what collides depends on windows alone.
        known = load.saturated and load.airtime > 0 and self.channel.window > 1
        return known and self.approximate(load).success_probability < 1 / 2

    @override
    def mean_staleness(self, load: Load) -> float | None:
        """Return N − 1: between two answers of an owner every other has one on average."""
        return None if load.attempts == 1 else load.n_owners - 1.0


def approximation(channel: Dcf, n_owners: int, airtime: float) -> RandomAccess:
    """Return how much gets through by Bianchi's fixed point.

    Of so many owners that always have one, taken to be independent of each other.
    """
    times = channel.slot, airtime, channel.after_success, channel.after_collision
    frozen = channel.counting == "frozen"
    point = formulas.dcf_fixed_point(n_owners, channel.window, channel.doublings, frozen=frozen)
    return point.access(*times)


class TdmaTheory(ChannelTheory):
    """Slots assigned to one owner each."""

    channel: Tdma

    @override
    def doubt(self, load: Load) -> str:
        if load.broken:
            return load.broken
        if load.overlap:
            return "jobs of one owner wait for the same slot, and collide"
        if not load.saturated:
            return load.not_poisson or load.slow
        length = (self.channel.frame or load.n_owners) * self.channel.slot
        sure = load.job is not None and (
            load.job == 0 or load.job + load.airtime <= length * (1 - 1e-9)
        )
        return "" if sure else "jobs do not surely end within a frame"

    @override
    def solve(self, load: Load) -> RandomAccess:
        frame, slot = self.channel.frame or load.n_owners, self.channel.slot
        if load.saturated:
            return RandomAccess(1.0, load.n_owners / (frame * slot))
        flows = (formulas.tdma(frame, slot, load.airtime, rate) for rate in load.rates)
        return RandomAccess(1.0, fsum(flows) / frame)

    @override
    def mean_staleness(self, load: Load) -> float | None:
        return load.n_owners - 1.0 if load.saturated else None


class BottleneckTheory(ChannelTheory):
    """A link that answers share: a closed network, of any laws (product form); in turn, M/D/1."""

    channel: Bottleneck

    def __init__(self, channel: Bottleneck) -> None:
        super().__init__(channel)
        self._fifo = channel.queue == "fifo"
        self.assumed = "first come first served" if self._fifo else "owners share its speed equally"

    @override
    def doubt(self, load: Load) -> str:
        if self._fifo and not load.overlap:
            return "answers that go one after the other need overlapping jobs"
        random = "" if load.saturated else load.not_poisson or load.unequal
        times = "owners' times differ" if load.delay is None else ""
        if load.job is not None:  # answers then repeat with a period
            times = "all jobs take the same time"
        full = ENDLESS if load.overlap and load.offered >= 1 else ""
        return load.can_lose_messages or random or times or full

    @override
    def solve(self, load: Load) -> RandomAccess:
        rate = load.total if load.overlap else self._rate(load, load.n_owners)
        return RandomAccess(1.0, rate)

    @override
    def on_air(self, load: Load, rate: float) -> float:
        """Return the mean number of answers on the link, by Little's law."""
        if load.overlap:
            waiting = load.offered**2 / (1 - load.offered)
            return load.offered + (waiting / 2 if self._fifo else waiting)
        return load.n_owners - rate * (self._idle(load) + (load.delay or 0.0))

    @override
    def mean_staleness(self, load: Load) -> float | None:
        """Return how many others an owner finds at work: those of N − 1 owners without it."""
        if self.doubt(load):
            return None
        if load.overlap:
            return load.total * (load.delay or 0.0) + self.on_air(load, load.total)
        rest = load.n_owners - 1
        return rest - self._rate(load, rest) * self._idle(load) if rest > 0 else 0.0

    def _idle(self, load: Load) -> float:
        return 0.0 if load.saturated else 1 / load.rate

    def _rate(self, load: Load, n_owners: int) -> float:
        """Return the updates per time unit of so many of the owners."""
        away = self._idle(load) + (load.delay or 0.0)
        return closed_network(n_owners, [1.0], [load.airtime], [away])[0]


class ParallelTheory(ChannelTheory):
    """Several channels side by side."""

    channel: Parallel

    @property
    def _each(self) -> ChannelTheory:
        return theory_of(self.channel.each)

    @override
    def setting(self, airtime: float) -> str:
        setting = self._each.setting(airtime)
        return f"{self.channel.channels} channels" + (f", {setting}" if setting else "")

    @override
    def spread_alike(self) -> Parallel:
        return self.channel.model_copy(update={"choice": "random"})

    @override
    def dependence(self, *, overlap: bool) -> str:
        if overlap and self.channel.channels > 1 and self.channel.choice == "by-owner":
            return "owners have channels of their own"
        return super().dependence(overlap=overlap)

    @override
    def access(self, load: Load) -> RandomAccess:
        if self.channel.each.in_turn:  # and so on each of the channels, whichever it is
            return self._each.access(load)
        no_formula_if(self._each.doubt(load))
        begun, survived = [], []
        for part, count in self._parts(load).items():
            result = self._each.access(part)
            begun.append(count * result.attempt_rate)
            survived.append(count * result.success_rate)
        return RandomAccess(fsum(survived) / fsum(begun), fsum(begun))

    @override
    def on_air(self, load: Load, rate: float) -> float:
        no_formula_if(self.channel.each.queues, "answers wait for each other")
        return super().on_air(load, rate)

    def _parts(self, load: Load) -> dict[Load, int]:
        """Return the loads of the channels, with how many have each."""
        channels = self.channel.channels
        if self.channel.choice == "random" and channels > 1:
            alone = "owners choose among channels at random, which is known for overlapping jobs"
            no_formula_if(not load.overlap, alone)
            return {replace(load, choices=channels): channels}
        return Counter(
            replace(
                load,
                n_owners=len(range(load.n_owners)[first::channels]),
                rates=load.rates[first::channels],
            )
            for first in range(min(channels, load.n_owners))
        )

    @override
    def mean_staleness(self, load: Load) -> float | None:
        return self._each.mean_staleness(load) if self.channel.each.in_turn else None


CHANNELS: Mapping[type, type[ChannelTheory]] = {
    Aloha: AlohaTheory,
    SlottedAloha: SlottedAlohaTheory,
    Csma: CsmaTheory,
    Dcf: DcfTheory,
    Tdma: TdmaTheory,
    Bottleneck: BottleneckTheory,
    Parallel: ParallelTheory,
}
"""What is known of channels that owners share."""


def theory_of(channel: Channel) -> ChannelTheory:
    """Return what is known of a channel."""
    return CHANNELS.get(type(channel), ChannelTheory)(channel)


BROKEN_OFF = "answers that are broken off are not of one length"


def channel_use(facts: Facts) -> Iterator[Prediction]:
    """Yield throughput, collisions and load of a channel that owners contend for."""
    channel, airtime = facts.network.channel, facts.network.airtime
    if airtime is not None:
        endless = load_of(facts).overlap
        population = "infinite population" if endless else f"{facts.n_owners} owners"
        assumed = f"answers of one length, {theory_of(channel).assumed}"
        formula = f"{channel.label}, {population}, {assumed}"
        yield from on_channel(facts, known(_rates, facts), formula)


def _rates(facts: Facts) -> tuple[float | Unknown, ...]:
    """Return updates per time unit, the part of answers that collide, and the load."""
    result, channel = contention(facts), facts.network.channel
    lost = 0.0 if channel.retransmissions > 0 else 1 - result.success_probability
    cut = channel.contended is not None and channel.contended.breaks_off
    on_air = known(theory_of(channel).on_air, load_of(facts), result.attempt_rate)
    load = Unknown(BROKEN_OFF) if cut else on_air
    return result.success_rate, lost, load


def contention(facts: Facts) -> RandomAccess:
    """Return what gets through a shared channel under ``push``."""
    result, channel = unspent(facts), facts.network.channel
    per_answer = 1.0
    if channel.retransmissions == 0 or channel.resend == "fresh":
        per_answer = 1 / result.success_probability if result.success_probability > 0 else inf
    no_formula_if(facts.spent(per_answer))
    return result


def unspent(facts: Facts) -> RandomAccess:
    """Return :func:`contention` of a network whose budgets last for ever."""
    channel, protocol = facts.network.channel, facts.protocol
    if channel.contended is not None and not protocol.always_served:
        raise NoFormulaError(f"the formula is for protocol push, not {protocol.kind}")
    return theory_of(channel).access(load_of(facts))


def approximated(facts: Facts) -> RandomAccess:
    """Return about what gets through a shared channel where :func:`unspent` has no formula."""
    theory, load = theory_of(facts.network.channel), load_of(facts)
    no_formula_if(NOT_SHARED if facts.network.airtime is None else theory.doubt(load))
    return theory.approximate(load)


def small_windows(facts: Facts) -> bool:
    """Return whether owners count down in windows too small for most transmissions to survive."""
    return theory_of(facts.network.channel).small_windows(load_of(facts))


@dataclass(frozen=True)
class AccessCurve:
    """The throughput of a channel, traced by the rate of owners' clocks.

    Attributes
    ----------
    channel : Channel
    airtime : float
        Of every answer, > 0.
    n_owners : int or None
        Equal owners with one job at a time; None is an infinite population.
    """

    channel: Channel
    airtime: float
    n_owners: int | None

    @property
    def words(self) -> tuple[str, str]:
        """The formula of an infinite population in TeX, and the setting; empty where none."""
        theory = theory_of(self.channel)
        return theory.formula, theory.setting(self.airtime)

    def points(self, loads: Iterable[float]) -> tuple[Array, Array]:
        """Return the mean number of transmissions on air, and the part of it that survives.

        Parameters
        ----------
        loads : iterable of float
            Ticks of idle owners per airtime, of all owners together, > 0.
        """
        theory, setting = theory_of(self.channel), (self.airtime, self.n_owners)
        flows = [known(theory.access, _load(load, *setting)) for load in loads]
        rates = [(f.attempt_rate, f.success_rate) for f in flows if not isinstance(f, Unknown)]
        begun, survived = np.array(rates).reshape(-1, 2).T * self.airtime
        return begun, survived


@law
def access_curve(facts: Facts) -> AccessCurve:
    """Return the throughput curve that a network follows exactly while no budget is spent.

    Networks that differ in the rate of their clocks alone have equal curves.
    """
    unspent(facts)  # for its error: where it has no formula, there is no curve
    network, overlap = facts.network, facts.protocol.overlap
    no_formula_if(theory_of(network.channel).dependence(overlap=True) if overlap else "")
    return _curve(network, None if overlap else facts.n_owners)


@law
def endless_curve(facts: Facts) -> AccessCurve:
    """Return the throughput curve of an infinite population that shares the network's channel.

    It is a reference for the channel, whether or not the network's attempts are Poisson; over
    channels side by side attempts are spread evenly.
    """
    return _curve(facts.network, None)


def _curve(network: Network, n_owners: int | None) -> AccessCurve:
    shared, airtime = network.channel.contended, network.airtime
    if shared is None or airtime is None:
        raise NoFormulaError(NOT_SHARED)
    no_formula_if(shared.in_turn, "in turn, whatever is sent survives")
    no_formula_if(shared.queues, "whatever is sent survives")
    no_formula_if(shared.breaks_off, BROKEN_OFF)
    channel = network.channel if n_owners is not None else theory_of(network.channel).spread_alike()
    # For its error alone: a channel without a formula at one load has no curve.
    theory_of(channel).access(_load(n_owners or 1, airtime, n_owners))
    return AccessCurve(channel, airtime, n_owners)


def _load(ticks: float, airtime: float, n_owners: int | None) -> Load:
    """Return the load of so many ticks of idle owners per airtime, of all owners together."""
    rates = (ticks / airtime / (n_owners or 1),) * (n_owners or 1)
    overlap = n_owners is None
    return Load(n_owners=len(rates), rates=rates, airtime=airtime, overlap=overlap)
