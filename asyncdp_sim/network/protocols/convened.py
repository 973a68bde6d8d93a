"""What protocols have in common that say themselves when an update is made, and of what.

Owners do not act on their clocks; they are asked, woken or served, one attempt of each at a time.
"""

from typing import Any

from asyncdp_sim.kernel import Activity
from asyncdp_sim.network.delivery_policy import Manner
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.owner import Owner
from asyncdp_sim.spec import Spec


class Convened(Spec):
    """A protocol in which several owners' answers make an update together."""

    @property
    def one_on_one(self) -> bool:
        """Exchanges overlap."""
        return False

    @property
    def one_each(self) -> bool:
        """An owner has one attempt open at a time, and every attempt ends."""
        return True

    @property
    def clocked(self) -> bool:
        """Owners act when they are asked, whatever their clocks."""
        return False

    @property
    def makes_updates(self) -> bool:
        """Whether the protocol says what an update is made of."""
        return True

    def refuses_at_once(self, network: Any) -> bool:  # noqa: ARG002
        """Nobody is refused."""
        return False

    def manner(self) -> Manner:
        """Return how owners deal with what goes wrong."""
        return Manner()

    def attempt(self, owner: Owner, learner: Learner) -> Activity:  # noqa: ARG002
        """Do nothing: owners do not act by themselves."""
        yield from ()
