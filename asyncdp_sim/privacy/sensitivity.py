"""How far one record can move an answer: bounds on a record gradient, declared or enforced.

Every bound Ξ is the largest norm of one record's gradient; the sensitivity of a mean of n_i
gradients under replacement of one record is 2Ξ/n_i. For Laplace noise the norm is L1.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from asyncdp_sim.learning.objectives import Model, Norm
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

    def xi(self, model: Model, n_features: int) -> float:  # noqa: ARG002
        """Return Ξ."""
        return self.bound


class Clip(Spec):
    """Every record's gradient is scaled down to norm at most Ξ = ``bound``: sound."""

    kind: Literal["clip"] = "clip"
    bound: Positive
    norm: NormChoice = "l1"

    def xi(self, model: Model, n_features: int) -> float:  # noqa: ARG002
        """Return Ξ."""
        return self.bound


class Domain(Spec):
    """Every record is brought into a bounded domain before anything else happens: sound.

    Rows are scaled down to ‖x‖ ≤ ``row_norm`` (in the norm named), targets are clipped to
    |y| ≤ ``target_max``, and Θ is the box of ``model.theta_max``; then for the ridge loss
    Ξ = 2 (target_max + θ_max · max‖x‖₁) · row_norm. In L1, max‖x‖₁ = row_norm; in L2 it is
    √p row_norm. Losses of bounded slope need no box: Ξ = row_norm for the logistic loss,
    δ row_norm for Huber's, and row_norm + 1 (in L2 √(row_norm² + 1)) for the SVM, whose rows
    are augmented by 1 after they were scaled. The neural network needs the box with any loss; see
    :meth:`asyncdp_sim.learning.objectives.MLP.gradient_bound`. Labels need ``target_max`` ≥ 1.
    """

    kind: Literal["domain"] = "domain"
    row_norm: Positive
    target_max: Positive
    norm: NormChoice = "l1"

    def xi(self, model: Model, n_features: int) -> float:
        """Return Ξ of a model for rows of ``n_features`` numbers, without an intercept's constant.

        Raises
        ------
        ValueError
            If the model has no bound: Θ is the whole space.
        """
        norm: Norm = "l1" if self.norm == "l1" else "l2"
        bound = model.gradient_bound(self.row_norm, self.target_max, n_features, norm)
        if bound is None:
            raise ValueError("a domain bound needs a bounded Θ: set model.theta_max")
        return bound

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
