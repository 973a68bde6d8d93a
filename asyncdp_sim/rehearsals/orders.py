"""Orders to the processes of a rehearsal, and refusals of what one machine cannot rehearse."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.latency import STAGES, acknowledged
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.spec import Network
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec import kind_of, members
from asyncdp_sim.streams import Scope, Streams
from asyncdp_sim.trace import Ending, Trace


@dataclass(frozen=True, eq=False)
class Order:
    """The order for one replicate of a rehearsal.

    Attributes
    ----------
    network : Network
    task : Task
        The algorithm, and what owners answer with.
    seed : int
    number : int
        Of the replicate, from 1.
    folder : Path
        Where owners keep their ledgers.
    token : str
        What a connection has to know to be an owner's.
    unit : float, optional
        Seconds that a unit of time takes; absent, the learner chooses it by what it measures.
    shortest : float
        The shortest mean duration of the network (time units).
    """

    network: Network
    task: Task
    seed: int
    number: int
    folder: Path
    token: str
    unit: float | None
    shortest: float

    @property
    def streams(self) -> Scope:
        """The replicate's random streams, none of them handed out: each process has its own."""
        scope = Streams(self.seed).within("replicate", self.number)
        return scope.of_owners(self.network.owner_numbers)


def shortest_duration(network: Network) -> float:
    """Return the shortest mean time that an exchange takes for anything (time units).

    Of messages, computing, and what owners and the learner wait for; where none of these takes
    time, the mean time between two ticks of all clocks together, or else 1.
    """
    stages = ("request", *STAGES)
    found = [mean for stage in stages for mean in network.mean_times(stage) if mean > 0]
    found += network.protocol.waits
    if len(found) > 0:
        return min(found)
    rates = network.clock.rates(network.n_owners)
    return 1.0 if rates is None or not network.protocol.acts_on_ticks else 1 / sum(rates)


def require_rehearsable(scenario: Scenario) -> None:
    """Raise if a scenario cannot be rehearsed.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.

    Raises
    ------
    SpecError
        With all that is in the way.
    """
    found = [*_kinds(scenario), *_settings(scenario)]
    if len(found) > 0:
        raise SpecError(found)


def require_an_end(traces: Sequence[Trace]) -> None:
    """Raise if the simulation had to be stopped, where processes would go on for ever.

    Raises
    ------
    SpecError
        If a replicate stalled.
    """
    if any(trace.ending is Ending.stalled for trace in traces):
        allowed = "allowed in a rehearsal is a time at which it ends: no answer ever comes through"
        raise SpecError([Fault("run.until", "nothing", allowed)])


def _kinds(scenario: Scenario) -> Iterator[Fault]:
    protocol, availability = scenario.protocol, scenario.availability
    if protocol.rehearsed is None:
        yield _kind("protocol", protocol.kind, _fitting(Protocol))
    if not availability.rehearsed:
        yield _kind("availability", availability.kind, _fitting(Availability))
    if scenario.channel.contended is not None:
        allowed = "a wire has no channel to share: allowed in a rehearsal is ideal"
        yield Fault("channel.kind", repr(scenario.channel.kind), allowed)
    if scenario.clock.saturated:
        allowed = "allowed in a rehearsal are owners with clocks"
        yield Fault("clock.kind", repr(scenario.clock.kind), allowed)
    if scenario.algorithm.gradients_per_answer > 1:
        given, allowed = str(scenario.algorithm.gradients_per_answer), "allowed in a rehearsal is 1"
        yield Fault("algorithm.local_steps", given, allowed)
    if scenario.algorithm.answers_once:
        allowed = "allowed in a rehearsal is an algorithm whose owners answer each query anew"
        yield Fault("algorithm.kind", repr(scenario.algorithm.kind), allowed)


def _fitting(family: Any) -> list[str]:
    return [kind_of(each) for each in members(family) if getattr(each, "rehearsed", False)]


def _kind(section: str, given: str, fitting: list[str]) -> Fault:
    allowed = f"allowed in a rehearsal is {' or '.join(fitting)}"
    return Fault(f"{section}.kind", repr(given), allowed)


def _settings(scenario: Scenario) -> Iterator[Fault]:
    network = scenario.network
    if network.superposed:
        allowed = 'each owner is a process: allowed in a rehearsal is "per-owner"'
        yield Fault("clock.population", "'superposed'", allowed)
    if network.topology is not None:
        yield Fault("topology", "a table", "the wire is its own: allowed in a rehearsal is nothing")
    if acknowledged(network.latency.acknowledgement):
        allowed = "TCP acknowledges by itself: allowed in a rehearsal is none"
        yield Fault("latency.acknowledgement", "a law", allowed)
    if max(network.channel.packet_loss("_acknowledgement").shares(network.n_owners)) > 0:
        allowed = "TCP acknowledges by itself: allowed in a rehearsal is 0"
        yield Fault("channel.loss_acknowledgement", "a loss", allowed)
    if network.withholds:
        yield Fault("trigger", "a table", "allowed in a rehearsal are owners that always answer")
    if network.aggregation is not None:
        allowed = "allowed in a rehearsal is an observer that reads each answer"
        yield Fault("privacy.observer", "'aggregate'", allowed)
    if scenario.energy is not None:
        allowed = "processes do not tell what owners were at: allowed in a rehearsal is nothing"
        yield Fault("energy", "a table", allowed)
    if network.ties != "declared":
        allowed = 'no two things are at one instant here: allowed in a rehearsal is "declared"'
        yield Fault("run.ties", repr(network.ties), allowed)
