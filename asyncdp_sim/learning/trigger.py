"""Triggers, which make owners answer or keep silent: without one they always answer.

Whether an owner answers then depends on its records, and so does all that follows from it. No
budget pays for that.
"""

from typing import Literal

from asyncdp_sim.errors import Fault
from asyncdp_sim.spec import Positive, Spec


class LargeGradient(Spec):
    """An owner answers only where its gradient is large; else it withholds its answer.

    Attributes
    ----------
    threshold : float
        c > 0 in units of the gradient: owner i answers a query θ where ‖∇f_i(θ)‖₂ ≥ c, ∇f_i being
        what it would add its noise to, over all of its records.
    """

    kind: Literal["large-gradient"] = "large-gradient"
    threshold: Positive

    def faults(self, algorithm: str) -> list[Fault]:
        """Return a fault where answers are no gradients."""
        if algorithm != "noisy-statistics":
            return []
        allowed = "a trigger needs owners that answer with gradients"
        return [Fault("algorithm.kind", repr(algorithm), allowed)]

    def words(self) -> str:
        """Return when owners answer."""
        return f"owners withhold answers whose gradients are shorter than {self.threshold:g} (L2)"


Trigger = LargeGradient
"""Everything that may make owners answer; a second kind makes a union of it."""
