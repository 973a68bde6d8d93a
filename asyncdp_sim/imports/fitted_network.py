"""Laws of all that takes time in a network, fitted to measured exchanges."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from asyncdp_sim.core.words import number
from asyncdp_sim.imports.exchanges import MeasuredTrace
from asyncdp_sim.imports.fitted import (
    ENOUGH,
    FittedLaw,
    FittedPresence,
    FittedRounds,
    fit_law,
    fit_presence,
    fit_rounds,
    information,
)
from asyncdp_sim.network import Network
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.latency import Latency
from asyncdp_sim.network.laws import Law
from asyncdp_sim.network.protocols import Push, Request, Rounds

_MANY = 10**9


@dataclass(frozen=True)
class FittedNetwork:
    """Laws of all that takes time, fitted to a trace.

    Attributes
    ----------
    stages : dict
        By stage, one law, or one per owner.
    presence : FittedPresence or FittedRounds
    protocol : Request, Push or Rounds
    """

    stages: dict[str, tuple[FittedLaw, ...]]
    presence: FittedPresence | FittedRounds
    protocol: Request | Push | Rounds

    def laws(self, stage: str) -> Law | tuple[Law, ...]:
        """Return a stage's law, or one per owner."""
        result = tuple(item.law for item in self.stages[stage])
        return result[0] if len(result) == 1 else result

    @property
    def protocol_fields(self) -> dict[str, str]:
        """What was seen of the protocol beside its kind, by field: what becomes of requests."""
        return self.protocol.model_dump(include={"busy"})

    def judged(self, half: "FittedNetwork") -> "FittedNetwork":
        """Return it with how well the laws of a first half fit what that has not seen."""
        stages = dict(self.stages)
        for stage, laws in stages.items():
            if len(laws) == len(half.stages.get(stage, ())):
                stages[stage] = tuple(
                    replace(mine, distance=its.distance, p=its.p)
                    for mine, its in zip(laws, half.stages[stage], strict=True)
                )
        return replace(self, stages=stages)

    def network(self, until: float, owners: int) -> Network:
        """Return the network of so many owners, with budgets that are never exhausted."""
        here = self.presence
        latency: dict[str, Any] = {n: self.laws(n) for n in self.stages if n != "compute"}
        return Network(
            answers_allowed=(_MANY,) * owners,
            updates=_MANY,
            answers_per_update=1 if self.protocol.update_of == "answer" else None,
            until=until,
            clock=here.clock or PoissonClock(),
            availability=here.availability,
            latency=Latency(**latency),
            compute=self.laws("compute"),
            protocol=self.protocol,
        )

    def lines(self) -> Iterator[str]:
        """Yield the laws in words, with their fit."""
        fields = (f", {name} {value}" for name, value in self.protocol_fields.items())
        yield f"protocol: {self.protocol.kind}{''.join(fields)}"
        for stage, laws in self.stages.items():
            name = stage if stage == "compute" else f"latency.{stage}"
            if len(laws) == 1:
                yield f"{name}: {laws[0]}"
            else:
                means = [each.law.mean for each in laws]
                worst = min(laws, key=lambda each: each.p)
                yield (
                    f"{name}: a law per owner, means {number(min(means))} to "
                    f"{number(max(means))}; worst fit: {worst}"
                )
        yield from self.presence.lines()


def fit(seen: MeasuredTrace, later: MeasuredTrace) -> FittedNetwork:
    """Return laws of what was seen, held against what came later."""
    stages: dict[str, tuple[FittedLaw, ...]] = {}
    value, after = seen.durations(), later.durations()
    owners = range(len(seen.names))
    nothing = np.zeros(0), np.zeros(0, np.int64)
    for stage, (values, whose) in value.items():
        rest, theirs = after.get(stage, nothing)
        items = [values[whose == i] for i in owners]
        alike = min(map(len, items)) < ENOUGH or sum(map(information, items)) >= information(values)
        if alike or len(seen.names) == 1 or values.max(initial=0.0) == 0:
            stages[stage] = (fit_law(values, rest),)
        else:
            stages[stage] = tuple(fit_law(items[i], rest[theirs == i]) for i in owners)
    if seen.in_rounds:
        rounds, _ = seen.rounds()
        return FittedNetwork(stages, fit_rounds(rounds, seen.owner, len(seen.names)), Rounds())
    protocol = Request(busy="queue" if seen.queues else "refuse") if seen.locked else Push()
    return FittedNetwork(stages, fit_presence(*seen.gaps(), share=seen.free_share), protocol)
