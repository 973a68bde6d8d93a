"""Owners that join late and leave for good."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from typing_extensions import override

from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.availability.kind import AvailabilityKind
from asyncdp_sim.network.laws import Law, NoTime
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import about
from asyncdp_sim.streams import Scope


class Churn(AvailabilityKind):
    """Each owner joins after a time drawn from ``join`` and leaves for good after a ``lifetime``.

    An exchange under way when its owner leaves is completed. ``none`` joins at once, or never
    leaves.
    """

    always_online = False
    all_return = False
    drawn_per_tick = False
    keeps_poisson = False

    kind: Literal["churn"] = "churn"
    join: Annotated[Law, about("Time from the start until an owner joins; none is at once")] = (
        NoTime()
    )
    lifetime: Annotated[Law, about("Time from then until it leaves for good; none is never")] = (
        NoTime()
    )

    @override
    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        for owner in owners:
            learner.kernel.start(self._stay(owner, learner, streams))

    @override
    def online_share(self, n_owners: int) -> None:
        return

    def _stay(self, owner: Owner, learner: Learner, streams: Scope) -> Activity:
        own = streams.within("owner", owner.number)
        join = self.join.durations(partial(own.generator, "join"), 1)
        lifetime = self.lifetime.durations(partial(own.generator, "lifetime"), 1)
        if join is not None:
            owner.go_offline(learner)
            yield learner.kernel.tick + next(join), Priority.PRESENCE
            owner.go_online(learner)
        if lifetime is not None:
            yield learner.kernel.tick + next(lifetime), Priority.PRESENCE
            owner.go_offline(learner)
            learner.leave(owner.number)
