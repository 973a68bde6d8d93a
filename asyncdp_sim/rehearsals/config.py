"""Orders to the processes of a rehearsal, refusals of what one machine cannot, and absences."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import numpy as np
from typing_extensions import override

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.kernel import Kernel
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.core.units import total_units
from asyncdp_sim.core.words import duration
from asyncdp_sim.network.availability import Availability
from asyncdp_sim.network.build import Builder
from asyncdp_sim.network.latency import acknowledged
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.network.spec import Network
from asyncdp_sim.runs.problem import Task
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import kind_of, members
from asyncdp_sim.trace import Ending, Recorder, Trace


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
    token : bytes
        What an owner's connection begins with.
    unit : float
        Seconds that a unit of time takes.
    """

    network: Network
    task: Task
    seed: int
    number: int
    token: bytes
    unit: float

    @property
    def streams(self) -> Scope:
        """The replicate's random streams, none of them handed out: each process has its own."""
        scope = Streams(self.seed).within("replicate", self.number)
        return scope.of_owners(self.network.owner_numbers)


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
    faults = [*_kinds(scenario), *_settings(scenario)]
    if len(faults) > 0:
        raise SpecError(faults)


def paced(traces: Sequence[Trace], unit: float | None) -> tuple[float, float]:
    """Return the seconds of a unit of time, and about those of the rehearsal.

    Parameters
    ----------
    traces : sequence of Trace
        The simulated replicates.
    unit : float, optional
        Seconds. Absent: all replicates together sleep for a minute.

    Raises
    ------
    SpecError
        If it would take more than an hour, or if a replicate stalled: processes would never end.
    """
    if any(trace.ending is Ending.stalled for trace in traces):
        hint = "allowed in a rehearsal is a time at which it ends: no answer ever comes through"
        raise SpecError([Fault("run.until", "nothing", hint)])
    units = max(total_units(np.array([trace.end_tick for trace in traces])), _LEAST)
    machine = _EXCHANGE * sum(len(trace.exchanges) for trace in traces)
    machine += _PROCESS * sum(trace.n_owners + 1 for trace in traces)
    seconds = machine + (_MINUTE if unit is None else unit * units)
    if seconds > _LONGEST:
        key, value, fit = "run.replicates", str(len(traces)), "fewer replicates, owners or updates"
        if unit is not None and machine + _MINUTE <= _LONGEST:
            key, value, fit = "unit", f"{unit:g}", f"--unit {_MINUTE / units:.3g}, for a minute"
        hint = f"{duration(seconds)}; allowed in a rehearsal is an hour: {fit}"
        raise SpecError([Fault(key, value, hint)])
    return _MINUTE / units if unit is None else unit, seconds


_MINUTE, _LONGEST = 60.0, 3600.0
"""Seconds that are slept where no unit is given, and that a rehearsal takes at most."""
_EXCHANGE, _PROCESS = 0.004, 0.1
"""Seconds that an exchange, and the start of a process, cost a machine, about."""
_LEAST = 1e-9


def _kinds(scenario: Scenario) -> Iterator[Fault]:
    families: dict[str, tuple[Any, Any]] = {
        "protocol": (scenario.protocol, Protocol),
        "availability": (scenario.availability, Availability),
    }
    for section, (part, family) in families.items():
        if not part.rehearsed:
            kinds = [each for each in members(family) if getattr(each, "rehearsed", False)]
            hint = f"allowed in a rehearsal is {' or '.join(map(kind_of, kinds))}"
            yield Fault(f"{section}.kind", repr(part.kind), hint)


def _settings(scenario: Scenario) -> Iterator[Fault]:
    network, channel, algorithm = scenario.network, scenario.channel, scenario.algorithm
    gradients, acknowledgement = algorithm.gradients_per_answer, "_acknowledgement"
    confirmed = "TCP acknowledges messages itself: allowed in a rehearsal is"
    refused = (
        (channel.contended is not None, "channel.kind", repr(channel.kind),
         "a wire has no channel to share: allowed in a rehearsal is ideal"),
        (scenario.clock.saturated, "clock.kind", repr(scenario.clock.kind),
         "allowed in a rehearsal are owners with clocks"),
        (gradients > 1, "algorithm.local_steps", str(gradients), "allowed in a rehearsal is 1"),
        (algorithm.answers_once, "algorithm.kind", repr(algorithm.kind),
         "allowed in a rehearsal is an algorithm whose owners compute each answer from its query"),
        (network.superposed, "clock.population", "'superposed'",
         'each owner is a process: allowed in a rehearsal is "per-owner"'),
        (network.topology is not None, "topology", "a table",
         "the wire is its own: allowed in a rehearsal is nothing"),
        (acknowledged(network.latency.acknowledgement), "latency.acknowledgement", "a law",
         f"{confirmed} none"),
        (max(network.channel.packet_loss(acknowledgement).shares(network.n_owners)) > 0,
         "channel.loss_acknowledgement", "a loss", f"{confirmed} 0"),
        (network.withholds, "trigger", "a table",
         "allowed in a rehearsal are owners that always answer"),
        (network.aggregation is not None, "privacy.observer", "'aggregate'",
         "allowed in a rehearsal is an observer that reads each answer"),
        (network.apart is not None, "privacy.participation.apart", str(network.apart),
         "allowed in a rehearsal is nothing: its learner asks at any update"),
        (network.protocol.asked_at_most is not None, "protocol.owners",
         str(network.protocol.asked_at_most), "allowed in a rehearsal is nothing: all are asked"),
        (scenario.privacy.bound_moves, "privacy.sensitivity.kind", "'adaptive-clip'",
         "allowed in a rehearsal is a bound that stays as it is"),
        (scenario.energy is not None, "energy", "a table",
         "processes do not tell what owners were at: allowed in a rehearsal is nothing"),
        (network.ties != "declared", "run.ties", repr(network.ties),
         'no two things are at one instant here: allowed in a rehearsal is "declared"'),
    )  # fmt: skip
    for present, key, value, hint in refused:
        if present:
            yield Fault(key, value, hint)


