"""Groups of owners that go dark together."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.faults import faults_of
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.availability.always import Always
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.laws import (
    Law,
    too_short,
)
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import OWNER_NUMBERS, Count, Kind, Several, about, picked
from asyncdp_sim.streams import Scope

Members = Annotated[Several[Annotated[int, Field(ge=1)]], Field(strict=False)]


class Outages(AvailabilityKind):
    """Each group goes dark after a ``gap`` for a ``length``, over and over, starting online."""

    always_online = False
    all_return = True
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["outages"] = "outages"
    groups: Annotated[
        Several[Members],
        OWNER_NUMBERS,
        about(
            "Numbers of the owners that go dark together; one in several groups is offline while "
            "any is dark",
            "none",
        ),
    ]
    numbers: Annotated[
        Several[Count] | None,
        about(
            "In results where only some owners take part: what groups are called in random "
            "streams. Groups without any of these owners are left out",
            "none",
            example=[2],
        ),
    ] = None
    gap: Annotated[
        Law,
        about("Time from the end of an outage, or the start, to the next; its mean is positive"),
    ]
    length: Annotated[
        Law, about("How long an outage lasts; its mean is positive. Constants make a schedule")
    ]

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        found = too_short({"gap": self.gap, "length": self.length})
        if len(found) > 0:
            raise faults_of(found)
        return self

    @override
    def of_some(self, places: Sequence[int]) -> Kind:
        kept = [
            (number, group)
            for number, group in zip(self._numbers, picked(self, places).groups, strict=True)
            if len(group) > 0
        ]
        if len(kept) == 0:
            return Always()
        numbers, groups = zip(*kept, strict=True)
        usual = numbers == tuple(range(1, len(groups) + 1))
        return self.model_copy(update={"numbers": None if usual else numbers, "groups": groups})

    @property
    def _numbers(self) -> tuple[int, ...]:
        """What the groups are called."""
        return tuple(range(1, len(self.groups) + 1)) if self.numbers is None else self.numbers

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for number, group in zip(self._numbers, self.groups, strict=True):
            members = [owners[member - 1] for member in group]
            learner.kernel.start(self._recur(number, members, learner, streams))

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        share = self.gap.mean / (self.gap.mean + self.length.mean)
        return tuple(share**count for count in self.groups_of(n_owners))

    @override
    def faults(self, n_owners: int) -> list[Fault]:
        """Return members that are no owners, and members named twice in one group."""
        found = []
        if len(set(self._numbers)) < len(self._numbers) or len(self._numbers) != len(self.groups):
            allowed = "allowed is a number of its own for every group"
            given = str(list(self._numbers))
            return [Fault("availability.numbers", given, allowed)]
        for place, group in enumerate(self.groups):
            if max(group) > n_owners:
                allowed = f"allowed are owner numbers 1 to {n_owners}"
                found.append(Fault(f"availability.groups[{place}]", str(list(group)), allowed))
            elif len(set(group)) < len(group):
                allowed = "allowed is every owner once in a group"
                found.append(Fault(f"availability.groups[{place}]", str(list(group)), allowed))
        return found

    def groups_of(self, n_owners: int) -> list[int]:
        """Return how many groups each owner is in."""
        return [sum(owner in group for group in self.groups) for owner in range(1, n_owners + 1)]

    def _recur(
        self, number: int, members: Sequence[Owner], learner: Learner, streams: Scope
    ) -> Activity:
        own = streams.within("group", number)
        gaps = self.gap.durations(partial(own.generator, "gap"), 16)
        lengths = self.length.durations(partial(own.generator, "length"), 16)
        while gaps is not None and lengths is not None:
            yield learner.kernel.tick + next(gaps), Priority.PRESENCE
            for owner in members:
                owner.go_offline(learner)
            yield learner.kernel.tick + next(lengths), Priority.PRESENCE
            for owner in members:
                owner.go_online(learner)
