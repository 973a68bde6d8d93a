"""The network part of a scenario: everything that decides who talks to whom, and when."""

import hashlib
import json
from math import fsum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.network.availability import Always, Availability
from asyncdp_sim.network.channels import Channel, Ideal
from asyncdp_sim.network.clocks import Clock, PoissonClock
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.protocols import Protocol, Request
from asyncdp_sim.spec import Count, Several, Spec


class Latency(Spec):
    """Travel times of messages (time units), one law each."""

    request: Law = NoTime()
    """From an owner's request to the learner."""
    query: Law = NoTime()
    """From the learner to the owner."""
    answer: Law = NoTime()
    """From the owner to the learner."""


class Network(Spec):
    """All that a trace depends on, besides the seed.

    Attributes
    ----------
    answers_allowed : tuple of int
        How many distinct answers each owner may release in all (one number per owner); this is
        all that the network knows of privacy.
    updates : int
        T ≥ 1; the run ends with update T.
    until : float, optional
        The run ends before this time (time units) at the latest.
    ties : str
        Events of one class at one tick happen in the order in which they were scheduled
        ("declared"), or in an order drawn from a stream of its own ("shuffled"), which exposes
        what depends on it.
    """

    answers_allowed: Several[Count]
    updates: Count
    until: Annotated[float, Field(gt=0, le=1e9)] | None = None
    ties: Literal["declared", "shuffled"] = "declared"
    clock: Clock = PoissonClock()
    availability: Availability = Always()
    channel: Channel = Ideal()
    latency: Latency = Latency()
    compute: Law = NoTime()
    protocol: Protocol = Request()

    @model_validator(mode="after")
    def _fits_together(self) -> "Network":
        found = self.conflicts(self.n_owners, self)
        if len(found) > 0:
            raise faults_of(found)
        return self

    @staticmethod
    def conflicts(n_owners: int, parts: Any) -> list[Fault]:
        """Return what does not fit together among the network's parts.

        Parameters
        ----------
        n_owners : int
            N.
        parts : Network or Scenario
            Has ``clock``, ``availability``, ``latency``, ``compute`` and ``protocol``.
        """
        found: list[Fault] = parts.clock.faults(n_owners) + parts.availability.faults(n_owners)
        if parts.clock.kind == "saturated":
            job = (parts.latency.query, parts.compute, parts.latency.answer)
            if parts.protocol.kind != "push":
                allowed = "a saturated clock needs protocol push: refused owners would ask for ever"
                found.append(Fault("protocol.kind", repr(parts.protocol.kind), allowed))
            if parts.availability.kind != "always":
                allowed = "a saturated clock needs owners that are always online"
                found.append(Fault("availability.kind", repr(parts.availability.kind), allowed))
            if sum(law.mean for law in job) == 0:
                allowed = "a saturated clock needs jobs that take time: set compute or a latency"
                found.append(Fault("compute", "jobs that take no time", allowed))
        return found

    @property
    def n_owners(self) -> int:
        """Number of owners."""
        return len(self.answers_allowed)

    @property
    def selection_shares(self) -> tuple[float, ...] | None:
        """π_i, each owner's long-run share of the updates while no budget is spent.

        Proportional to λ_i a_i, with a_i the share of ticks that find the owner online; exact for
        Poisson clocks, requests that take no time, and availability that is always or drawn for
        each tick, whatever the law of the service (ORACLES 12); for on/off, diurnal and outages
        exact at zero service. None where a clock or an availability has no long run.
        """
        rates = self.clock.rates(self.n_owners)
        online = self.availability.online_share(self.n_owners)
        if rates is None or online is None:
            return None
        pairs = [rate * share for rate, share in zip(rates, online, strict=True)]
        total = fsum(pairs)
        return tuple(pair / total for pair in pairs) if min(pairs) > 0 else None

    def digest(self, seed: int, replicates: int) -> str:
        """Return the name under which traces of this network can be shared (16 hex digits)."""
        said = json.dumps([seed, replicates, self.model_dump(mode="json")], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]
