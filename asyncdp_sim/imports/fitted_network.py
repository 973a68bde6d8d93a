"""Laws of all that takes time in a network, fitted to measured exchanges."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from asyncdp_sim.core.words import number
from asyncdp_sim.imports.exchanges import MeasuredTrace
from asyncdp_sim.imports.fitted import (
    ENOUGH,
    FittedLaw,
    FittedPresence,
    fit_law,
    fit_presence,
    information,
)
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Always, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.latency import Latency
from asyncdp_sim.network.laws import Exponential, Law
from asyncdp_sim.network.protocols import Push, Request

STAGES = ("request", "compute", "answer")
_MANY = 10**9


@dataclass(frozen=True)
class FittedNetwork:
    """Laws of all that takes time, fitted to a trace.

    Attributes
    ----------
    stages : dict
        By stage, one law, or one per owner.
    presence : FittedPresence
    protocol : Request or Push
    """

    stages: dict[str, tuple[FittedLaw, ...]]
    presence: FittedPresence
    protocol: Request | Push

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
            if len(laws) == len(half.stages[stage]):
                stages[stage] = tuple(
                    replace(mine, distance=its.distance, p=its.p)
                    for mine, its in zip(laws, half.stages[stage], strict=True)
                )
        return replace(self, stages=stages)

    def network(self, until: float) -> Network:
        """Return the network, with budgets that are never exhausted."""
        here = self.presence
        return Network(
            answers_allowed=(_MANY,) * len(here.rates),
            updates=_MANY,
            until=until,
            clock=PoissonClock(rate=here.rates),
            availability=Always()
            if here.always
            else OnOff(on=Exponential(mean=here.on), off=Exponential(mean=here.off)),
            latency=Latency(request=self.laws("request"), answer=self.laws("answer")),
            compute=self.laws("compute"),
            protocol=self.protocol,
        )

    def lines(self) -> Iterator[str]:
        """Yield the laws in words, with their fit."""
        fields = (f", {name} {value}" for name, value in self.protocol_fields.items())
        yield f"protocol: {self.protocol.kind}{''.join(fields)}"
        for stage in STAGES:
            laws = self.stages[stage]
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
    for stage in STAGES:
        (values, whose), (rest, theirs) = value[stage], after[stage]
        items = [values[whose == i] for i in owners]
        alike = min(map(len, items)) < ENOUGH or sum(map(information, items)) >= information(values)
        if alike or len(seen.names) == 1 or values.max(initial=0.0) == 0:
            stages[stage] = (fit_law(values, rest),)
        else:
            stages[stage] = tuple(fit_law(items[i], rest[theirs == i]) for i in owners)
    protocol = Request(busy="queue" if seen.queues else "refuse") if seen.locked else Push()
    return FittedNetwork(stages, fit_presence(*seen.gaps(), share=seen.free_share), protocol)
