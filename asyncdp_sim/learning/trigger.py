"""Triggers, which make owners answer or keep silent: without one they always answer.

Whether an owner answers then depends on its records, and so does all that follows from it. No
budget pays for that.
"""

from abc import abstractmethod
from typing import Annotated, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.families import FAMILY
from asyncdp_sim.learning.algorithms import AlgorithmKind, Array
from asyncdp_sim.spec import Kind, Positive, about


class TriggerKind(Kind):
    """A rule by which owners answer."""

    @abstractmethod
    def withholds(self, gradient: Array) -> bool:
        """Return whether an owner with this gradient, shape (1, p), keeps its answer to itself."""

    @abstractmethod
    def words(self) -> str:
        """Return when owners answer."""

    @abstractmethod
    def faults(self, algorithm: AlgorithmKind) -> list[Fault]:
        """Return what does not suit it in an algorithm."""


class LargeGradient(TriggerKind):
    """An owner answers only where its gradient is large; else it withholds its answer."""

    kind: Literal["large-gradient"] = "large-gradient"
    threshold: Annotated[
        Positive,
        about(
            "c: owner i answers a query θ where ‖∇f_i(θ)‖₂ ≥ c, ∇f_i being over all of its "
            "records, without noise",
            "of the gradient",
        ),
    ]

    @override
    def withholds(self, gradient: Array) -> bool:
        return bool(np.linalg.norm(gradient) < self.threshold)

    @override
    def faults(self, algorithm: AlgorithmKind) -> list[Fault]:
        if algorithm.looks_at_models:
            return []
        allowed = "a trigger needs owners that answer with gradients"
        return [Fault("algorithm.kind", repr(algorithm.kind), allowed)]

    @override
    def words(self) -> str:
        return f"owners withhold answers whose gradients are shorter than {self.threshold:g} (L2)"


Trigger = Annotated[LargeGradient, FAMILY]
"""Everything that may make owners answer; a new one joins by its line here."""
