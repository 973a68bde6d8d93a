"""How far one record can move an answer: bounds on a record gradient, declared or enforced.

Every bound Ξ is the largest norm of one record's gradient; the sensitivity of a mean of n_i
gradients under replacement of one record is 2Ξ/n_i. For Laplace noise the norm is L1.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.learning.objectives.losses import Loss
from asyncdp_sim.learning.objectives.squared import SQUARED
from asyncdp_sim.spec import Positive, Spec

Array = npt.NDArray[np.float64]
NormChoice = Literal["l1", "l2-as-published"]


class Declared(Spec):
    """Ξ is taken on trust and checked against the records: an assumption, not a guarantee.

    ``norm = "l2-as-published"`` takes Ξ as an L2 bound, as the paper's proof does; under Laplace
    noise the true ε is then up to √p times the claim.
    """

    kind: Literal["declared"] = "declared"
    bound: Positive
    norm: NormChoice = "l1"

    def xi(
        self,
        theta_max: float | None,  # noqa: ARG002
        n_features: int,  # noqa: ARG002
        loss: Loss = SQUARED,  # noqa: ARG002
        *,
        intercept: bool = False,  # noqa: ARG002
    ) -> float:
        """Return Ξ."""
        return self.bound


class Clip(Spec):
    """Every record's gradient is scaled down to norm at most Ξ = ``bound``: sound."""

    kind: Literal["clip"] = "clip"
    bound: Positive
    norm: NormChoice = "l1"

    def xi(
        self,
        theta_max: float | None,  # noqa: ARG002
        n_features: int,  # noqa: ARG002
        loss: Loss = SQUARED,  # noqa: ARG002
        *,
        intercept: bool = False,  # noqa: ARG002
    ) -> float:
        """Return Ξ."""
        return self.bound


class Domain(Spec):
    """Every record is brought into a bounded domain before anything else happens: sound.

    Rows are scaled down to ‖x‖ ≤ ``row_norm`` (in the norm named), targets are clipped to
    |y| ≤ ``target_max``, and Θ is the box of ``model.theta_max``; then for the ridge loss
    Ξ = 2 (target_max + θ_max · max‖x‖₁) · row_norm. In L1, max‖x‖₁ = row_norm; in L2 it is
    √p row_norm. Losses of bounded slope need no box: Ξ = row_norm for the logistic loss,
    δ row_norm for Huber's, and row_norm + 1 (in L2 √(row_norm² + 1)) for the SVM, whose rows
    are augmented by 1 after they were scaled. Labels need ``target_max`` ≥ 1.
    """

    kind: Literal["domain"] = "domain"
    row_norm: Positive
    target_max: Positive
    norm: NormChoice = "l1"

    def xi(
        self,
        theta_max: float | None,
        n_features: int,
        loss: Loss = SQUARED,
        *,
        intercept: bool = False,
    ) -> float:
        """Return Ξ for the box Θ of half-width ``theta_max`` and rows of ``n_features`` numbers.

        Parameters
        ----------
        theta_max : float or None
        n_features : int
            Without the constant of an intercept.
        loss : Loss
        intercept : bool
            Whether a constant 1 is appended to each row.

        Raises
        ------
        ValueError
            If Θ is the whole space and the loss has no bounded slope.
        """
        spread = 1.0 if self.norm == "l1" else float(np.sqrt(n_features))
        reach = np.inf
        if theta_max is not None:
            reach = theta_max * spread * self.row_norm + (theta_max if intercept else 0.0)
        steepest = float(loss.steepest(reach, self.target_max))
        if np.isinf(steepest):
            raise ValueError("a domain bound needs a bounded Θ: set model.theta_max")
        if not intercept:
            return steepest * self.row_norm
        length = self.row_norm + 1 if self.norm == "l1" else np.hypot(self.row_norm, 1.0)
        return steepest * float(length)

    def confine(
        self, features: Sequence[Array], targets: Sequence[Array]
    ) -> tuple[list[Array], list[Array]]:
        """Return the records brought into the domain, owner by owner."""
        order = 1 if self.norm == "l1" else 2
        rows = []
        for x in features:
            length = np.linalg.norm(x, ord=order, axis=1)
            shrink = self.row_norm / np.maximum(length, self.row_norm)
            rows.append(np.asfortranarray(x * shrink[:, None]))
        limited = [np.clip(y, -self.target_max, self.target_max) for y in targets]
        return rows, limited


Sensitivity = Annotated[Declared | Clip | Domain, Field(discriminator="kind")]
"""Every way to bound a record's influence; a new one joins by its line here."""
