"""Owners that are online all the time."""

from collections.abc import Sequence
from typing import Literal

from typing_extensions import override

from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.streams import Scope


class Always(AvailabilityKind):
    """Every owner is online all the time."""

    always_online = True
    all_return = True
    rehearsed = True
    drawn_per_tick = False
    keeps_poisson = True

    kind: Literal["always"] = "always"

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        pass

    @property
    @override
    def superposable(self) -> bool:
        return True

    @override
    def online_share(self, n_owners: int) -> tuple[float, ...]:
        return (1.0,) * n_owners
