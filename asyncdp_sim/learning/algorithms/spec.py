"""Base of the specifications of all algorithms."""

from typing import Any, ClassVar

from asyncdp_sim.errors import Fault
from asyncdp_sim.learning.algorithms.steps import Setting, Steps
from asyncdp_sim.spec import Spec


class AlgorithmSpec(Spec):
    """An algorithm as a scenario names it.

    Attributes
    ----------
    kind : str
        The algorithm's name.
    """

    protocols: ClassVar[tuple[str, ...]] = ()
    """The protocols that it runs on."""

    kind: str

    def faults(self, protocol: Any) -> list[Fault]:
        """Return what does not suit it in a protocol."""
        if protocol.kind in self.protocols:
            return []
        allowed = f"algorithm {self.kind} runs on {' or '.join(self.protocols)}"
        return [Fault("protocol.kind", repr(protocol.kind), allowed)]

    @property
    def answers_per_update(self) -> int | None:
        """How many answers make one update; None where the protocol decides each time."""
        return 1

    @property
    def sample(self) -> int | None:
        """How many records an answer is computed from; None is all of an owner's."""
        return None

    @property
    def needs_shares(self) -> bool:
        """Whether it must know how often each owner's answers are used."""
        return False

    @property
    def looks_at_models(self) -> bool:
        """Whether answers depend on the model that was sent, so that it matters how old it is."""
        return True

    def steps(self, setting: Setting) -> Steps:
        """Return the algorithm with its numbers filled in."""
        raise TypeError(f"{self.kind} has no steps for p = {setting.n_features}")
