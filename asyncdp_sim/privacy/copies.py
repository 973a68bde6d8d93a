"""N copies of the algorithm, each owner the learner of its own model (Collab, section V)."""

from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from asyncdp_sim.errors import Fault
from asyncdp_sim.privacy.budgets import pure_part
from asyncdp_sim.privacy.mechanisms import Mechanism, MechanismKind
from asyncdp_sim.spec import Count, Spec, about, kind_of, members

Array = npt.NDArray[np.float64]


class OwnLearner(Spec):
    """The copy, of N, that this run is: the one whose learner is one of the owners.

    Every owner answers in all copies, with noise drawn anew in each, so that ε_i is for all of
    them together. An owner whose answers in its own copy are exact answers N − 1 others, and has
    ε_i/(N − 1) for each; that hides nothing of it from whoever sees queries or models of its copy.
    One whose own answers are noised too has ε_i/N for each of the N copies.
    """

    owner: Annotated[
        Count, about("Who is the learner of this copy, from 1 to N", "none", example=1)
    ]
    own: Annotated[
        Literal["noised", "exact-as-published"],
        about(
            "What it answers itself: with noise, as it answers everybody (noised), or exactly, "
            "with ε = ∞, which is not private (exact-as-published)"
        ),
    ] = "noised"

    def parts(self, n_owners: int) -> int:
        """Return into how many parts ε_i is divided, one for each copy it is owed in."""
        return n_owners if self.own == "noised" else n_owners - 1

    def share(self, budgets: Array) -> Array:
        """Return what every owner may spend in this copy, (N,), of ``budgets`` for all of them."""
        parts = self.parts(len(budgets))
        found = np.array([pure_part(each, parts) for each in budgets.tolist()])
        if self.own == "exact-as-published":
            found[self.owner - 1] = np.inf
        return found

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the owners."""
        found, key = [], "privacy.learner"
        if n_owners < 2:
            found.append(Fault(key, "1 owner", "allowed are 2 owners or more, each with a copy"))
        elif self.owner > n_owners:
            allowed = f"allowed is a whole number from 1 to {n_owners}, an owner"
            found.append(Fault(f"{key}.owner", str(self.owner), allowed))
        return found


def not_added_up(mechanism: MechanismKind) -> list[Fault]:
    """Return a fault where it is not known what answers to several copies cost in all."""
    if _adds_up(mechanism):
        return []
    fitting = [kind_of(each) for each in members(Mechanism) if _adds_up(each)]
    allowed = f"allowed with an own learner: {', '.join(fitting)}, whose ε of copies add up"
    return [Fault("privacy.mechanism", repr(mechanism.kind), allowed)]


def _adds_up(mechanism: Any) -> bool:
    return not mechanism.exact and mechanism.composition == "pure"
