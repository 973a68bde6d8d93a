"""Warnings of a run, one class each; those of privacy are in ``privacy.guarantee``.

For ``counted``, ``alike``, ``with_others`` and ``from_content`` see ``core.messages.Notice``;
``runs.outcome.notices`` says which of them a result has.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from asyncdp_sim.core.messages import Extent, Listed, Notice, NumberOrRange, for_manifest, spanned
from asyncdp_sim.network.spec import NOTICED, meeting
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Ending, ExchangeOutcome, Trace


@dataclass(frozen=True)
class EpsilonNotUsed(Notice):
    """A budget was given, and nothing hides the answers."""

    text: ClassVar[str] = "privacy.epsilon is not used: mechanism none adds no noise"


@dataclass(frozen=True)
class DeltaNotUsed(Notice):
    """δ was given to a mechanism that has none."""

    mechanism: str
    text: ClassVar[str] = "privacy.delta is not used: mechanism {mechanism} has none"


@dataclass(frozen=True)
class TargetReached(Notice):
    """Runs ended at ``run.target``, as they should."""

    replicates: NumberOrRange
    of: NumberOrRange
    updates: NumberOrRange
    counted: ClassVar[bool] = True
    text: ClassVar[str] = (
        "{replicates} of {of} replicates reached run.target, after {updates} updates"
    )


@dataclass(frozen=True)
class TargetMissed(Notice):
    """Runs ended otherwise than at ``run.target``."""

    replicates: NumberOrRange
    of: NumberOrRange
    counted: ClassVar[bool] = True
    text: ClassVar[str] = "{replicates} of {of} replicates ended without reaching run.target"


_FATES = {
    "collided": ExchangeOutcome.collided,
    "were lost": ExchangeOutcome.lost,
    "were discarded": ExchangeOutcome.discarded,
    "were left in the buffer": ExchangeOutcome.buffered,
}
"""What became of released answers that were not applied: the words, and the outcome."""


@dataclass(frozen=True)
class EndedEarly(Notice):
    """Runs have fewer than T updates.

    Attributes
    ----------
    replicates, of : NumberOrRange
        How many of how many.
    horizon : NumberOrRange
        T.
    updates : NumberOrRange
        Those that they have.
    why : str
        Every reason once, the most frequent first.
    released : NumberOrRange or None
        Answers that these runs released; None where ``fates`` are percentages of them.
    fates : tuple
        What became of answers that were not applied, in words, and how many there are.
    """

    replicates: NumberOrRange
    of: NumberOrRange
    horizon: NumberOrRange
    updates: NumberOrRange
    why: str
    released: NumberOrRange | None
    fates: tuple[tuple[str, NumberOrRange], ...]
    counted: ClassVar[bool] = True
    text: ClassVar[str] = (
        "{replicates} of {of} replicates ended after {updates:,} of T = {horizon:,} updates: {why}"
    )

    @classmethod
    def of_runs(cls, traces: Sequence[Trace], horizon: int) -> Iterator["EndedEarly"]:
        """Yield warnings on runs that ended before T updates, and not at a target."""
        without_target = (trace for trace in traces if trace.ending is not Ending.target)
        short = [trace for trace in without_target if trace.n_updates < horizon]
        if len(short) == 0:
            return
        n_updates = [trace.n_updates for trace in short]
        endings = Counter(trace.ending for trace in short)
        fates = (
            (fate, sum(int(trace.ended(outcome).sum()) for trace in short))
            for fate, outcome in _FATES.items()
        )
        yield cls(
            replicates=len(short),
            of=len(traces),
            horizon=horizon,
            updates=Extent(min(n_updates), max(n_updates)),
            why=" or ".join(ending.value for ending, _ in endings.most_common()),
            released=sum(int(trace.released.sum()) for trace in short),
            fates=tuple((fate, number) for fate, number in fates if number > 0),
        )

    def describe(self) -> str:
        """Return the sentence, with what became of answers."""
        text = super().describe()
        if len(self.fates) == 0:
            return text
        share = self.released is None  # then fates are percentages
        fates = ", ".join(f"{n:.3g} % {fate}" if share else f"{n} {fate}" for fate, n in self.fates)
        return f"{text}; of {'the' if share else self.released} released answers, {fates}"

    def alike(self) -> tuple[Any, ...]:
        """Return the reason, whatever became of answers."""
        return EndedEarly, self.why

    def with_others(self, others: Sequence[Self]) -> Self:
        """Return one record, in which fates are percentages of the answers released."""
        notices: Any = (self, *others)
        percents = [{fate: 100 * (n / item.released) for fate, n in item.fates} for item in notices]
        names = dict.fromkeys(chain(*percents))  # in the order of their first mention
        fates = ((fate, spanned([item.get(fate, 0.0) for item in percents])) for fate in names)
        return replace(super().with_others(others), released=None, fates=tuple(fates))

    def content(self) -> dict[str, Any]:
        """Return the fields, fates by name."""
        return super().content() | {"fates": {fate: for_manifest(n) for fate, n in self.fates}}

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> Self:
        """Return the record that a result's manifest holds; older ones have a field more."""
        # ``from_manifest`` would take the mapping for ``Listed``
        fates = tuple(content["fates"].items())
        kept = {name: value for name, value in content.items() if name != "withheld"}
        return replace(super().from_content({**kept, "fates": None}), fates=fates)


