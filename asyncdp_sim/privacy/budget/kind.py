"""The family of budgets: over how many answers an owner spreads its ε, and in which parts."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault
from asyncdp_sim.spec import Kind

Array = npt.NDArray[np.float64]


MOST_ANSWERS = 10**9
"""That a budget may hold, at a price per answer; what an infinite one is taken to hold."""


class BudgetKind(Kind):
    """A way for an owner to spend its budget."""

    follows_updates: ClassVar[bool]
    """K_i is T: in a longer run every answer has a smaller part of the budget."""
    named_answers: ClassVar[bool]
    """K_i can be named without the mechanism, and does not depend on what answers cost."""
    even: ClassVar[bool] = True
    """All answers of an owner have the same part of its budget."""

    of_asked: ClassVar[bool] = False
    """K_i follows T and how often the learner asks owner i, so that it has to choose whom."""

    @abstractmethod
    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...] | None:
        """Return K_i per owner where it is named; None where it follows from a price."""

    def told(self, chances: Sequence[float], asked: int) -> "BudgetKind":  # noqa: ARG002
        """Return the budget where owners are asked so often, each with its chance p_i."""
        return self

    def prices(self, n_owners: int) -> tuple[float, ...] | None:  # noqa: ARG002
        """Return ε₀ of one answer per owner where that is named."""
        return None

    def weights(self, n_owners: int) -> tuple[Array, ...] | None:  # noqa: ARG002
        """Return what the parts of each owner's answers are in proportion to, (K_i,) each.

        None where they are equal.
        """
        return None

    @abstractmethod
    def sized(self, answers: int) -> "BudgetKind":
        """Return the budget of owners that run together for another time: at most ``answers``."""

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return what does not fit the number of owners."""
        return []