class Presence:
    """One owner's comings and goings, without a network around it.

    Absences of a simulation do not depend on what else happens, so they are simulated alone, as
    far as anybody has asked.

    Parameters
    ----------
    network : Network
    streams : Scope
        The replicate's streams, from which the streams of each owner are taken.
    number : int
        Which owner, from 1.

    Attributes
    ----------
    owner : Owner
        The simulation's, with its durations and losses; nobody simulates its exchanges.
    """

    def __init__(self, network: Network, streams: Scope, number: int) -> None:
        self._kernel = Kernel()
        self._notes = _Notes(network.n_owners, self._kernel, number)
        counted = (self._kernel, self._notes, network.updates, network.answers_allowed)
        self._learner = _Asked(number, *counted)
        builder = Builder(network, self._learner, None, streams)
        owners = [
            builder.owner(number_of_owner) for number_of_owner in range(1, network.n_owners + 1)
        ]
        network.availability.start_processes(owners, self._learner, streams)
        if network.protocol.acts_on_ticks:
            network.protocol.start_processes(owners, self._learner, streams)
        self._drawn = network.availability.drawn_per_tick
        self.owner: Owner = owners[number - 1]

    def online(self, tick: int) -> bool:
        """Return whether the owner is online at a tick."""
        self._kernel.run_before(tick + 1)
        return bisect_right(self._notes.changes, tick) % 2 == 0

    def back(self, tick: int) -> int | None:
        """Return the first tick, not before this one, at which it is online; None if it is gone."""
        changes = self._notes.changes
        while not self.online(tick):
            index, ahead = bisect_right(changes, tick), self._kernel.peek()
            if index < len(changes):
                tick = changes[index]
            elif ahead == inf or self._learner.left is not None:
                return None
            else:
                tick = int(ahead)
        return tick

    def last(self, tick: int) -> int:
        """Return a tick, or the one before it at which the owner leaves for good."""
        self.online(tick)
        left = self._learner.left
        return tick if left is None else min(tick, left)

    def gone(self, tick: int) -> bool:
        """Return whether the owner has left for good."""
        return self.last(tick) == self._learner.left

    def share(self, end_tick: int) -> float:
        """Return the share of the run, or of its ticks that drew it, that it was online; or NaN."""
        if self._drawn:
            attends = self._notes.online_at_tick
            return sum(attends) / len(attends) if len(attends) > 0 else nan
        self.online(end_tick)
        edges = [min(tick, end_tick) for tick in (*self._notes.changes, end_tick)]
        dark = sum(back - left for left, back in zip(edges[::2], edges[1::2], strict=False))
        return 1 - dark / end_tick if end_tick > 0 else nan


class _Asked(Learner):
    """A learner without messages, which records when one owner leaves for good."""

    def __init__(self, number: int, *counted: Any) -> None:
        super().__init__(*counted)
        self._of = number
        self.left: int | None = None

    @override
    def give_up(self, owner: int) -> None:
        if owner == self._of and self.left is None:
            self.left = self.kernel.tick
        super().give_up(owner)


class _Notes(Recorder):
    """Notes when one owner comes and goes, and which of its ticks or queries it attends to."""

    def __init__(self, n_owners: int, kernel: Kernel, number: int) -> None:
        super().__init__(n_owners, kernel)
        self._tell = kernel
        self._of = number
        self.changes: list[int] = []
        self.online_at_tick: list[bool] = []

    @override
    def offline(self, owner: int) -> None:
        if owner == self._of:
            self.changes.append(self._tell.tick)

    online = offline

    @override
    def by_tick(self, owner: int) -> None:
        pass

    @override
    def attended(self, owner: int, attends: bool) -> bool:
        self.online_at_tick.append(attends)
        return attends
