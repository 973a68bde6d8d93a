"""Owners that join late and leave for good."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import Activity, Priority
from asyncdp_sim.network.laws import Law, NoTime, Source
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder


class Churn(Spec):
    """Each owner joins after a time drawn from ``join`` and leaves for good after a ``lifetime``.

    An exchange under way when its owner leaves is completed. ``none`` joins at once, or never
    leaves.
    """

    kind: Literal["churn"] = "churn"
    join: Law = NoTime()
    lifetime: Law = NoTime()

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Start every owner's stay."""
        for owner in owners:
            learner.kernel.start(self._stay(owner, learner, streams))

    @property
    def memoryless(self) -> bool:
        """It cannot be worked out at an owner's next tick alone."""
        return False

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> None:  # noqa: ARG002
        """Return None: owners are told when they come and go."""
        return

    def online_share(self, n_owners: int) -> None:  # noqa: ARG002
        """Return None: there is no long run."""
        return

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return nothing: it fits any number of owners."""
        return []

    def _stay(self, owner: Owner, learner: Learner, streams: Scope) -> Activity:
        own = streams.within("owner", owner.number)
        join = self.join.durations(partial(own.generator, "join"), 1)
        lifetime = self.lifetime.durations(partial(own.generator, "lifetime"), 1)
        if join is not None:
            owner.go_offline(learner)
            yield learner.kernel.after(next(join), Priority.PRESENCE)
            owner.go_online(learner)
        if lifetime is not None:
            yield learner.kernel.after(next(lifetime), Priority.PRESENCE)
            owner.go_offline(learner)
            learner.leave(owner.number)
