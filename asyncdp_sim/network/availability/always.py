"""Owners that are online all the time."""

from collections.abc import Sequence
from typing import Literal

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.laws import Source
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Recorder


class Always(Spec):
    """Every owner is online all the time."""

    kind: Literal["always"] = "always"

    def begin(self, owners: Sequence[Owner], learner: Learner, streams: Scope) -> None:
        """Do nothing: owners start online."""

    @property
    def memoryless(self) -> bool:
        """Whether it can be worked out at an owner's next tick from what was known last."""
        return True

    def lazily(self, n_owners: int, source: Source, recorder: Recorder) -> None:  # noqa: ARG002
        """Return None: nobody is ever offline."""
        return

    def online_share(self, n_owners: int) -> tuple[float, ...]:
        """Return the long-run share of an owner's ticks that find it online: 1."""
        return (1.0,) * n_owners

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return nothing: it fits any number of owners."""
        return []
