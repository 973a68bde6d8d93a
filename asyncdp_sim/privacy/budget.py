"""How an owner spreads its privacy budget over answers, and when it falls silent."""

from typing import Annotated, Literal

from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.spec import Count, PerOwner, Spec, per_owner, wrong_length


class Horizon(Spec):
    """ε_i/T for each answer; an owner is spent after T answers (the papers)."""

    kind: Literal["horizon"] = "horizon"

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:
        """Return T for every owner."""
        return (updates,) * n_owners

    def faults(self, n_owners: int) -> list[Fault]:  # noqa: ARG002
        """Return nothing: a horizon fits any number of owners."""
        return []


class PerOwnerCap(Spec):
    """ε_i/K_i for each answer; owner i falls silent after K_i = ``answers`` releases.

    ``answers`` (≥ 1) is one number or a list with one per owner, chosen without looking at data.
    """

    kind: Literal["per-owner-cap"] = "per-owner-cap"
    answers: PerOwner[Count]

    def answers_allowed(self, n_owners: int, updates: int) -> tuple[int, ...]:  # noqa: ARG002
        """Return K_i per owner."""
        return per_owner(self.answers, n_owners)

    def faults(self, n_owners: int) -> list[Fault]:
        """Return what does not fit the number of owners."""
        return wrong_length("privacy.budget.answers", self.answers, n_owners)


Budget = Annotated[Horizon | PerOwnerCap, Field(discriminator="kind")]
"""Every budget; a new one joins by its line here."""
