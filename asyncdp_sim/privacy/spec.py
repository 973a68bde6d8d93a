"""The privacy part of a scenario."""

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.errors import Fault
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.privacy.budget import Budget, Horizon
from asyncdp_sim.privacy.mechanisms import LaplaceNoise, NoNoise, Shape, laplace_scale
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.spec import PerOwner, Spec, per_owner, wrong_length

Array = npt.NDArray[np.float64]
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=True)]


class Privacy(Spec):
    """Budgets and mechanism.

    Attributes
    ----------
    epsilon : float or list, optional
        ε_i > 0 per owner over the whole run; ``inf`` is no privacy. Required unless the mechanism
        is none.
    mechanism : str
        "laplace" or "none".
    noise : str
        "vector" (each coordinate its own draw) or "scalar-as-published" (not private).
    sensitivity : table
        ``declared``, ``clip`` or ``domain``. Required unless the mechanism is none.
    budget : table
        ``horizon`` or ``per-owner-cap``.
    overlap : int
        κ, datasets that may hold one record; 1.
    """

    epsilon: PerOwner[Epsilon] | None = None
    mechanism: Literal["laplace", "none"] = "laplace"
    noise: Shape = "vector"
    sensitivity: Sensitivity | None = None
    budget: Budget = Horizon()
    overlap: Literal[1] = 1

    def epsilons(self, n_owners: int) -> Array:
        """Return ε_i per owner; infinite where no noise is added."""
        if self.mechanism == "none" or self.epsilon is None:
            return np.full(n_owners, np.inf)
        return np.array(per_owner(self.epsilon, n_owners), dtype=float)

    def noise_for(
        self, records: npt.NDArray[np.int64], updates: int, xi: float
    ) -> LaplaceNoise | NoNoise:
        """Return the noise of owners with n_i ``records``, for T and Ξ."""
        n_owners = len(records)
        if self.mechanism == "none":
            return NoNoise(np.zeros(n_owners))
        allowed = np.array(self.budget.answers_allowed(n_owners, updates), dtype=float)
        scale = laplace_scale(xi, allowed, records.astype(float), self.epsilons(n_owners))
        return LaplaceNoise(scale, self.noise)

    def faults(self, n_owners: int, model: Model) -> list[Fault]:
        """Return what does not fit together, or does not fit the owners."""
        found = self.budget.faults(n_owners)
        found += wrong_length("privacy.epsilon", self.epsilon, n_owners)
        if self.mechanism == "laplace":
            needed = "this field is required with mechanism laplace"
            if self.epsilon is None:
                found.append(Fault("privacy.epsilon", "nothing", f"{needed}: ε > 0, or inf"))
            if self.sensitivity is None:
                found.append(
                    Fault("privacy.sensitivity", "nothing", f"{needed}: declared, clip or domain")
                )
        domain = self.sensitivity
        if domain is not None and domain.kind == "domain":
            if model.gradient_bound(domain.row_norm, domain.target_max, 1, "l1") is None:
                allowed = "a domain bound needs model.theta_max"
                found.append(Fault("model.theta_max", "nothing", allowed))
            if model.classifies and domain.target_max < 1:
                given, allowed = f"{domain.target_max:g}", "allowed is ≥ 1 with labels ±1"
                found.append(Fault("privacy.sensitivity.target_max", given, allowed))
        return found
