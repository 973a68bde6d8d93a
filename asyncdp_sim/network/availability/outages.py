"""Groups of owners that go dark together."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.laws import Law, Source, too_short
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Several, Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder

Members = Annotated[Several[Annotated[int, Field(ge=1)]], Field(strict=False)]


class Outages(Spec):
    """Each group goes dark after a ``gap`` for a ``length``, over and over, starting online.

    Attributes
    ----------
    groups : list of lists of int
        Owner numbers (from 1); an owner in several groups is offline while any of them is dark.
    gap, length : law
        Time units between two outages and of one, with positive means. Constants make a schedule.
    """

    kind: Literal["outages"] = "outages"
    groups: Several[Members]
    gap: Law
    length: Law

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        found = too_short({"gap": self.gap, "length": self.length})
        if len(found) > 0:
            raise faults_of(found)
        return self

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start every group's outages."""
        for number, group in enumerate(self.groups, start=1):
            members = [owners[member - 1] for member in group]
            learner.kernel.start(self._recur(number, members, learner, streams))

    @property
    def memoryless(self) -> bool:
        """It cannot be worked out at an owner's next tick alone."""
        return False

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> None:  # noqa: ARG002
        """Return None: owners are told when they come and go."""
        return

    def online_share(self, n_owners: int) -> tuple[float, ...]:
        """Return the long-run share of time that no group of the owner is dark."""
        share = self.gap.mean / (self.gap.mean + self.length.mean)
        times = [sum(owner in group for group in self.groups) for owner in range(1, n_owners + 1)]
        return tuple(share**count for count in times)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return members that are no owners, and members named twice in one group."""
        found = []
        for place, group in enumerate(self.groups):
            if max(group) > n_owners:
                allowed = f"allowed are owner numbers 1 to {n_owners}"
                found.append(Fault(f"availability.groups[{place}]", str(list(group)), allowed))
            elif len(set(group)) < len(group):
                allowed = "allowed is every owner once in a group"
                found.append(Fault(f"availability.groups[{place}]", str(list(group)), allowed))
        return found

    def _recur(
        self, number: int, members: Sequence[Owner], learner: Learner, streams: Scope
    ) -> Activity:
        own = streams.within("group", number)
        gaps = self.gap.durations(partial(own.generator, "gap"), 16)
        lengths = self.length.durations(partial(own.generator, "length"), 16)
        while gaps is not None and lengths is not None:
            yield learner.kernel.after(next(gaps), Priority.PRESENCE)
            for owner in members:
                owner.go_offline(learner)
            yield learner.kernel.after(next(lengths), Priority.PRESENCE)
            for owner in members:
                owner.go_online(learner)