@dataclass(frozen=True)
class ModelDiverged(Notice):
    """The fitness of models is not finite any more."""

    replicates: NumberOrRange
    of: NumberOrRange
    counted: ClassVar[bool] = True
    text: ClassVar[str] = "the model diverged in {replicates} of {of} replicates: shorten the step"


@dataclass(frozen=True)
class TicksMeet(Notice):
    """Clocks are nearly too fast for the resolution of time.

    Attributes
    ----------
    share : NumberOrRange
        Λδ, of all clocks' ticks those that fall on the tick of time of another: Λ is the sum of
        the clocks' rates, δ the resolution of time.
    """

    share: NumberOrRange
    text: ClassVar[str] = (
        "{share:.2%} of the clocks' ticks share a time step with another tick: measured figures "
        "are off by up to half of that; a shorter time unit resolves them"
    )

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> Iterator["TicksMeet"]:
        """Yield at most one, where the share exceeds :data:`asyncdp_sim.network.spec.NOTICED`."""
        met = meeting(scenario.network)
        if met > NOTICED:
            yield cls(met)


@dataclass(frozen=True)
class NeverOnline(Notice):
    """Owners that are offline throughout: nothing is learned from them."""

    owners: Listed
    text: ClassVar[str] = (
        "never online: {owners}; {owners:their} records count in f and θ*, and make no update"
    )

    @classmethod
    def from_scenario(
        cls, scenario: Scenario, traces: Sequence[Trace] = ()
    ) -> Iterator["NeverOnline"]:
        """Yield at most one, of owners offline for certain and of those offline in all replicates.

        Where availability is drawn at each tick, an owner with few ticks may be offline at all of
        them by chance: then traces are not read.
        """
        available, count = scenario.availability, scenario.owners.count
        never = set(available.never_online(count))
        if len(traces) > 0 and not available.drawn_per_tick:
            online = np.max([trace.owners["online"] for trace in traces], axis=0)
            never.update((np.flatnonzero(online == 0) + 1).tolist())
        if len(never) > 0:
            participants = scenario.owners.participants
            yield cls(Listed.from_numbers([participants[owner - 1] for owner in sorted(never)]))


@dataclass(frozen=True)
class PrivateRecordsRead(Notice):
    """Private records of a real file were read: what is made of them is not for release."""

    text: ClassVar[str] = (
        "private records were read: fitness, optimum, curves and counts of cells are not for "
        "release"
    )
